"""Running a plan: engine by engine, launch by launch, every finished turn on disk at once.

The same plan into the same folder goes on where it stopped. Failed turns are recorded and do not end a run; a request
to stop lets the turn in flight finish. What was measured is compared, summarised and never thrown away.
"""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import uvloop

from draftmark.backends.base import BackendError
from draftmark.backends.redaction import redacted
from draftmark.bench.plans.materials import first_lengths, prompt_records
from draftmark.bench.plans.thinking import engine_problem
from draftmark.bench.running import session
from draftmark.bench.running.asking import Asker, unstorable
from draftmark.bench.running.collector import quiet_collector
from draftmark.bench.running.engines import Engines
from draftmark.bench.running.forecast import Pace, pace_of
from draftmark.bench.running.interruption import EXIT_INTERRUPTED
from draftmark.bench.running.losslessness import compare_outputs, compared, has_greedy_turns
from draftmark.bench.running.questions import Questions
from draftmark.bench.running.schedule import Due, Launch, coming, launches, rotation, visits
from draftmark.bench.running.sending import OpenLoop, closed_loop
from draftmark.bench.running.warmup import shapes, warmup_prompt
from draftmark.results.errors import ResultsError, StoreWriteError
from draftmark.results.records.loads import OpenLoad
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from draftmark.backends.base import BackendSpec
    from draftmark.bench.plans.cells import Group
    from draftmark.bench.plans.materials import FirstPrompts, Materials
    from draftmark.bench.plans.plan import Plan
    from draftmark.bench.plans.prepared import Prepared
    from draftmark.bench.running.interruption import Interruption
    from draftmark.bench.running.progress import Reporter
    from draftmark.bench.running.schedule import Visit
    from draftmark.bench.running.session import Ending
    from draftmark.results.records import CellRecord, Environment, TurnRecord
    from draftmark.results.run_folder.store import RunStore
    from draftmark.results.summary import RunSummary

EXIT_FAILED_TURNS = 1


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    status: Ending
    summary: RunSummary
    output_tokens: int
    """Tokens of all measured turns of all sessions."""

    @property
    def exit_code(self) -> int:
        """0 done; 1 done with failed turns, a lost engine or without a single token; 130 interrupted."""
        if self.status == "interrupted":
            return EXIT_INTERRUPTED
        failed = self.status == "failed" or self.summary.failures or not self.output_tokens
        return EXIT_FAILED_TURNS if failed else 0


