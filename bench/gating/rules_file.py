"""Reading `gate.yaml`: as strict as a plan, every problem named with its line, and the key that was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from draftmark.bench.plans.document import Place, PlanError, Problem, read_document
from draftmark.bench.plans.wording import described, keys_of, problems_of
from draftmark.results.gating.rules import MetricRule, Rules

if TYPE_CHECKING:
    from pathlib import Path


def read_rules(path: Path | None) -> Rules:
    """Return the rules of a file; the defaults without one, or where it is empty.

    Raises `PlanError` naming each unknown key, wrong value, metric that is not declared and metric without a direction.
    """
    if path is None:
        return Rules()
    document = read_document(path)
    if document.problems:
        raise PlanError(str(path), document.problems)
    if document.value is None:
        return Rules()
    if not isinstance(document.value, dict):
        raise PlanError(
            str(path), [Problem((), f"must be a mapping of keys to values, not {described(document.value)}")]
        )
    try:
        return Rules.model_validate(document.value)
    except ValidationError as fault:
        metrics = document.value.get("metrics")
        known: dict[Place, list[str]] = {(): keys_of(Rules)} | {
            ("metrics", name): keys_of(MetricRule) for name in (metrics if isinstance(metrics, dict) else {})
        }
        problems = problems_of(fault, (), known)
        located = [Problem(one.place, one.text, document.line(one.place)) for one in problems]
        raise PlanError(str(path), located) from fault
