"""Running a plan: engine by engine, prompt by prompt, all arms in rotated order, every turn on disk before the next.

The same plan into the same folder goes on where it stopped. Failed turns are recorded and do not end a run; a request
to stop lets the turn in flight finish. What was measured is compared, summarised and never thrown away.
"""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from draftmark.bench import session
from draftmark.bench.asking import Asker, unstorable
from draftmark.bench.cells import PlannedArm, expand
from draftmark.bench.forecast import Pace, duration
from draftmark.bench.interruption import EXIT_INTERRUPTED
from draftmark.bench.losslessness import compare_outputs, compared
from draftmark.bench.materials import first_prompts, prompt_records
from draftmark.bench.schedule import rotation, visits
from draftmark.bench.warmup import shapes, warmup_prompt
from draftmark.results.errors import ResultsError, StoreWriteError
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from draftmark.backends.base import Backend, BackendSpec
    from draftmark.bench.cells import Group
    from draftmark.bench.interruption import Interruption
    from draftmark.bench.materials import Materials
    from draftmark.bench.plan import Plan
    from draftmark.bench.progress import Reporter
    from draftmark.results.records import CellRecord, Environment, TurnRecord
    from draftmark.results.store import RunStore
    from draftmark.results.summary import RunSummary

EXIT_FAILED_TURNS = 1


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    status: Literal["complete", "interrupted"]
    summary: RunSummary
    output_tokens: int
    """Tokens of all measured turns of all sessions."""

    @property
    def exit_code(self) -> int:
        """0 done; 1 done with failed turns or without a single token; 130 interrupted."""
        if self.status == "interrupted":
            return EXIT_INTERRUPTED
        return EXIT_FAILED_TURNS if self.summary.failures or not self.output_tokens else 0


