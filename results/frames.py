"""A run as pandas frames, for notebooks: `draftmark.load("runs/x").frame()`.

Frames follow pandas' habits: text and counts that may be unknown hold `<NA>`, metrics and seconds that were not
measured NaN. The reasons for what was not measured are in `.metrics()`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.results.records import StepColumns
from draftmark.results.run_folder.reader import RunReader, read_manifest
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import CellSummary, RunSummary

_TEXT, _COUNT, _MAYBE_COUNT, _SECONDS = "string", "int64", "Int64", "float64"

CELL_COLUMNS = {
    **dict.fromkeys(("cell_id", "backend", "target", "drafter", "arm", "group", "suite", "category"), _TEXT),
    **dict.fromkeys(("load", "status"), _TEXT),
    **dict.fromkeys(("draft_length", "turns_ok", "turns_failed", "turns_expected", "truncated"), _COUNT),
    "concurrency": _MAYBE_COUNT,
    "control": "bool",
}
"""Fields of a cell's summary that become columns, with their pandas type; so below."""
METRIC_COLUMNS = {
    "metric": _TEXT,
    **dict.fromkeys(("value", "low", "high"), "float64"),
    "n": _COUNT,
    **dict.fromkeys(("unit", "source", "reason", "note"), _TEXT),
}
KEY_COLUMNS = {"cell_id": _TEXT, "question_id": _TEXT, "turn_index": _COUNT, "repeat": _COUNT}
TURN_COLUMNS = {
    **KEY_COLUMNS,
    **dict.fromkeys(("launch", "session", "order"), _COUNT),
    **dict.fromkeys(("category", "sub_category", "status", "finish_reason", "output_text", "prompt_hash"), _TEXT),
    **dict.fromkeys(("prompt_tokens", "output_tokens", "thinking_tokens"), _MAYBE_COUNT),
    **dict.fromkeys(("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "last_token_s", "done_s"), _SECONDS),
    **dict.fromkeys(("held_s", "prefill_s", "draft_prefill_s"), _SECONDS),
}
STEP_COLUMNS = {
    **dict.fromkeys(("step", "drafted", "accepted", "delivered"), _COUNT),
    **dict.fromkeys(("draft_nodes", "batch"), _MAYBE_COUNT),
    **dict.fromkeys(("draft_s", "verify_s", "step_s"), _SECONDS),
}


class LoadedRun:
    """One run, read-only. `path` is its folder."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self.path = reader.path

    def __repr__(self) -> str:
        manifest = self._reader.manifest
        return f"<draftmark run {manifest.run_id!r}, {len(manifest.cells)} cells, {manifest.status}>"

    @cached_property
    def _summary(self) -> RunSummary:
        return summarise(self._reader)

    def summary(self) -> RunSummary:
        """Return cells, metrics with reasons, lamps, divergences and failures; derived once, at the first call."""
        return self._summary

    def frame(self) -> pd.DataFrame:
        """Return what `cells` returns."""
        return self.cells()

    def cells(self) -> pd.DataFrame:
        """Return one row per cell over all its turns (`category` null) and one per cell and category.

        Columns: what the cell is (`CELL_COLUMNS`), then one per metric with its value, seconds inside; NaN where it was
        not measured. Intervals, units and reasons are in `metrics`.
        """
        summaries = self.summary().cells
        names = dict.fromkeys((name for cell in summaries for name in cell.metrics), "float64")
        rows = (_identity(cell) | {name: metric.value for name, metric in cell.metrics.items()} for cell in summaries)
        return _frame(rows, CELL_COLUMNS | names)

    def metrics(self) -> pd.DataFrame:
        """Return one row per cell, category and metric: value, interval, n, unit, source, reason, note."""
        rows = (
            _identity(cell) | {"metric": name} | metric.model_dump()
            for cell in self.summary().cells
            for name, metric in cell.metrics.items()
        )
        return _frame(rows, CELL_COLUMNS | METRIC_COLUMNS)

    def turns(self) -> pd.DataFrame:
        """Return one row per measured turn, failed ones included: which call it was, raw stamps and counts.

        Stamps are seconds since the start of the turn's session; stamps of different sessions do not compare.
        `failure` holds the reason of a failed turn, `steps` the number of decode steps where the engine told them.
        """
        rows = (
            {name: getattr(turn, name) for name in TURN_COLUMNS}
            | {"failure": turn.failure.message if turn.failure else None}
            | {"steps": len(turn.steps.drafted) if turn.steps else None}
            for turn in self._turns()
        )
        return _frame(rows, TURN_COLUMNS | {"failure": _TEXT, "steps": _MAYBE_COUNT})

    def steps(self) -> pd.DataFrame:
        """Return one row per decode step of the measured turns: what was drafted, accepted, delivered, and the times.

        `step` counts from 0 within the turn; the prefill is no step. Turns whose engine told no steps have no rows.
        """
        rows = (
            {name: getattr(turn, name) for name in KEY_COLUMNS} | step
            for turn in self._turns()
            if turn.steps is not None
            for step in _steps(turn.steps)
        )
        return _frame(rows, KEY_COLUMNS | STEP_COLUMNS)

    def _turns(self) -> Iterator[TurnRecord]:
        for cell in self._reader.manifest.cells:
            yield from self._reader.turns(cell.cell_id)


def load(path: str | os.PathLike[str]) -> LoadedRun:
    """Open a run folder to look at, whether it is finished, partial or still running.

    Raises `ResultsError` if the folder is no run, damaged, or written by a newer Draftmark.
    """
    folder = Path(path)
    return LoadedRun(RunReader(folder, read_manifest(folder)))


def _identity(cell: CellSummary) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in CELL_COLUMNS}


def _steps(steps: StepColumns) -> Iterator[dict[str, Any]]:
    columns = {name: getattr(steps, name) for name in StepColumns.model_fields}
    for index in range(len(steps.drafted)):
        yield {"step": index} | {name: None if column is None else column[index] for name, column in columns.items()}


def _frame(rows: Iterable[dict[str, Any]], types: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(types)).astype(types)
