"""What a test is handed of a measured cell: plain values, each with interval and source or the reason it is missing.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pytest

SHOWN = ("acceptance_length", "draft_overhead", "output_tps", "speedup")
"""Metrics that go along with a benchmark in `extra_info`."""

MOST_FAILURES = 3


@dataclass(frozen=True)
class Metric:
    """One number, or why there is none."""

    value: float | None
    low: float | None
    high: float | None
    """95% interval; null with the reason in `note`."""
    n: int
    """Observations behind it."""
    unit: str
    """tokens, s, tokens/s, 1 (ratios and shares), count."""
    source: str | None
    """engine, timed, inferred or definition."""
    reason: str | None
    """Why there is no value."""
    note: str | None

    @classmethod
    def of(cls, told: dict[str, Any]) -> Metric:
        """Return the metric of an answer."""
        return cls(**{field.name: told[field.name] for field in fields(cls)})

    def info(self) -> dict[str, Any]:
        """Return it for a report: the value with interval and source, or null with the reason."""
        if self.value is None:
            return {"value": None, "reason": self.reason, "unit": self.unit}
        told = {"value": self.value, "low": self.low, "high": self.high, "unit": self.unit, "source": self.source}
        return told if self.note is None else told | {"note": self.note}


@dataclass(frozen=True)
class MeasuredCell:
    """One cell of the plan and what was measured of it."""

    name: str
    """In words: backend / suite / arm / load."""
    cell_id: str
    backend: str
    suite: str
    arm: str
    drafter: str
    draft_length: int
    load: str
    status: str
    """complete or partial."""
    status_text: str
    turns_ok: int
    turns_failed: int
    turns_expected: int
    metrics: dict[str, Metric]
    """By the names of docs/metrics.md; all turns of the cell."""
    seconds: list[float]
    """Of each turn that counts, from being sent to the last token."""
    failures: list[str]
    """Failed turns with their reasons."""
    lamps: list[dict[str, str]]
    """What checks say of this cell: name, level (fault, warning, note, unjudged, ok) and text."""

    @classmethod
    def of(cls, told: dict[str, Any]) -> MeasuredCell:
        """Return the cell of an answer."""
        plain = {field.name: told[field.name] for field in fields(cls) if field.name != "metrics"}
        return cls(**plain, metrics={name: Metric.of(metric) for name, metric in told["metrics"].items()})

    def value(self, metric: str) -> float:
        """Return a metric's value; the test fails, with the reason, where it was not measured."""
        if metric not in self.metrics:
            known = ", ".join(name for name in self.metrics if "[" not in name)
            raise KeyError(f"there is no metric {metric!r}; there are: {known}")
        found = self.metrics[metric]
        if found.value is None:
            pytest.fail(f"{self.name}: {metric} was not measured: {found.reason}", pytrace=False)
        return found.value

    def faults(self) -> list[str]:
        """Return what makes the cell's numbers void or incomplete, in sentences; nothing for a sound cell."""
        found = []
        if self.status != "complete":
            found.append(f"not all of it was measured: {self.status_text}")
        if self.turns_failed:
            shown = "; ".join(self.failures[:MOST_FAILURES])
            more = f"; and {len(self.failures) - MOST_FAILURES} more" if len(self.failures) > MOST_FAILURES else ""
            found.append(f"{self.turns_failed} of {self.turns_expected} turns failed: {shown}{more}")
        found += [f"{lamp['name']}: {lamp['text']}" for lamp in self.lamps if lamp["level"] == "fault"]
        return found

    def info(self) -> dict[str, Any]:
        """Return what a benchmark's `extra_info` holds of the cell."""
        words = ("cell_id", "backend", "suite", "arm", "drafter", "draft_length", "load", "status_text")
        told: dict[str, Any] = {word: getattr(self, word) for word in words}
        told |= {name: self.metrics[name].info() for name in SHOWN}
        return told | {"warnings": [lamp["text"] for lamp in self.lamps if lamp["level"] == "warning"]}