def run_plan(
    plan: Plan,
    arms: Sequence[Sequence[PlannedArm]],
    materials: Materials,
    folder: Path,
    *,
    environment: Environment,
    reporter: Reporter,
    stop: Interruption,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Run or resume a plan in a folder; `arms` as `plan_arms` gives them.

    `clock` is the monotonic clock that engines stamp with. Raises `BackendError` for an engine that does not start,
    `ResultsError` for a folder of another run, `StoreWriteError` where the folder cannot be written; what was measured
    until then stays.
    """
    groups = expand(plan, arms, materials.suites)
    first = first_prompts(materials.suites, materials.renderer)
    manifest = session.new_manifest(plan, materials, groups, folder.name)
    with session.open_store(folder, manifest) as store:
        run = _Run(plan, materials, store, groups, reporter=reporter, stop=stop, clock=clock)
        index = session.begin(store, environment, plan.warmup)
        try:
            store.write_prompts(prompt_records(materials.suites, first))
            for backend in plan.backends:
                run.with_engine(backend, first, index)
        except KeyboardInterrupt:
            pass  # the second request to stop: the turn in flight is dropped, all before it is there
        except StoreWriteError:
            raise  # this folder takes no last word either
        except BaseException:
            session.end(store, "failed", run.elapsed_s())
            raise
        status: Literal["complete", "interrupted"] = "interrupted" if run.unfinished() else "complete"
        session.end(store, status, run.elapsed_s())
        summary = summarise(store)
        store.write_summary(summary)
        return Outcome(status, summary, run.output_tokens())


class _Run:
    """The state of one session."""

    def __init__(
        self,
        plan: Plan,
        materials: Materials,
        store: RunStore,
        groups: Sequence[Group],
        *,
        reporter: Reporter,
        stop: Interruption,
        clock: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._materials = materials
        self._store = store
        stored = {cell.cell_id: cell for cell in store.manifest.cells}
        self._groups = [replace(group, cells=tuple(stored[cell.cell_id] for cell in group.cells)) for group in groups]
        self._reporter = reporter
        self._stop = stop
        self._clock = clock
        self._zero_s = clock()
        self._pace = Pace()
        self._cells = [cell for group in self._groups for cell in group.running]
        self._finished = {cell.cell_id: store.finished(cell.cell_id) for cell in self._cells}
        self._total = sum(cell.expected_turns for cell in self._cells)
        self._tell_beginning()

    def elapsed_s(self) -> float:
        """Return the seconds since the session began."""
        return self._clock() - self._zero_s

    def output_tokens(self) -> int:
        """Return the tokens of all measured turns."""
        return sum(turn.output_tokens or 0 for cell in self._cells for turn in self._store.turns(cell.cell_id))

    def with_engine(self, spec: BackendSpec, first: dict[tuple[str, str], tuple[int, ...]], index: int) -> None:
        """Start one engine, measure what is left of its groups, compare outputs; starts nothing if nothing is left."""
        groups = [group for group in self._groups if group.backend is spec]
        cells = [cell for group in groups for cell in group.running]
        if self._stop.requested or not any(self._left(group) for group in groups):
            return
        launch = session.next_launch(self._store, self._cells)
        backend = spec.create(self._plan.target)
        with asyncio.Runner() as loop:
            try:
                self._reporter.say(f"starting {spec.kind}")
                backend.start(list({cell.key.arm.model_dump_json(): cell.key.arm for cell in cells}.values()))
                resolved = {cell.cell_id: backend.resolved(cell.key.arm) for cell in cells}
                session.write_resolved(self._store, resolved)
                session.refresh_models(self._store, self._materials)
                asker = Asker(
                    backend,
                    loop,
                    self._materials.renderer,
                    first,
                    session=index,
                    launch=launch,
                    zero_s=self._zero_s,
                    clock=self._clock,
                )
                self._remember(groups, asker)
                with _quiet_collector():
                    self._warm_up(groups, asker, first)
                    self._measure(groups, asker)
                self._compare(groups, asker, backend)
            finally:
                backend.stop()

    def unfinished(self) -> bool:
        """Say whether anything is left to measure or to compare."""
        return any(self._left(group) for group in self._groups)

    def _left(self, group: Group) -> bool:
        if any(self._missing(cell) for cell in group.running):
            return True
        return self._plan.sampling.temperature == 0 and not all(map(self._store.divergences_checked, compared(group)))

    def _missing(self, cell: CellRecord) -> int:
        return cell.expected_turns - len(self._finished[cell.cell_id])

    def _remember(self, groups: Sequence[Group], asker: Asker) -> None:
        """Take answers and durations of earlier sessions, to go on from them."""
        for cell in (cell for group in groups for cell in group.running):
            for turn in self._store.turns(cell.cell_id):
                self._count(turn, asker)

    def _warm_up(self, groups: Sequence[Group], asker: Asker, first: dict[tuple[str, str], tuple[int, ...]]) -> None:
        if not any(self._missing(cell) for group in groups for cell in group.running):
            return
        lengths = {name: len(ids) for name, ids in first.items()}
        for number, (group, tokens) in enumerate(shapes(groups, lengths, self._plan.warmup)):
            prompt = warmup_prompt(number, tokens, self._materials.renderer)
            for cell in group.running:
                if self._stop.requested:
                    return
                self._reporter.say(f"warming up {cell.key.arm.label}")
                turn = self._append(asker.warm_up(cell, prompt))
                if turn.failure is not None:
                    self._reporter.say(f"the warm-up of {cell.key.arm.label} failed: {turn.failure.message}")
                gc.collect()

    def _measure(self, groups: Sequence[Group], asker: Asker) -> None:
        for visit in visits(groups, self._plan.repeats):
            cells = visit.group.running
            for place, number in enumerate(rotation(visit.index, len(cells))):
                cell = cells[number]
                if (visit.prompt.question_id, visit.turn_index, visit.repeat) in self._finished[cell.cell_id]:
                    continue
                if self._stop.requested:
                    return
                self._finish(self._append(asker.measure(cell, visit, place)), asker)
                gc.collect()

    def _append(self, turn: TurnRecord) -> TurnRecord:
        try:
            self._store.append_turn(turn)
        except StoreWriteError:
            raise
        except ResultsError as fault:
            turn = unstorable(turn, str(fault))
            self._store.append_turn(turn)
        return turn

    def _finish(self, turn: TurnRecord, asker: Asker) -> None:
        self._finished[turn.cell_id].add((turn.question_id, turn.turn_index, turn.repeat))
        self._count(turn, asker)
        if turn.failure is not None:
            self._reporter.say(f"{turn.cell_id}, {turn.question_id!r}: the turn failed: {turn.failure.message}")
        remaining = {cell.cell_id: self._missing(cell) for cell in self._cells}
        done = self._total - sum(remaining.values())
        self._reporter.advance(done, self._total, self._pace.left(remaining))

    def _count(self, turn: TurnRecord, asker: Asker) -> None:
        asker.histories.note(turn)
        seconds = duration(turn)
        if seconds is not None:
            self._pace.add(turn.cell_id, seconds)

    def _compare(self, groups: Sequence[Group], asker: Asker, backend: Backend) -> None:
        if self._plan.sampling.temperature > 0:
            return
        for group in groups:
            if self._stop.requested:
                return
            for cell_id, rows in compare_outputs(group, self._store, asker, backend).items():
                self._store.write_divergences(cell_id, rows)

    def _tell_beginning(self) -> None:
        for cell in self._groups[0].cells if self._groups else ():
            if cell.left_out is not None:
                self._reporter.say(f"{cell.key.arm.label} is left out: {cell.left_out}")
        done = sum(len(turns) for turns in self._finished.values())
        if done:
            self._reporter.say(f"going on: {done} of {self._total} turns are there already")


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """Collect garbage between turns only.

    A collection walks every object of torch and transformers, tens of milliseconds, and would fall into some arm's step
    at random. What is there before the first turn is set apart (frozen), so collections between turns are short.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
