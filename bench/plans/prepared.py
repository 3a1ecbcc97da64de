"""A plan made ready: the file checked, every arm asked about, suites loaded; what `validate` shows and `run` runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import Asks
from draftmark.bench.plans.cells import Group, PlannedArm, expand, plan_arms, suite_problems
from draftmark.bench.plans.document import PlanError, Problem
from draftmark.bench.plans.drafter_models import drafter_model_warnings
from draftmark.bench.plans.enough import load_problems
from draftmark.bench.plans.fits import overflow_problems, overflow_warnings
from draftmark.bench.plans.materials import Materials, gather
from draftmark.bench.plans.plan import Plan, load_plan, plan_from, refuse
from draftmark.bench.plans.template_options import template_option_problems, template_option_warnings
from draftmark.bench.plans.thinking import thinking_problems, thinking_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from draftmark.suites.prompt import Suite


@dataclass(frozen=True)
class Prepared:
    """Everything that is known before an engine starts."""

    plan: Plan
    arms: list[list[PlannedArm]]
    materials: Materials
    groups: list[Group]

    @cached_property
    def warnings(self) -> list[str]:
        """What is worth knowing before it runs: models and prompts that do not fit. Renders every first turn, once."""
        materials = self.materials
        return [
            *drafter_model_warnings(self.plan),
            *suite_warnings(materials.suites),
            *overflow_warnings(self.plan, materials.suites, materials.first),
            *template_option_warnings(self.plan, materials),
            *thinking_warnings(materials.thinking, materials.renderer, materials.suites),
        ]

    @property
    def warmup_turns(self) -> int:
        """Warm-up turns of one session, over all engines and arms: each as many at once as are measured at once."""
        sizes = [load.warm_up_at_once for load in self.plan.load.loads()]
        loads = sorted((size for size in sizes for _ in self.plan.suites), reverse=True)
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
        PlanError: the plan is wrong, or names arms that cannot run on this machine, or a suite of which nothing fits
            into the engine's context.
        BackendError: the target is not there.
        SuiteError: a suite or the target's tokenizer cannot be read.
    """
    return _prepared(load_plan(path), lambda problems: refuse(path, problems))


def prepare_data(value: dict[str, Any], name: str) -> Prepared:
    """Make a plan ready that is data already; `name` stands for the file's. Raises as `prepare` does."""

    def refuse_all(problems: list[Problem]) -> None:
        if problems:
            raise PlanError(name, problems)

    return _prepared(plan_from(value, name), refuse_all)


def _prepared(plan: Plan, refuse_all: Callable[[list[Problem]], None]) -> Prepared:
    arms, problems = plan_arms(plan)
    refuse_all(problems)
    materials = gather(plan)
    refuse_all(template_option_problems(plan, materials.tokenizer))
    refuse_all(thinking_problems(plan, materials.thinking, materials.suites))
    found = [*suite_problems(materials.suites), *load_problems(plan, materials.suites)]
    refuse_all([*found, *_request_problems(plan, materials)])
    refuse_all(overflow_problems(plan, materials.suites, materials.first))
    return Prepared(plan, arms, materials, expand(plan, arms, materials.suites))


def suite_warnings(suites: Sequence[Suite]) -> list[str]:
    """Return what suites warn of, each under its suite's name: rows that are missing."""
    return [f"{suite.name}: {warning}" for suite in suites for warning in suite.warnings]


def _request_problems(plan: Plan, materials: Materials) -> list[Problem]:
    """Return what backends cannot be asked that the suites' requests ask."""
    prompts = [prompt for suite in materials.suites for prompt in suite.prompts]
    forms = tuple(prompt.question_id for prompt in prompts if prompt.response_format is not None)
    own = materials.chat_template_hash is not None
    asks = Asks(prompts_with_form=forms, own_template=own)
    told = [(index, backend.request_problem(asks)) for index, backend in enumerate(plan.backends)]
    return [Problem(("backends", index), sentence) for index, sentence in told if sentence is not None]
