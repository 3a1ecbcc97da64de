"""The gate's verdict as a record: one outcome, its exit code, and every judgement behind it."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt

from draftmark.results.comparing.changes import Ended, RunName, SettingChange
from draftmark.results.records.base import Record

Outcome = Literal["pass", "regression", "cannot decide", "recorded only"]
EXIT_CODES: dict[Outcome, int] = {"pass": 0, "regression": 1, "cannot decide": 2, "recorded only": 0}
State = Literal["pass", "regression", "not gated", "missing", "impossible", "not comparable"]


class Judgement(Record):
    """What the gate says of one metric of one cell."""

    cell: str
    metric: str
    state: State
    text: str
    """One sentence."""
    baseline: float | None = None
    candidate: float | None = None
    unit: str = "1"
    change: float | None = None
    """candidate / baseline - 1 over what both were asked."""
    low: float | None = None
    high: float | None = None
    """95% interval of the change."""
    tolerance: float | None = None
    smallest: float | None = None
    """Smallest loss that this cell would have shown in 8 of 10 nights, as a share; null where none."""


class Finding(Record):
    """Something about the runs as a whole, or a cell, that decides besides the metrics."""

    level: Literal["regression", "cannot decide", "told"]
    text: str


class Verdict(Record):
    """What the gate decided and why."""

    outcome: Outcome
    headline: str
    """One sentence: what was decided, and over how much."""
    baselines: list[RunName]
    candidate: RunName
    findings: list[Finding]
    settings: list[SettingChange]
    """What differs, of the runs and of cells; those that forbid a comparison first."""
    judgements: list[Judgement]
    vanished: list[Ended]
    appeared: list[Ended]
    compared: NonNegativeInt
    """Metrics of cells that have a number on both sides."""
    tests: NonNegativeInt
    """Metrics of cells that could have been red; chance is held down over all of them together."""
    false_alarms: float

    @property
    def exit_code(self) -> int:
        """0 pass, 1 regression or fault, 2 cannot decide."""
        return EXIT_CODES[self.outcome]
