"""Plans on an engine of known truth, and everything a run of them needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.registry import BACKENDS
from draftmark.bench.plans.cells import expand, plan_arms
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.plans.prepared import Prepared
from draftmark.bench.running.interruption import Interruption
from draftmark.results.records import Environment, ModelIdentity
from draftmark.results.run_folder.store import RunStore
from draftmark.suites.prompt import Prompt, Suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.bench.plans.materials import Materials
    from draftmark.bench.running.runner import Outcome
    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import CellSummary


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the fake engine, registered as the kinds `fake` and `apart`, its clock and requests fresh."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setitem(BACKENDS.builtin, "fake", "fake_engine:FakeSpec")
    monkeypatch.setitem(BACKENDS.builtin, "apart", "fake_engine:ApartSpec")
    import fake_engine

    fake_engine.REQUESTS.clear()
    fake_engine.STARTS.clear()
    fake_engine.CLOCK.now = 1000.0
    return fake_engine


@pytest.fixture
def write_plan(tmp_path: Path) -> Callable[..., Path]:
    """Write a plan file from the given keys over a small one, as JSON, which is YAML."""
    import json

    def write(name: str = "plan.yaml", **changes: Any) -> Path:
        plan: dict[str, Any] = {
            "name": "small",
            "target": "tiny",
            "backends": [{"kind": "fake"}],
            "drafters": [{"kind": "none"}, {"kind": "ngram", "draft_length": [3]}],
            "suites": [{"kind": "builtin", "name": "coding"}],
            "sampling": {"max_tokens": 9},
        }
        path = tmp_path / name
        path.write_text(json.dumps(plan | changes), encoding="utf-8")
        return path

    return write


def small_suite(*texts: str | list[str], name: str = "small") -> Suite:
    """A suite of conversations q0, q1, ...; a list is one conversation of several turns."""
    turns = [tuple([entry] if isinstance(entry, str) else entry) for entry in texts]
    prompts = tuple(Prompt(question_id=f"q{index}", category="talk", turns=entry) for index, entry in enumerate(turns))
    return Suite(name=name, prompts=prompts)


@pytest.fixture
def make_suite() -> Callable[..., Suite]:
    return small_suite


@pytest.fixture
def make_materials(fake: Any) -> Callable[..., Materials]:
    from draftmark.bench.plans.materials import Materials

    def make(*suites: Suite, weights: str = "a" * 64) -> Materials:
        def identify(name: str) -> ModelIdentity:
            return ModelIdentity(name=name, files={"model.safetensors": weights})

        return Materials(fake.FakeRenderer(), suites or (small_suite("one", "two"),), identify)

    return make


@pytest.fixture
def environment() -> Environment:
    return Environment(
        draftmark="0.1.0", commit=None, python="3.11.7", platform="Linux", cpu="two cores", cores=2, memory_bytes=None
    )


class Watcher:
    """Keeps what a run reports, and asks it to stop after some turns."""

    def __init__(self, stop: Interruption, after: int | None) -> None:
        self.sentences: list[str] = []
        self.left: list[float | None] = []
        self._stop, self._after = stop, after

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def advance(self, done: int, total: int, left_s: float | None) -> None:
        self.left.append(left_s)
        if len(self.left) == self._after:
            self._stop.request()


class Bench:
    """Runs plans into `root/run` and keeps the last watcher."""

    def __init__(self, fake: Any, root: Path, write_plan: Any, make_materials: Any, environment: Environment) -> None:
        self.folder = root / "run"
        self._fake = fake
        self._write_plan = write_plan
        self._make_materials = make_materials
        self._environment = environment
        self.watcher = Watcher(Interruption(), None)

    def run(self, *suites: Suite, stop_after: int | None = None, weights: str = "a" * 64, **changes: Any) -> Outcome:
        plan = load_plan(self._write_plan(**changes), {})
        arms, problems = plan_arms(plan)
        assert not problems
        materials: Materials = self._make_materials(*suites, weights=weights)
        stop = Interruption()
        self.watcher = Watcher(stop, stop_after)
        from draftmark.bench.running.runner import run_plan

        return run_plan(
            Prepared(plan, arms, materials, expand(plan, arms, materials.suites)),
            self.folder,
            environment=self._environment,
            reporter=self.watcher,
            stop=stop,
            clock=self._fake.CLOCK,
        )

    def turns(self, phase: str = "measured") -> list[TurnRecord]:
        """Every turn of the run, in the order of cells and of finishing."""
        store = RunStore.read(self.folder)
        found = [turn for cell in store.manifest.cells for turn in store.turns(cell.cell_id, phase=None)]
        return [turn for turn in found if turn.phase == phase]

    def names(self) -> list[tuple[str, str, int, int]]:
        """What identifies each measured turn, sorted, so that two runs can be compared."""
        return sorted((turn.cell_id, turn.question_id, turn.turn_index, turn.repeat) for turn in self.turns())

    def arm_of(self, turn: TurnRecord) -> str:
        cells = {cell.cell_id: cell for cell in RunStore.read(self.folder).manifest.cells}
        return cells[turn.cell_id].key.arm.label

    def summary_of(self, outcome: Outcome, arm: str) -> CellSummary:
        """The summary of one arm over all its turns, where a run has one suite."""
        (found,) = [cell for cell in outcome.summary.cells if cell.arm == arm and cell.category is None]
        return found


@pytest.fixture
def bench(
    fake: Any,
    tmp_path: Path,
    write_plan: Callable[..., Path],
    make_materials: Callable[..., Materials],
    environment: Environment,
) -> Bench:
    return Bench(fake, tmp_path, write_plan, make_materials, environment)
