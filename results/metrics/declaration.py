"""What a metric is: a declaration that pages can list, and a pure function from evidence to a number or a reason."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from draftmark.results.summary import MetricValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.summary import Source

Better: TypeAlias = 'Literal["higher", "lower"] | None'
Need = Literal[
    "steps", "step times", "stamps", "chunk tokens", "output ids", "baseline", "control", "repeats", "schedule"
]
"""What of the records a metric cannot do without."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a metric's function found: a value with its provenance, or the reason why there is none."""

    value: float | None
    n: int = 0
    source: Source | None = None
    low: float | None = None
    high: float | None = None
    notes: tuple[str, ...] = ()
    reason: str | None = None
    conversations: int | None = None
    """That the interval rests on."""


def missing(reason: str, *, n: int = 0) -> Outcome:
    """Return "not measured", with the reason in words that a newcomer understands."""
    return Outcome(value=None, n=n, reason=reason)


@dataclass(frozen=True)
class Metric:
    """The declaration of one metric, or of a numbered family of them (`conditional_acceptance[k]`)."""

    name: str
    """As in metrics.md; a family ends in its index letter in brackets."""
    unit: str
    """tokens, s, tokens/s, 1 (ratios and shares), count."""
    better: Better
    """Which direction is an improvement; null where neither is."""
    needs: tuple[Need, ...]
    about: str
    """One line for a newcomer."""
    formula: str
    """The formula and what it applies to, from the function's docstring."""
    compute: Callable[[Evidence], Outcome | dict[int, Outcome]]
    """Returns one outcome, or for a family one per index."""

    @property
    def family(self) -> bool:
        """Whether the name stands for a numbered list."""
        return self.name.endswith("]")

    def measure(self, evidence: Evidence) -> dict[str, MetricValue]:
        """Return the metric's value under its name, or a family's values under theirs."""
        found = self.compute(evidence)
        if isinstance(found, Outcome):
            return {self.name: self._value(found)}
        stem = self.name[: self.name.index("[")]
        return {f"{stem}[{index}]": self._value(outcome) for index, outcome in found.items()}

    def _value(self, outcome: Outcome) -> MetricValue:
        value, reason = outcome.value, outcome.reason
        if value is not None and not math.isfinite(value):
            value, reason = None, "the records give no finite number"
        return MetricValue(
            value=None if value is None else float(value),
            low=outcome.low if value is not None else None,
            high=outcome.high if value is not None else None,
            n=outcome.n,
            unit=self.unit,
            source=outcome.source if value is not None else None,
            reason=reason if value is None else None,
            conversations=outcome.conversations if value is not None else None,
            note="; ".join(dict.fromkeys(outcome.notes)) or None,
        )


def declare(
    name: str, *, unit: str, better: Better, needs: tuple[Need, ...], about: str
) -> Callable[[Callable[[Evidence], Outcome | dict[int, Outcome]]], Metric]:
    """Turn the function below into a `Metric`; its docstring is the formula."""

    def declared(compute: Callable[[Evidence], Outcome | dict[int, Outcome]]) -> Metric:
        return Metric(name, unit, better, needs, about, inspect.getdoc(compute) or "", compute)

    return declared
