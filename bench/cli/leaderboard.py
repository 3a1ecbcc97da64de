"""`draftmark leaderboard`: rank what runs measured, a page per target, machine and suite."""

from __future__ import annotations

from pathlib import Path

import typer

from draftmark.bench.reporting.display import emit, harmless

app = typer.Typer(add_completion=False)

EXIT_SOME_SKIPPED, EXIT_NOTHING_READ = 1, 2


@app.command()
def leaderboard(
    runs: list[Path] = typer.Argument(..., help="Run folders."),
    out: Path = typer.Option(Path("site"), help="Folder for the pages; its index.html is replaced."),
) -> None:
    """Rank what runs measured: a static page per target, machine and suite, by measured speed-up."""
    from draftmark.dashboards.leaderboard.writing import collect, write_leaderboard

    collected = collect(runs)
    for skipped in collected.unreadable:
        typer.echo(f"draftmark: skipped: {harmless(skipped.reason)}", err=True)
    for skipped in collected.twice:
        typer.echo(f"draftmark: {harmless(skipped.folder)} is {harmless(skipped.reason)}; it counts once", err=True)
    if not collected.sources:
        typer.echo("draftmark: none of these folders could be read, so no leaderboard was written", err=True)
        raise typer.Exit(EXIT_NOTHING_READ)
    index, *_ = write_leaderboard(collected, out)
    ranked = sum(entry.ranked for entry in collected.entries)
    emit(f"page: {index}")
    entries, sources = len(collected.entries), len(collected.sources)
    what = f"{entries} {'entry' if entries == 1 else 'entries'} of {sources} {'run' if sources == 1 else 'runs'}"
    emit(f"{what}, {ranked} of them fit to be ranked")
    if collected.unreadable:
        raise typer.Exit(EXIT_SOME_SKIPPED)
