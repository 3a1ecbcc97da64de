"""A run as pandas frames, for notebooks: `draftmark.load("runs/x").frame()`.

Frames are made from the raw records at each call and follow pandas' habits: counts that may be unknown are `Int64`
with `<NA>`, seconds are floats with NaN for "not measured". The reasons for what was not measured are in `.metrics()`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.results.reader import RunReader, read_manifest
from draftmark.results.records import StepColumns
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import CellSummary, RunSummary

CELL_COLUMNS = (
    "cell_id", "backend", "target", "drafter", "draft_length", "arm", "control", "group", "suite", "category",
    "concurrency", "status", "turns_ok", "turns_failed", "turns_expected", "truncated",
)  # fmt: skip
METRIC_COLUMNS = ("metric", "value", "low", "high", "n", "unit", "source", "reason", "note")
_KEY = ("cell_id", "question_id", "turn_index", "repeat")
TURN_COLUMNS = {
    **dict.fromkeys(_KEY, "object"),
    **dict.fromkeys(("turn_index", "repeat", "launch", "session", "order"), "int64"),
    **dict.fromkeys(("category", "sub_category", "status", "finish_reason", "output_text", "prompt_hash"), "object"),
    **dict.fromkeys(("prompt_tokens", "output_tokens"), "Int64"),
    **dict.fromkeys(
        ("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "last_token_s", "done_s", "prefill_s",
         "draft_prefill_s"),
        "float64",
    ),
}  # fmt: skip
"""Fields of a turn's record that become columns, with their pandas type."""
STEP_COLUMNS = {
    "step": "int64", "drafted": "int64", "accepted": "int64", "delivered": "int64", "draft_nodes": "Int64",
    "draft_s": "float64", "verify_s": "float64", "step_s": "float64", "batch": "Int64",
}  # fmt: skip


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
        import pandas as pd

        summaries = self.summary().cells
        names = dict.fromkeys(name for cell in summaries for name in cell.metrics)
        rows = [_identity(cell) | {name: metric.value for name, metric in cell.metrics.items()} for cell in summaries]
        return pd.DataFrame(rows, columns=[*CELL_COLUMNS, *names]).astype(dict.fromkeys(names, "float64"))

    def metrics(self) -> pd.DataFrame:
        """Return one row per cell, category and metric: value, interval, n, unit, source, reason, note."""
        import pandas as pd

        rows = [
            _identity(cell) | {"metric": name} | metric.model_dump()
            for cell in self.summary().cells
            for name, metric in cell.metrics.items()
        ]
        frame = pd.DataFrame(rows, columns=[*CELL_COLUMNS, *METRIC_COLUMNS])
        return frame.astype(dict.fromkeys(("value", "low", "high"), "float64"))

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
        return _frame(rows, TURN_COLUMNS | {"failure": "object", "steps": "Int64"})

    def steps(self) -> pd.DataFrame:
        """Return one row per decode step of the measured turns: what was drafted, accepted, delivered, and the times.

        `step` counts from 0 within the turn; the prefill is no step. Turns whose engine told no steps have no rows.
        """
        rows = (
            {name: getattr(turn, name) for name in _KEY} | step
            for turn in self._turns()
            if turn.steps is not None
            for step in _steps(turn.steps)
        )
        return _frame(rows, {name: TURN_COLUMNS[name] for name in _KEY} | STEP_COLUMNS)

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
