"""Cells to check, made from turns by hand; metrics are whatever a test puts there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.records import Arm, Sampling
from draftmark.results.sanity import CheckedCell
from draftmark.results.summary import CellSummary, MetricValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import CellRecord, Divergence, TurnRecord

NONE = Arm(drafter="none", draft_length=0)


@pytest.fixture
def make_checked(make_cell: Callable[..., CellRecord]) -> Callable[..., CheckedCell]:
    def build(
        turns: list[TurnRecord],
        arm: Arm = NONE,
        *,
        divergences: list[Divergence] | None = None,
        metrics: dict[str, MetricValue] | None = None,
        temperature: float = 0.0,
        max_tokens: int = 10_000,
        **changes: Any,
    ) -> CheckedCell:
        columns = CellColumns.from_turns(turns, max_tokens=max_tokens)
        sampling = Sampling(temperature=temperature, max_tokens=max_tokens)
        record = make_cell(turns[0].cell_id if turns else "none", arm, sampling=sampling)
        summary: dict[str, Any] = {
            "cell_id": record.cell_id,
            "backend": "reference",
            "engine": {},
            "target": "tiny",
            "drafter": arm.drafter,
            "draft_length": arm.draft_length,
            "control": arm.control,
            "arm": arm.label,
            "group": "g",
            "suite": "coding",
            "category": None,
            "concurrency": 1,
            "status": "complete",
            "status_text": "all turns",
            "turns_ok": int(columns.ok.sum()),
            "turns_failed": int((~columns.ok).sum()),
            "turns_expected": len(columns),
            "truncated": int(columns.truncated.sum()),
            "metrics": metrics or {},
            "changed": {},
        }
        return CheckedCell(record, CellSummary(**(summary | changes)), columns, divergences)

    return build


@pytest.fixture
def make_metric() -> Callable[..., MetricValue]:
    def build(value: float | None, low: float | None = None, high: float | None = None, unit: str = "1") -> MetricValue:
        return MetricValue(value=value, low=low, high=high, n=8, unit=unit, reason=None if value is not None else "why")

    return build
