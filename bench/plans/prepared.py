"""A plan made ready: the file checked, every arm asked about, suites loaded; what `validate` shows and `run` runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.bench.plans.cells import Group, PlannedArm, expand, plan_arms, suite_problems
from draftmark.bench.plans.materials import Materials, gather
from draftmark.bench.plans.plan import Plan, load_plan, refuse

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Prepared:
    """Everything that is known before an engine starts."""

    plan: Plan
    arms: list[list[PlannedArm]]
    materials: Materials
    groups: list[Group]

    @property
    def warmup_turns(self) -> int:
        """Warm-up turns of one session, over all engines and arms: each as many at once as are measured at once."""
        loads = sorted((c for c in self.plan.load.concurrency for _ in self.plan.suites), reverse=True)
        at_once = sum(loads[turn % len(loads)] for turn in range(self.plan.warmup))
        return self.plan.launches * at_once * sum(arm.left_out is None for arms in self.arms for arm in arms)

    @property
    def engine_starts(self) -> int:
        """How often an engine is started, over all backends and launches."""
        running = [sum(arm.left_out is None for arm in arms) for arms in self.arms]
        return self.plan.launches * sum(
            count if backend.one_engine_per_arm else min(count, 1)
            for backend, count in zip(self.plan.backends, running, strict=True)
        )

    @property
    def measured_turns(self) -> int:
        """Model calls that are measured."""
        return sum(cell.expected_turns for group in self.groups for cell in group.running)


def prepare(path: Path) -> Prepared:
    """Read a plan, ask the backends about its arms and load its suites; no engine is started.

    Raises:
        PlanError: the plan is wrong, or names arms that cannot run on this machine.
        BackendError: the target is not there.
        SuiteError: a suite or the target's tokenizer cannot be read.
    """
    plan = load_plan(path)
    arms, problems = plan_arms(plan)
    refuse(path, problems)
    materials = gather(plan)
    refuse(path, suite_problems(materials.suites))
    return Prepared(plan, arms, materials, expand(plan, arms, materials.suites))
