"""`draftmark suites`: list workload suites, show what one holds, fetch SPEED-Bench, make a suite of a request log."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from draftmark.bench.reporting.display import cell_text, emit, emit_rich, harmless

if TYPE_CHECKING:
    from draftmark.suites.prompt import Suite

app = typer.Typer(add_completion=False, no_args_is_help=True)

LEAST_SECRET = 16
"""Characters of the secret that replaced words depend on."""


@app.command("list")
def list_suites() -> None:
    """List the suites that a plan can name: what each holds, where it comes from, and what it needs."""
    from rich.console import Group
    from rich.table import Column, Table

    from draftmark.suites.catalogue import listings
    from draftmark.suites.registry import SUITES

    known = listings()
    suite = Column("suite", no_wrap=True)
    words = (Column(name, overflow="fold") for name in ("licence", "source", "needs"))
    table = Table(suite, "prompts", "turns", *words, box=None, pad_edge=False)
    commands: dict[str, list[str]] = {}
    for row in known:
        size = ("any" if row.prompts is None else str(row.prompts), "any" if row.turns is None else str(row.turns))
        name = row.kind if row.name in (row.kind, None) else f"{row.kind}/{row.name}"
        needs = row.needs if row.missing is None else f"{row.needs} (not here yet)"
        if row.missing is not None:
            commands.setdefault(row.missing, []).append(name)
        source = row.source if row.kind in SUITES.builtin else f"{row.source}: {_about(row.kind)}"
        cells = (name, *size, row.licence or "its own", source, needs)
        table.add_row(*map(cell_text, cells))
    entries = [row.example if row.hash is None else f"{row.example}  # hash {row.hash[:12]}" for row in known]
    missing = [f"  {command}  # {', '.join(names)}" for command, names in commands.items()]
    told = ["", "Not here yet:", *missing] if missing else []
    lines = [*told, "", "Entries in a plan:", *(f"  {entry}" for entry in entries)]
    emit_rich(Group(table, *map(cell_text, lines)))


@app.command("show")
def show_suite(
    name: str = typer.Argument(..., help="A suite of `suites list`, or a .jsonl or .parquet file."),
    limit: int | None = typer.Option(None, min=1, help="Show the stratified subset that a plan with this limit takes."),
    target: str | None = typer.Option(None, help="Model whose tokenizer an exact-length suite is built for."),
) -> None:
    """Show what a suite holds: categories, prompts, licence, and the hash that tells two versions apart."""
    from draftmark.suites.naming import find_suite

    suite = find_suite(name, limit).load(_renderer(target))
    emit("\n".join(facts(suite)))
    _show_prompts(suite)


@app.command("fetch")
def fetch_suite(
    name: str = typer.Argument(..., help="speed-bench"),
    split: list[str] = typer.Option([], help="A split, such as qualitative or throughput-1k; again for more."),
    accept_licence: list[str] = typer.Option(
        [], help="A source whose licence you have read and accept, such as nvidia/SPEED-Bench; again for more."
    ),
    revision: str | None = typer.Option(None, help="Commit of the dataset; the pinned one if not given."),
) -> None:
    """Fetch a suite's data and the texts it withholds, source by source; what is finished is kept for the next call."""
    from draftmark.suites.loaders.speed_bench.fetching import Acceptance, fetch_split
    from draftmark.suites.loaders.speed_bench.splits import SPLITS
    from draftmark.suites.prompt import SuiteError

    if name != "speed-bench":
        raise SuiteError(f"{name!r} is nothing that is fetched; known: speed-bench")
    if unknown := [one for one in split if one not in SPLITS]:
        raise SuiteError(f"speed-bench has no split {unknown[0]!r}; splits: {', '.join(SPLITS)}")

    def say(sentence: str) -> None:
        emit(harmless(sentence))

    acceptance = Acceptance(accept_licence, typer.confirm if sys.stdin.isatty() else None, say)
    for one in split or ["qualitative"]:
        say(f"{one}: {fetch_split(SPLITS[one], revision, acceptance, say)}")


