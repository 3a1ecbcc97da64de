"""What the gate is asked to look at and how much loss it lets pass; `gate.yaml` as data."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, FiniteFloat, PositiveInt, field_validator

from draftmark.results.comparing.differences import declared
from draftmark.results.errors import ResultsError
from draftmark.results.records.base import Record

DEFAULT_TOLERANCES: dict[str, float] = {"speedup": 0.03, "acceptance_length": 0.02, "output_tps": 0.03}
"""Metrics that are gated unless rules name others, with the loss from which on one wants to know."""
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


def _share(value: Any) -> Any:
    """Read `3%` as 0.03; numbers stay."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if isinstance(value, str) and found is None:
        raise ValueError(f"must be a share such as 3% or 0.03, not the text {value[:40]!r}")
    if isinstance(value, bool):
        raise ValueError("must be a share such as 3% or 0.03, not true or false")
    return float(found[1]) / 100 if found else float(value) if isinstance(value, int) else value


Tolerance = Annotated[FiniteFloat, Field(gt=0, lt=1), BeforeValidator(_share)]
"""A share of the baseline's value: above 0, below 1."""
Share = Annotated[FiniteFloat, Field(ge=0, le=1), BeforeValidator(_share)]


class MetricRule(Record):
    """What is asked of one metric."""

    tolerance: Tolerance
    """Loss from which on one wants to know, in the direction that the metric's declaration calls worse."""


def _rule(value: Any) -> Any:
    return value if isinstance(value, dict | MetricRule) else {"tolerance": value}


class Rules(Record):
    """`gate.yaml`; all keys have defaults."""

    metrics: dict[str, Annotated[MetricRule, BeforeValidator(_rule)]] = Field(
        default_factory=lambda: {name: MetricRule(tolerance=share) for name, share in DEFAULT_TOLERANCES.items()},
        min_length=1,
    )
    """Metric to its tolerance: `speedup: 3%`. Naming any replaces the defaults, and what is named must be there."""
    renamed: dict[str, str] = Field(default_factory=dict)
    """The baseline's cell to the candidate's, by name or id."""
    vanished: list[str] = Field(default_factory=list)
    """Cells, by name or id, that the candidate need not have any more."""
    allow_different: list[str] = Field(default_factory=list)
    """Settings, as `draftmark compare` names them, that may differ although they forbid a comparison."""
    fewest_rounds: Annotated[PositiveInt, Field(ge=2)] = 3
    """Times that prompts must have been asked, over repeats and launches, before AL or absolute speeds are judged."""
    rounds_agree_within: Share = 0.05
    """Variation of the decode speed over a run's rounds above which its absolute speeds are not judged."""
    failed_turns: Share = 0.0
    """Share of failed turns, beyond the baseline's, from which a cell cannot be judged."""
    false_alarms: Annotated[FiniteFloat, Field(gt=0, lt=0.5), BeforeValidator(_share)] = 0.05
    """Chance that a run without any change is red anyway, over all cells and metrics together."""

    @field_validator("metrics")
    @classmethod
    def _with_direction(cls, metrics: dict[str, MetricRule]) -> dict[str, MetricRule]:
        for name in metrics:
            try:
                metric = declared(name)
            except ResultsError as fault:
                raise ValueError(str(fault)) from None
            if metric.better is None:
                text = f"{name} declares neither direction as better, so it cannot be gated; name a metric that does"
                raise ValueError(text)
        return metrics

    def names(self, metric: str) -> bool:
        """Say whether the rules themselves name a metric, which then must be there."""
        return "metrics" in self.model_fields_set and metric in self.metrics

    def loss_limit(self, metric: str) -> float:
        """Return the tolerance on the scale of log ratios, in the direction of loss."""
        tolerance = self.metrics[metric].tolerance
        return -math.log1p(-tolerance) if declared(metric).better == "higher" else math.log1p(tolerance)
