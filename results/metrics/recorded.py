"""From the record of a cell to what its metrics are computed from: the turns that count, and the facts of its arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.columns import CellColumns
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.metrics.flight import counted_turns
from draftmark.results.records.loads import ClosedLoad
from draftmark.results.roles import is_baseline, speculates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.results.metrics.window import WindowCounts
    from draftmark.results.records import CellKey, CellRecord, TurnRecord
    from draftmark.results.records.loads import Objectives


def counted_columns(turns: Iterable[TurnRecord], key: CellKey) -> CellColumns:
    """Return the turns of a cell that count, as columns: in an open loop, those of neither warm-up nor cool-down."""
    columns = CellColumns.from_turns(turns, max_tokens=key.sampling.max_tokens)
    counts = counted_turns(columns, key.load)
    return columns if counts.all() else columns.select(counts)


def evidence_of(
    record: CellRecord,
    cell: CellColumns,
    *,
    baseline: CellColumns | None,
    control: CellColumns | None,
    window: WindowCounts | str | None = None,
    objectives: Objectives | None = None,
    whole: CellColumns | None = None,
    part: bool = False,
) -> Evidence:
    """Return the evidence of a recorded cell, its arm, load and GPUs as recorded; the rest as `Evidence` has it.

    The turns are those that count, and all belong to the same part: of `cell`, of the baseline and of its control, as
    far as the comparison group has these. The baseline's own cell is its own baseline, and so is that of a control
    whose baseline is not there.
    """
    arm, load, gpus = record.key.arm, record.key.load, record.resolved.get("gpus")
    itself = is_baseline(arm) or (baseline is None and not speculates(arm))
    return Evidence(
        cell,
        drafter=arm.drafter,
        draft_length=arm.draft_length,
        baseline=cell if itself else baseline,
        control=None if arm.control else control,
        concurrency=load.concurrency if isinstance(load, ClosedLoad) else 1,
        temperature=record.key.sampling.temperature,
        gpus=gpus if isinstance(gpus, int) else None,
        window=window,
        open_load=None if isinstance(load, ClosedLoad) else load,
        objectives=objectives,
        whole=whole,
        part=part,
    )