@app.command("from-traffic")
def from_traffic(  # noqa: PLR0917 - typer passes its options by name
    log: Path = typer.Argument(..., help="A log of requests, one JSON object a line, as an OpenAI API takes them."),
    out: Path = typer.Option(..., help="The suite to write, a .jsonl file; a trace of arrivals is written beside it."),
    hash_text: bool = typer.Option(False, "--hash-text", help="Replace every word by another of its length."),
    hash_key_env: str | None = typer.Option(
        None, help="Environment variable with a secret, so that several logs get the same words."
    ),
    limit: int | None = typer.Option(None, min=1, help="Take the first so many requests, by their times."),
    skip_bad: bool = typer.Option(False, "--skip-bad", help="Leave out lines that are no requests, and say which."),
    without: str = typer.Option("", help="Leave out requests that have any of: tools, response_format, sampling."),
) -> None:
    """Turn a log of real requests into a suite and a trace that replays their times; what is left out is named."""
    from draftmark.bench.cli.traffic_report import traffic_lines
    from draftmark.suites.prompt import SuiteError
    from draftmark.suites.traffic.conversion import PARTS, convert_log
    from draftmark.suites.traffic.hashed_text import Hasher

    if out.suffix != ".jsonl":
        raise SuiteError(f"--out is {out}; a suite's file ends in .jsonl")
    parts = [part.strip() for part in without.split(",") if part.strip()]
    if unknown := [part for part in parts if part not in PARTS]:
        raise SuiteError(f"--without is {unknown[0]!a}; it takes any of {', '.join(PARTS)}, with commas between")
    if hash_key_env is not None and not hash_text:
        raise SuiteError("--hash-key-env says nothing without --hash-text")
    hasher = Hasher(_secret(hash_key_env)) if hash_text else None
    report = convert_log(log, out, hasher=hasher, limit=limit, skip_bad=skip_bad, without=parts)
    emit("\n".join(traffic_lines(report)))


def _secret(variable: str | None) -> bytes | None:
    import os

    from draftmark.suites.prompt import SuiteError

    if variable is None:
        return None
    value = os.environ.get(variable, "")
    if len(value) < LEAST_SECRET:
        raise SuiteError(f"the environment variable {variable} is not set, or shorter than {LEAST_SECRET} characters")
    return value.encode()


def facts(suite: Suite) -> list[str]:
    """Return a suite's facts as harmless lines."""
    lines = [
        f"{suite.name}: {len(suite.prompts)} prompts, {suite.turns} turns ({suite.selection})",
        f"licence: {suite.licence or 'not stated'}; source: {suite.source or 'not stated'}",
        f"hash: {suite.hash}",
    ]
    lines += [f"warning: {warning}" for warning in suite.warnings]
    lines += [] if suite.caution is None else [f"caution: {suite.caution.text}"]
    return [harmless(line) for line in lines]


def _show_prompts(suite: Suite) -> None:
    from rich.table import Table

    from draftmark.results.columns import category_label

    counts = Counter((category_label(prompt.category), prompt.sub_category or "") for prompt in suite.prompts)
    strata = Table("category", "sub-category", "prompts")
    for (category, sub_category), count in counts.items():
        strata.add_row(cell_text(category), cell_text(sub_category), str(count))
    prompts = Table("question_id", "turns", "characters", "begins")
    for prompt in suite.prompts:
        messages = (
            prompt.messages[: prompt.asked[-1]] if prompt.messages is not None and prompt.asked is not None else ()
        )
        recorded = [message.content or "" for message in messages]
        characters = sum(map(len, recorded or [prompt.system or "", *prompt.turns]))
        begins = next((one.content or "" for one in messages if one.role == "user"), prompt.turns[0])
        prompts.add_row(
            cell_text(prompt.question_id),
            str(len(prompt.turns)),
            f"{characters:,}",
            cell_text(" ".join(begins[:600].split()), limit=60),
        )
    emit_rich(strata, prompts)


def _renderer(target: str | None) -> Any:
    if target is None:
        return None
    from draftmark.backends.models import locate
    from draftmark.suites.rendering import Renderer

    path, options = locate(target).pretrained()
    return Renderer.load(path, **options)


def _about(kind: str) -> str:
    """Return the first line of what another package's kind says of itself; one that does not import says so instead."""
    from draftmark.results.errors import DraftmarkError
    from draftmark.suites.registry import SUITES

    try:
        return (SUITES.resolve(kind).__doc__ or "").strip().split("\n")[0]
    except DraftmarkError as fault:
        return str(fault)