def run_plan(
    prepared: Prepared,
    folder: Path,
    *,
    environment: Environment,
    reporter: Reporter,
    stop: Interruption,
    clock: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Run or resume a prepared plan in a folder.

    `clock` is the monotonic clock that engines stamp with. Raises `BackendError` for an engine that does not start,
    `ResultsError` for a folder of another run, `StoreWriteError` where the folder cannot be written; what was measured
    until then stays.
    """
    plan, materials, groups, first = prepared.plan, prepared.materials, prepared.groups, prepared.materials.first
    manifest = session.new_manifest(plan, materials, groups, folder.name)
    prompts = prompt_records(materials.suites, first)
    with session.open_store(folder, manifest) as store:
        session.refuse_other_prompts(store, prompts)
        index = session.begin(store, environment, plan.warmup)
        run = _Run(plan, materials, store, groups, first, session=index, reporter=reporter, stop=stop, clock=clock)
        try:
            store.write_prompts(prompts)
            for backend in plan.backends:
                run.with_backend(backend)
        except KeyboardInterrupt:
            pass  # the second request to stop: the turn in flight is dropped, all before it is there
        except StoreWriteError:
            raise  # this folder takes no last word either
        except BaseException:
            session.end(store, "failed", run.elapsed_s())
            raise
        unfinished: Ending = "failed" if run.lost_an_engine and not stop.requested else "interrupted"
        status: Ending = unfinished if run.unfinished() else "complete"
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
        first: FirstPrompts,
        *,
        session: int,
        reporter: Reporter,
        stop: Interruption,
        clock: Callable[[], float],
    ) -> None:
        self._plan = plan
        self._materials = materials
        self._store = store
        stored = {cell.cell_id: cell for cell in store.manifest.cells}
        self._groups = [replace(group, cells=tuple(stored[cell.cell_id] for cell in group.cells)) for group in groups]
        self._session = session
        self._reporter = reporter
        self._stop = stop
        self._clock = clock
        self._zero_s = clock()
        self._pace = Pace()
        self._questions = Questions(
            materials.renderer,
            first,
            materials.thinking,
            template_options=materials.template_options,
            needs_ids=materials.needs_ids,
        )
        self._lengths = first_lengths(materials.suites, first)
        self._cells = [cell for group in self._groups for cell in group.running]
        self._finished = {cell.cell_id: store.finished(cell.cell_id) for cell in self._cells}
        self._total = sum(cell.expected_turns for cell in self._cells)
        self._rounds = {cell.cell_id: group.rounds for group in self._groups for cell in group.running}
        self._pace_of = {cell.cell_id: pace_of(group) for group in self._groups for cell in group.running}
        self._lost: dict[str, str] = {}
        self._tell_beginning()

    def elapsed_s(self) -> float:
        """Return the seconds since the session began."""
        return self._clock() - self._zero_s

    def output_tokens(self) -> int:
        """Return the tokens of all measured turns."""
        return sum(turn.output_tokens or 0 for cell in self._cells for turn in self._store.turns(cell.cell_id))

    @property
    def lost_an_engine(self) -> bool:
        """Whether some arm could not be finished because its engine was lost."""
        return bool(self._lost)

    def with_backend(self, spec: BackendSpec) -> None:
        """Measure what is left of one backend's groups and compare outputs; starts no engine if nothing is left."""
        groups = [group for group in self._groups if group.backend is spec]
        cells = [cell for group in groups for cell in group.running]
        if self._stop.requested or not any(self._left(group) for group in groups):
            return
        for cell in cells:  # take answers and durations of earlier sessions, to go on from them
            for turn in self._store.turns(cell.cell_id):
                self._count(turn)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
            problem = partial(engine_problem, self._materials.thinking, self._materials.template_options)
            engines = Engines(spec, self._plan.target_name, self._store, self._reporter, loop, problem=problem)
            try:
                planned = launches(
                    groups,
                    launches=self._plan.launches,
                    repeats=self._plan.repeats,
                    one_engine_per_arm=spec.one_engine_per_arm,
                )
                needed = [one for one in planned if any(self._missing_in(cell, one) for cell in one.cells)]
                for number, launch in enumerate(needed, start=1):
                    if self._stop.requested:
                        return
                    self._pace.starts_left = len(needed) - number
                    self._launch(spec, groups, launch, engines, loop)
                self._compare(groups, engines)
            finally:
                engines.stop()

    def unfinished(self) -> bool:
        """Say whether anything is left to measure or to compare."""
        return any(self._left(group) for group in self._groups)

    def _left(self, group: Group) -> bool:
        if any(self._missing(cell) for cell in group.running):
            return True
        return has_greedy_turns(group) and not all(map(self._store.divergences_checked, compared(group)))

    def _missing(self, cell: CellRecord) -> int:
        return cell.expected_turns - len(self._finished[cell.cell_id])

    def _missing_in(self, cell: CellRecord, launch: Launch) -> bool:
        repeats = launch.repeats_of(self._rounds[cell.cell_id])
        done = sum(repeat in repeats for _, _, repeat in self._finished[cell.cell_id])
        return done < cell.expected_turns // self._plan.launches

    def _launch(
        self, spec: BackendSpec, groups: Sequence[Group], launch: Launch, engines: Engines, loop: asyncio.Runner
    ) -> None:
        """Start an engine and measure a launch; an engine of one arm alone may fail without ending the run."""
        try:
            began_s = self._clock()
            backend = engines.start(launch.cells, self._cells)
            self._pace.add_start(self._clock() - began_s)
            session.refresh_models(self._store, self._materials)
            asker = Asker(
                backend,
                self._questions,
                session=self._session,
                launch=engines.launch,
                zero_s=self._zero_s,
                clock=self._clock,
            )
            with quiet_collector() if not spec.one_engine_per_arm else nullcontext():
                loop.run(self._warm_up(groups, launch, asker))
                if spec.one_engine_per_arm:
                    self._measure_arm(groups, launch, asker, engines, loop)
                else:
                    loop.run(self._measure_interleaved(groups, launch, asker))
        except BackendError as fault:
            if not spec.one_engine_per_arm or not any(self._finished.values()):
                raise
            engines.stop()
            self._lose(launch.cells, redacted(str(fault)))

    def _lose(self, cells: Sequence[CellRecord], why: str) -> None:
        gone = {cell.cell_id: why for cell in cells if self._missing(cell)}
        self._lost |= gone
        session.write_lost(self._store, gone)
        self._reporter.say(f"{cells[0].key.arm.label} is given up for now: {why}")

    async def _warm_up(self, groups: Sequence[Group], launch: Launch, asker: Asker) -> None:
        here = {cell.cell_id for cell in launch.cells}
        number = 0
        for group, tokens in shapes(groups, self._lengths, self._plan.warmup):
            cells = [cell for cell in group.running if cell.cell_id in here]
            prompts = [
                warmup_prompt(number + more, tokens, self._materials.renderer)
                for more in range(group.load.warm_up_at_once)
            ]
            number += len(prompts)
            for cell in cells:
                if self._stop.requested:
                    return
                self._reporter.say(f"warming up {cell.key.arm.label}")
                asked = [asker.warm_up(cell, prompt, launch.number) for prompt in prompts]
                for turn in await asyncio.gather(*asked):
                    kept = self._append(turn)
                    if kept.failure is not None:
                        self._reporter.say(f"the warm-up of {cell.key.arm.label} failed: {kept.failure.message}")
                gc.collect()

    async def _measure_interleaved(self, groups: Sequence[Group], launch: Launch, asker: Asker) -> None:
        for visit in visits(groups, launch.repeats):
            cells = visit.group.running
            for place, number in enumerate(rotation(visit.index, len(cells))):
                if self._stop.requested:
                    return
                if await self._visit(cells[number], visit, place, asker):
                    gc.collect()

    def _measure_arm(
        self, groups: Sequence[Group], launch: Launch, asker: Asker, engines: Engines, loop: asyncio.Runner
    ) -> None:
        """Measure the cells of one arm, one after the other, each with as many conversations at once as it wants."""
        here = {cell.cell_id for cell in launch.cells}
        for group in groups:
            for cell in group.running:
                if cell.cell_id not in here or not self._missing_in(cell, launch) or self._stop.requested:
                    continue
                with engines.window(cell, session=self._session):
                    loop.run(self._send(group, cell, launch, asker))

    async def _send(self, group: Group, cell: CellRecord, launch: Launch, asker: Asker) -> None:
        """Send what is left of a cell's launch as its load says."""

        async def ask(visit: Visit, due: Due | None) -> TurnRecord | None:
            return await self._visit(cell, visit, launch.place, asker, due)

        def stopped() -> bool:
            return self._stop.requested

        if isinstance(group.load, OpenLoad):
            left = coming(group, launch, self._finished[cell.cell_id])
            await OpenLoop(group.load, ask, stopped=stopped, clock=self.elapsed_s).run(left)
            return
        turns = visits([group], launch.repeats_of(group.rounds))
        conversations = [list(one) for _, one in groupby(turns, key=lambda it: (it.repeat, it.prompt.question_id))]
        # An engine that queues is asked each next turn before it is due, and keeps to the load by itself.
        ahead = group.load.concurrency > 1 and group.backend.queues_requests
        await closed_loop(conversations, group.load.concurrency * (2 if ahead else 1), ask, stopped)

    async def _visit(
        self, cell: CellRecord, visit: Visit, place: int, asker: Asker, due: Due | None = None
    ) -> TurnRecord | None:
        """Put one turn to one cell and return its record; null where it is there already."""
        if (visit.prompt.question_id, visit.turn_index, visit.repeat) in self._finished[cell.cell_id]:
            return None
        turn = self._append(await asker.measure(cell, visit, place, due))
        self._finished[turn.cell_id].add((turn.question_id, turn.turn_index, turn.repeat))
        self._count(turn)
        if turn.failure is not None:
            self._reporter.say(f"{turn.cell_id}, {turn.question_id!r}: the turn failed: {turn.failure.message}")
        remaining = {one.cell_id: self._missing(one) for one in self._cells}
        done = self._total - sum(remaining.values())
        self._reporter.advance(done, self._total, self._pace.left(remaining))
        return turn

    def _append(self, turn: TurnRecord) -> TurnRecord:
        try:
            self._store.append_turn(turn)
        except StoreWriteError:
            raise
        except ResultsError as fault:
            turn = unstorable(turn, str(fault))
            self._store.append_turn(turn)
        return turn

    def _count(self, turn: TurnRecord) -> None:
        self._questions.note(turn)
        seconds = self._pace_of[turn.cell_id](turn)
        if seconds is not None:
            self._pace.add(turn.cell_id, seconds)

    def _compare(self, groups: Sequence[Group], engines: Engines) -> None:
        for group in filter(has_greedy_turns, groups):
            baseline = group.baseline
            if self._stop.requested or baseline is None or self._missing(baseline):
                continue
            whole = {cell.cell_id for cell in group.running if not self._missing(cell)}
            rows = compare_outputs(group, whole, self._store, self._questions, partial(engines.to_judge, group))
            for cell_id, found in rows.items():
                self._store.write_divergences(cell_id, found)

    def _tell_beginning(self) -> None:
        for cell in self._groups[0].cells if self._groups else ():
            if cell.left_out is not None:
                self._reporter.say(f"{cell.key.arm.label} is left out: {cell.left_out}")
        done = sum(len(turns) for turns in self._finished.values())
        if done:
            self._reporter.say(f"going on: {done} of {self._total} turns are there already")
