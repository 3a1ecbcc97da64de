"""`draftmark compare`: what differs between two runs, in their settings first, then in their numbers."""

from __future__ import annotations

from pathlib import Path

import typer

from draftmark.bench.reporting.display import emit, emit_rich

app = typer.Typer(add_completion=False)

NOTHING_COMPARABLE = 2


@app.command()
def compare(
    baseline: Path = typer.Argument(..., metavar="A", help="The run to compare with."),
    candidate: Path = typer.Argument(..., metavar="B", help="The run in question."),
    *,
    metric: list[str] = typer.Option([], help="Compare this metric; may be repeated. Default: a few that matter."),
    renamed: list[str] = typer.Option([], help="A cell of A that is another of B, as 'OLD=NEW', by name or id."),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON; seconds inside."),
    markdown: Path | None = typer.Option(None, help="Also write it as Markdown, for a job summary."),
) -> None:
    """Compare two runs: settings that differ first, then ratios with intervals, and which differences are real.

    Turns are paired by suite, question, turn and the very prompt; repeats are averaged. Exits with 2 where the runs
    cannot be compared at all; numbers are then shown, and labelled so.
    """
    from draftmark.bench.reporting.comparison_table import comparison_lines
    from draftmark.bench.reporting.markdown import comparison_markdown
    from draftmark.bench.reporting.writing import comparison_json, write_report
    from draftmark.results.comparing import DEFAULT_METRICS, Side, compare_runs
    from draftmark.results.run_folder.store import RunStore

    sides = [Side(RunStore.read(folder)) for folder in (baseline, candidate)]
    found = compare_runs(sides[:1], sides[1], metrics=metric or DEFAULT_METRICS, renamed=_mapping(renamed))
    if markdown is not None:
        write_report(markdown, comparison_markdown(found))
    if as_json:
        emit(comparison_json(found))
    else:
        emit_rich(*comparison_lines(found))
    comparable = [cell for cell in found.cells if not cell.forbidding]
    if found.forbidding or not comparable or found.compared == 0:
        raise typer.Exit(NOTHING_COMPARABLE)


def _mapping(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        old, sign, new = pair.rpartition("=") if pair.count("=") == 1 else pair.partition(" = ")
        if not (sign and old.strip() and new.strip()):
            text = f"{pair!r} is not OLD=NEW; names with = in them are parted by ' = '"
            raise typer.BadParameter(text, param_hint="--renamed")
        found[old.strip()] = new.strip()
    return found
