"""`draftmark report`: write a self-contained page about a run."""

from __future__ import annotations

from pathlib import Path

import typer

from draftmark.bench.reporting.display import emit

app = typer.Typer(add_completion=False)


@app.command()
def report(
    run: Path = typer.Argument(..., help="The run folder."),
    out: Path = typer.Option(Path("site"), help="Folder for the page; its index.html is replaced."),
) -> None:
    """Write a self-contained page about a run; it works offline."""
    from draftmark.dashboards.site import write_site
    from draftmark.results.run_folder.store import RunStore
    from draftmark.results.summarise import summarise

    emit(f"page: {write_site(summarise(RunStore.read(run)), out)}")
