"""`draftmark show`: the numbers of a run as a table or as JSON, rebuilt from its raw records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from draftmark.bench.reporting.display import emit, emit_rich

if TYPE_CHECKING:
    from draftmark.results.summary import CellSummary, RunSummary

app = typer.Typer(add_completion=False)


@app.command()
def show(
    run: Path = typer.Argument(..., help="The run folder; it may be unfinished."),
    as_json: bool = typer.Option(False, "--json", help="Print every cell and metric as JSON; seconds inside."),
    by_category: bool = typer.Option(False, help="Add a row per category."),
    acceptance: bool = typer.Option(
        False, help="Show where acceptance comes from instead: by category, context, place in the output, and part."
    ),
) -> None:
    """Show the numbers of a run; they are rebuilt from its raw records."""
    from draftmark.bench.reporting.acceptance_table import acceptance_lines
    from draftmark.bench.reporting.run_table import run_lines
    from draftmark.results.run_folder.store import RunStore
    from draftmark.results.summarise import summarise

    summary = summarise(RunStore.read(run))
    if as_json:
        emit(cells_json(summary))
    elif acceptance:
        emit_rich(*acceptance_lines(summary))
    else:
        emit_rich(*run_lines(summary, by_category=by_category))


def cells_json(summary: RunSummary) -> str:
    """Return the cells of a run as strict JSON: a list, first each cell over all turns, then by category."""
    return json.dumps([_cell(cell) for cell in summary.cells], indent=1, allow_nan=False)


def _cell(cell: CellSummary) -> dict[str, Any]:
    named = ("backend", "target", "drafter", "draft_length", "suite", "category", "concurrency", "open_load")
    more = ("cell_id", "arm", "control", "status", "status_text", "turns_ok", "turns_failed", "turns_expected")
    data = cell.model_dump(mode="json")
    return {name: data[name] for name in (*named, *more, "metrics")}
