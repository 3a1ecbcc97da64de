"""One run as a side of a comparison: its summary, and its cells with their turns, loaded as they are needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from draftmark.results.metrics.recorded import counted_columns, evidence_of
from draftmark.results.metrics.window import difference, reset_in, windows_of
from draftmark.results.records.loads import ClosedLoad
from draftmark.results.roles import NO_DRAFTER, speculates
from draftmark.results.summarise import groups_of, objectives_of, summarise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.records import CellRecord, TurnRecord
    from draftmark.results.run_folder.reader import RunReader
    from draftmark.results.summary import CellSummary, RunSummary

CACHED = "cached_prompt_tokens"


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a run with the turns that count, and those of the arm without speculation beside it."""

    record: CellRecord
    summary: CellSummary
    columns: CellColumns
    baseline: CellColumns | None
    control: CellColumns | None
    cached: float | None
    """Share of the prompt tokens that a prefix cache answered; null where nothing counts them."""
    run: RunSummary

    @property
    def open(self) -> bool:
        """Whether conversations follow a schedule, and so come in no rounds."""
        return not isinstance(self.record.key.load, ClosedLoad)

    def evidence(self, mask: Mask | None = None, *, code: int | None = None) -> Evidence:
        """Return what metrics are computed from; of one round alone where `mask` and its `code` are given."""
        return evidence_of(
            self.record,
            self.columns if mask is None else self.columns.select(mask),
            baseline=self._round_of(self.baseline, code),
            control=self._round_of(self.control, code),
            objectives=objectives_of(self.run.manifest),
        )

    def of(self, columns: CellColumns) -> Evidence:
        """Return the evidence of the arm without speculation, whose turns these are."""
        return replace(
            self.evidence(), cell=columns, drafter=NO_DRAFTER, draft_length=0, baseline=columns, control=None
        )

    def _round_of(self, columns: CellColumns | None, code: int | None) -> CellColumns | None:
        if columns is None or code is None or self.open:
            return columns
        return columns.select(columns.repeat == code)


class Side:
    """A run to compare."""

    def __init__(self, run: RunReader, summary: RunSummary | None = None) -> None:
        self.run = run
        self.summary = summarise(run) if summary is None else summary
        self._summaries = {cell.cell_id: cell for cell in self.summary.cells if cell.category is None}
        self._group = {cell.cell_id: group for group in groups_of(run.manifest.cells).values() for cell in group}
        self._loaded: dict[str, tuple[CellColumns, float | None]] = {}

    @property
    def cells(self) -> Sequence[CellRecord]:
        """Every planned cell."""
        return self.run.manifest.cells

    def cell(self, cell_id: str) -> Cell:
        """Return a cell; the turns of its group stay loaded until a cell of another group is asked for."""
        group = self._group[cell_id]
        members = {member.cell_id for member in group}
        self._loaded = {name: found for name, found in self._loaded.items() if name in members}
        record = next(member for member in group if member.cell_id == cell_id)
        columns, cached = self._columns(record)
        return Cell(
            record=record,
            summary=self._summaries[cell_id],
            columns=columns,
            baseline=self._reference(group, control=False),
            control=self._reference(group, control=True),
            cached=cached,
            run=self.summary,
        )

    def _reference(self, group: Iterable[CellRecord], *, control: bool) -> CellColumns | None:
        for member in group:
            arm = member.key.arm
            if not speculates(arm) and arm.control is control and member.left_out is None:
                columns = self._columns(member)[0]
                return columns if len(columns) else None
        return None

    def _columns(self, record: CellRecord) -> tuple[CellColumns, float | None]:
        found = self._loaded.get(record.cell_id)
        if found is None:
            told = _Told()
            columns = counted_columns(told.watch(self.run.turns(record.cell_id, phase=None)), record.key)
            counted = cached_share(self.run, record.cell_id)
            found = self._loaded[record.cell_id] = (columns, told.share if counted is None else counted)
        return found


def cached_share(run: RunReader, cell_id: str) -> float | None:
    """Return the share of prompt tokens that the engine's counters say its prefix cache answered; null if uncounted."""
    windows = [difference(one) for one in windows_of(run.engine(cell_id)) if reset_in(one) is None]
    told = [window for window in windows if CACHED in window and window.get("prompt_tokens", 0) > 0]
    read = sum(window["prompt_tokens"] for window in told)
    return min(sum(window[CACHED] for window in told) / read, 1.0) if read else None


class _Told:
    """What engines say with each answer of its prompt's cached tokens."""

    def __init__(self) -> None:
        self.cached = self.read = 0

    @property
    def share(self) -> float | None:
        return min(self.cached / self.read, 1.0) if self.read else None

    def watch(self, turns: Iterator[TurnRecord]) -> Iterator[TurnRecord]:
        for turn in turns:
            told = turn.details.get(CACHED)
            if turn.phase == "measured" and isinstance(told, int) and turn.prompt_tokens:
                self.cached += told
                self.read += turn.prompt_tokens
            yield turn
