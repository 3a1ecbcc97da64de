"""From a plan to its cells: which arms can run here, and the product with suites and loads, grouped for comparison."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.bench.plans.arrivals import arrivals
from draftmark.bench.plans.document import Problem
from draftmark.results.records import Arm, CellKey, CellRecord
from draftmark.results.records.loads import ClosedLoad, Load
from draftmark.results.roles import is_baseline, speculates
from draftmark.results.run_folder.naming import slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.base import BackendSpec
    from draftmark.bench.plans.arrivals import Arrival, TraceRow
    from draftmark.bench.plans.plan import Plan
    from draftmark.suites.prompt import Suite


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """An arm of the plan on one backend, and why it is left out there, if it is."""

    arm: Arm
    left_out: str | None = None


@dataclass(frozen=True)
class Group:
    """Cells that differ in the arm alone: the same engine asks all of them the same prompts at the same load."""

    backend: BackendSpec
    suite: Suite
    load: Load
    cells: tuple[CellRecord, ...]
    """Baseline first, then its control, then the others in the plan's order."""
    rounds: int = 1
    """Times that a launch has its most frequent conversation."""
    arrivals: tuple[Arrival, ...] = ()
    """In an open loop: the conversations of one launch, in the order in which they begin; the same for every arm."""

    @property
    def running(self) -> tuple[CellRecord, ...]:
        """The cells that are not left out."""
        return tuple(cell for cell in self.cells if cell.left_out is None)

    @property
    def baseline(self) -> CellRecord | None:
        """The cell that the others are compared with; null in a plan without one."""
        return next((cell for cell in self.cells if is_baseline(cell.key.arm)), None)


def plan_arms(plan: Plan) -> tuple[list[list[PlannedArm]], list[Problem]]:
    """Return the arms of each backend, the baseline's control added, and what a backend cannot run though it must.

    Asks every backend about every arm; an optional one that it cannot run is left out with its sentence.
    """
    problems: list[Problem] = []
    planned: list[list[PlannedArm]] = []
    for backend in plan.backends:
        arms: list[PlannedArm] = []
        for index, drafter in enumerate(plan.drafters):
            for arm in drafter.arms():
                sentence = backend.arm_problem(arm)
                if sentence is not None and not drafter.optional:
                    problems.append(Problem(("drafters", index), f"{arm.label} cannot run here: {sentence}"))
                arms.append(PlannedArm(arm, sentence))
                if is_baseline(arm):
                    arms.append(PlannedArm(arm.model_copy(update={"control": True}), sentence))
        planned.append(sorted(arms, key=lambda item: speculates(item.arm)))
        together = backend.arms_problem([item.arm for item in arms if item.left_out is None])
        if together is not None:
            problems.append(Problem(("backends", len(planned) - 1), together))
    return planned, _each_once(problems)


def suite_problems(suites: Sequence[Suite]) -> list[Problem]:
    """Return what is wrong with a plan's loaded suites together: a name that is there twice, one without prompts."""
    problems = []
    first: dict[str, int] = {}
    for index, suite in enumerate(suites):
        if first.setdefault(suite.name, index) != index:
            text = f"is named {suite.name!r} like suites[{first[suite.name]}]; give it another name, or remove one"
            problems.append(Problem(("suites", index), text))
        if not suite.prompts:
            problems.append(Problem(("suites", index), f"{suite.name!r} has no prompts"))
        ids = [prompt.question_id for prompt in suite.prompts]
        twice = sorted({name for name in ids if ids.count(name) > 1}) if len(set(ids)) < len(ids) else []
        problems += [Problem(("suites", index), f"has the question_id {name!r} twice") for name in twice]
    return problems


def expand(plan: Plan, arms: Sequence[Sequence[PlannedArm]], suites: Sequence[Suite]) -> list[Group]:
    """Return every comparison group of a plan, in the order it is run; `arms` as `plan_arms` gives them."""
    trace = plan.load.trace()
    return [
        _group(plan, backend, backend_arms, suite, load=load, trace=trace)
        for backend, backend_arms in zip(plan.backends, arms, strict=True)
        for suite in suites
        for load in plan.load.loads()
    ]


def _group(
    plan: Plan,
    backend: BackendSpec,
    arms: Sequence[PlannedArm],
    suite: Suite,
    *,
    load: Load,
    trace: Sequence[TraceRow],
) -> Group:
    coming: tuple[Arrival, ...] = ()
    rounds, turns = plan.repeats, suite.turns * plan.repeats
    if not isinstance(load, ClosedLoad):
        coming = arrivals(load, suite, trace, plan.repeats)
        rounds = 1 + max((one.turn_round for one in coming), default=0)
        turns = sum(len(one.prompt.turns) for one in coming)
    cells = tuple(_cell(plan, backend, suite, load, item, turns=turns * plan.launches) for item in arms)
    return Group(backend, suite, load, cells, rounds, coming)


def cell_id(key: CellKey) -> str:
    """Return a readable, harmless and unique name: backend, arm and suite in words, and a hash of the whole key."""
    text = json.dumps(key.as_data(), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    words = f"{key.backend} {key.arm.label} {key.suite}{_load_word(key.load)}"
    return f"{slug(words, limit=80)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _load_word(load: Load) -> str:
    if isinstance(load, ClosedLoad):
        return f" c{load.concurrency}" if load.concurrency > 1 else ""
    return f" {load.kind}" if load.kind == "trace" else f" {load.label}"


def _cell(plan: Plan, backend: BackendSpec, suite: Suite, load: Load, item: PlannedArm, *, turns: int) -> CellRecord:
    key = CellKey(
        backend=backend.kind,
        engine=backend.engine_settings(),
        target=plan.target_name,
        arm=item.arm,
        suite=suite.name,
        suite_hash=suite.hash,
        load=load,
        sampling=plan.sampling,
        request_sampling="recorded" if plan.request_sampling == "recorded" else None,
    )
    return CellRecord(cell_id=cell_id(key), key=key, expected_turns=turns, left_out=item.left_out)


def _each_once(problems: list[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))
