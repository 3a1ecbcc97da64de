"""A plan as pytest collects it: its file, and a benchmark for each cell whose rounds are the turns that were measured.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    from pytest_benchmark.fixture import BenchmarkFixture

    from draftmark.bench.pytest_plugin.measuring import Measuring


NO_STAMPS = "no turn has stamps of being sent and of its last token"


class RecordedSeconds:
    """A timer for pytest-benchmark that plays back what was measured: read at both ends of a round, it is its seconds.

    pytest-benchmark names a benchmark's timer in its reports, so that they say `recorded_seconds`.
    """

    __name__ = "recorded_seconds"

    def __init__(self) -> None:
        self._stamps: Iterator[float] = iter(())

    def load(self, seconds: list[float]) -> None:
        """Take the seconds of the rounds to come."""
        self._stamps = (stamp for span in seconds for stamp in (0.0, span))

    def __call__(self) -> float:
        """Return the next stamp, seconds."""
        return next(self._stamps)


class PlanFile(pytest.File):
    """The plan's file; its cells are its benchmarks."""

    measuring: Measuring

    @classmethod
    def from_parent(cls, parent: pytest.Collector, *, path: Path, measuring: Measuring) -> Self:  # type: ignore[override]
        """Return the node of a plan."""
        node: Self = super().from_parent(parent, path=path)
        node.measuring = measuring
        return node

    def collect(self) -> Iterator[PlanItem]:
        """Yield a benchmark for each cell, in the plan's order."""
        for cell in self.measuring.cells:
            timer = RecordedSeconds()
            item: PlanItem = PlanItem.from_parent(
                self, name=cell["name"].replace("::", ":"), callobj=_benchmark_of(self.measuring, cell, timer)
            )
            item.plan_cell = cell
            group = f"{cell['backend']} / {cell['suite']} / {cell['load']}"
            item.add_marker(pytest.mark.benchmark(timer=timer, group=group))
            item.add_marker(pytest.mark.draftmark)
            yield item


class PlanItem(pytest.Function):
    """One cell as a benchmark."""

    plan_cell: dict[str, Any]

    def setup(self) -> None:
        """See first that there are whole and sound numbers; without them it is an error, and no fixture is set up."""
        parent = self.parent
        if isinstance(parent, PlanFile) and not self.config.getoption("benchmark_skip"):
            measured = parent.measuring.cell(self.plan_cell["cell_id"])
            faults = measured.faults() or ([] if measured.seconds else [NO_STAMPS])
            if faults:
                pytest.fail(f"{self.name} is no benchmark: {'; '.join(faults)}", pytrace=False)
        super().setup()

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Return the plan's file and the cell in words."""
        return self.path, 0, self.name


def _benchmark_of(measuring: Measuring, cell: dict[str, Any], timer: RecordedSeconds) -> Any:
    def benchmark_cell(benchmark: BenchmarkFixture) -> None:
        measured = measuring.cell(cell["cell_id"])
        benchmark.extra_info.update(measured.info() | measuring.about())
        timer.load(measured.seconds)
        benchmark.pedantic(_nothing, rounds=len(measured.seconds))  # type: ignore[no-untyped-call]
        stats = benchmark.stats  # null where benchmarks are disabled
        if stats is not None and stats.stats.data != measured.seconds:
            benchmark.has_error = True
            pytest.fail("this version of pytest-benchmark reads its timer in another way; install 5.3", pytrace=False)

    return benchmark_cell


def _nothing() -> None:
    """Stand for the turn, which the run has had."""
