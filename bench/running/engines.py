"""The engines of one backend during a run: one at a time, started when needed, with what they tell kept on record."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError, KeepsLogs
from draftmark.bench.running import session
from draftmark.results.roles import is_baseline, speculates

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Sequence

    from draftmark.backends.base import Backend, BackendSpec
    from draftmark.bench.plans.cells import Group
    from draftmark.bench.running.progress import Reporter
    from draftmark.results.records import Arm, CellRecord
    from draftmark.results.run_folder.store import RunStore

SIGN_EVERY_S = 30.0
"""How often a start that takes long says that it goes on, seconds."""
LOGS = "logs"
"""Folder of a run for what its engines write of themselves."""


@contextmanager
def signs_of_life(reporter: Reporter, sentence: str, every_s: float = SIGN_EVERY_S) -> Iterator[None]:
    """Say every so often that something goes on, and for how long it has."""
    done = threading.Event()

    def say() -> None:
        began_s = time.monotonic()
        while not done.wait(every_s):
            reporter.say(f"{sentence}: {time.monotonic() - began_s:.0f} s so far")

    thread = threading.Thread(target=say, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class Engines:
    """Starts and stops the engines of one backend."""

    def __init__(
        self,
        spec: BackendSpec,
        target: str,
        store: RunStore,
        reporter: Reporter,
        loop: asyncio.Runner,
        *,
        problem: Callable[[Backend], str | None],
    ) -> None:
        """`problem` says why a started engine cannot be asked what the plan asks."""
        self._spec = spec
        self._target = target
        self._store = store
        self._reporter = reporter
        self._loop = loop
        self._problem = problem
        self._arms: list[Arm] = []
        self.running: Backend | None = None
        self._cannot_judge = False
        self.launch = -1
        """Number of the engine start that runs or ran last, counted over the whole run; -1 before the first."""

    def start(self, cells: Sequence[CellRecord], all_cells: Sequence[CellRecord]) -> Backend:
        """Start the engine of these cells' arms and record what it runs with.

        Raises `BackendError` where it does not start, or runs with other settings than in an earlier session.
        """
        self.stop()
        self.launch = session.next_launch(self._store, all_cells) if self.launch < 0 else self.launch + 1
        backend = self._begin([cell.key.arm for cell in cells])
        session.write_resolved(self._store, {cell.cell_id: backend.resolved(cell.key.arm) for cell in cells})
        return backend

    def _begin(self, arms: Sequence[Arm]) -> Backend:
        self._arms = list({arm.model_dump_json(): arm for arm in arms}.values())
        what = f" for {self._arms[0].label}" if self._spec.one_engine_per_arm else ""
        self._reporter.say(f"starting {self._spec.kind}{what}")
        backend = self._spec.create(self._target)
        self.running = backend
        if isinstance(backend, KeepsLogs):
            backend.keep_logs_in(self._store.path / LOGS)
        try:
            with signs_of_life(self._reporter, f"still starting {self._spec.kind}{what}"):
                backend.start(self._arms)
            problem = self._problem(backend)
            if problem is not None:
                raise BackendError(problem)
        except BaseException:
            self.stop()
            raise
        return backend

    @contextmanager
    def window(self, cell: CellRecord, *, session: int) -> Iterator[None]:
        """Take the engine's counters before and after a cell is measured, with nothing in flight."""
        self._client_facts()
        before = self._counters()
        yield
        client, after = self._client_facts(), self._counters()
        facts: dict[str, Any] = self._store.engine(cell.cell_id) or {}
        window: dict[str, Any] = {"session": session, "launch": self.launch}
        if before is not None and after is not None:
            window |= {"before": before, "after": after}
        if client is not None:
            window["client"] = client
        if window.keys() <= {"session", "launch"}:
            return
        self._store.write_engine(cell.cell_id, {**facts, "windows": [*facts.get("windows", []), window]})

    def _client_facts(self) -> dict[str, Any] | None:
        return None if self.running is None else self._loop.run(self.running.client_facts())

    def _counters(self) -> dict[str, float] | None:
        return None if self.running is None else self.running.counters()

    def to_judge(self, group: Group, cell: CellRecord) -> Backend | None:
        """Return an engine that can tell how close two of the target's tokens were, for a cell of a group.

        Where one process holds all arms it is that of the cell. Else it is the baseline's own, started if another one
        runs; null if it cannot be.
        """
        if not self._spec.one_engine_per_arm:
            wanted = [one.key.arm for one in group.running]
        elif self._arms and not speculates(self._arms[0]):
            wanted = self._arms
        else:
            wanted = [one.key.arm for one in group.running if is_baseline(one.key.arm)]
        if self._cannot_judge:
            return None
        if self.running is None or self._arms[:1] != wanted[:1]:
            self.stop()
            try:
                self._begin(wanted)
            except BackendError as fault:
                self._cannot_judge = True
                self._reporter.say(f"how close diverging tokens were stays unknown: {fault}")
                return None
        return self.running

    def stop(self) -> None:
        """Stop the engine that runs, if one does."""
        running, self.running = self.running, None
        if running is not None:
            running.stop()
