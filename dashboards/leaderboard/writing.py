"""Writes a leaderboard: an index, a page per board, published numbers on one of their own, and all of it as data."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.documents import document, script, write_whole
from draftmark.dashboards.leaderboard.boards import Board, boards_of
from draftmark.dashboards.leaderboard.entries import Entry, Source, read_entries
from draftmark.dashboards.leaderboard.publications import speed_bench
from draftmark.dashboards.leaderboard.rows import columns_of, definition, repeated, rows_of, shown, workload
from draftmark.dashboards.wording import value_of
from draftmark.results.errors import ResultsError
from draftmark.results.paths import shortener

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from draftmark.dashboards.leaderboard.boards import Placed

DATA, INDEX, PUBLISHED = "leaderboard.json", "index.html", "published-speed-bench.html"
_KIND = "draftmark-leaderboard"
_PAGE = re.compile(r"[a-z0-9._-]{1,160}\.html")
_STYLES, _SCRIPTS = ("page.css", "leaderboard.css"), ("tips.js", "wide.js", "sorting.js", "leaderboard.js")


@dataclass(frozen=True)
class Skipped:
    """A folder that is in no ranking, and why."""

    folder: str
    reason: str


@dataclass(frozen=True, eq=False)
class Collected:
    """What the given folders hold."""

    sources: tuple[Source, ...]
    entries: tuple[Entry, ...]
    unreadable: tuple[Skipped, ...]
    twice: tuple[Skipped, ...]
    """Copies of runs that were read already."""


def collect(folders: Sequence[Path]) -> Collected:
    """Read run folders; one that cannot be read is named and left out, and a run is read once however often given."""
    sources: dict[str, Source] = {}
    entries: list[Entry] = []
    unreadable, twice = [], []
    for folder in folders:
        try:
            source, found = read_entries(folder)
        except ResultsError as fault:
            unreadable.append(Skipped(str(folder), str(fault)))
            continue
        if source.key in sources:
            twice.append(Skipped(str(folder), f"the same run as another that was given: {source.run_id}"))
            continue
        sources[source.key] = source
        entries += found
    return Collected(tuple(sources.values()), tuple(entries), tuple(unreadable), tuple(twice))


def write_leaderboard(collected: Collected, out: Path) -> list[Path]:
    """Write the pages of a leaderboard into a folder, the index last, and return their paths, the index first.

    Pages of an older leaderboard in the same folder that this one no longer has are removed; nothing else is touched.

    Raises:
        DocumentWriteError: The folder or a file cannot be written.
    """
    boards = boards_of(collected.entries)
    old = _old_pages(out / DATA)
    pages = {board.file: render_board(board) for board in boards}
    pages[PUBLISHED] = render_published()
    paths = [write_whole(out / name, page) for name, page in pages.items()]
    data = {"kind": _KIND, "pages": [*pages, INDEX], "boards": [_board_data(board) for board in boards]}
    write_whole(out / DATA, json.dumps(data, indent=1, allow_nan=False))
    index = write_whole(out / INDEX, render_index(collected, boards))
    for name in old - pages.keys() - {INDEX}:
        if (out / name).is_file():
            (out / name).unlink(missing_ok=True)
    return [index, *paths]


def render_board(board: Board) -> str:
    """Return the page of one target, machine and suite as HTML text."""
    sources = list(dict.fromkeys(source for one in board.placed for source in _sources(one)))
    anchors = {one: f"entry-{number}" for number, one in enumerate(board.placed, start=1)}
    common = set.intersection(*({*table.conditions.items()} for table in board.tables))
    return document(
        "leaderboard_board.html.j2",
        styles=_STYLES,
        scripts=map(script, _SCRIPTS),
        title=f"{board.target} · {board.suite} · {board.hardware}",
        board=board,
        common=[(name, text) for name, text in board.tables[0].conditions.items() if (name, text) in common],
        tables=[(table, columns_of(table), rows_of(table)) for table in board.tables],
        anchors=anchors,
        runs={source: f"run-{number}" for number, source in enumerate(sources, start=1)},
        definition=definition,
        repeated=repeated,
        workload=workload,
        shown=shown,
    )


def render_index(collected: Collected, boards: Sequence[Board]) -> str:
    """Return the first page as HTML text: every board, every run that was read, and what was skipped."""
    skipped = [*collected.unreadable, *collected.twice]
    short = shortener(text for one in skipped for text in (one.folder, one.reason))
    counts = {source: [entry for entry in collected.entries if entry.source is source] for source in collected.sources}
    return document(
        "leaderboard_index.html.j2",
        styles=_STYLES,
        scripts=map(script, _SCRIPTS),
        title="Leaderboard",
        boards=boards,
        counts=counts,
        skipped=[Skipped(short(one.folder), short(one.reason)) for one in skipped],
        published=PUBLISHED,
        shown=shown,
    )


def render_published() -> str:
    """Return the page of published numbers as HTML text."""
    return document(
        "leaderboard_published.html.j2",
        styles=_STYLES,
        scripts=map(script, _SCRIPTS),
        title="Published numbers",
        table=speed_bench(),
        index=INDEX,
    )


def _sources(placed: Placed) -> list[Source]:
    return [placed.entry.source, *(one.source for one in placed.earlier)]


def _old_pages(path: Path) -> set[str]:
    """Return the pages that an older leaderboard in the folder wrote; none where there is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return set()
    pages = data.get("pages") if isinstance(data, dict) and data.get("kind") == _KIND else None
    named = pages if isinstance(pages, list) else []
    return {name for name in named if isinstance(name, str) and _PAGE.fullmatch(name)}


def _board_data(board: Board) -> dict[str, Any]:
    return {
        "target": board.target,
        "hardware": board.hardware,
        "suite": board.suite,
        "page": board.file,
        "tables": [
            {"conditions": table.conditions, "entries": [_entry_data(one) for one in table.placed]}
            for table in board.tables
        ],
    }


_METRICS = (
    "speedup",
    "output_tps",
    "output_tps_per_gpu",
    "tps_per_user",
    "acceptance_length",
    "draft_overhead",
)


def _entry_data(placed: Placed) -> dict[str, Any]:
    entry = placed.entry
    metrics = {name: value_of(entry.cell, name).model_dump(mode="json") for name in _METRICS}
    if entry.baseline is not None:
        metrics["tpot_without_speculation"] = value_of(entry.baseline, "tpot").model_dump(mode="json")
    return {
        "entry": placed.label,
        "engine": entry.engine,
        "draft_length": entry.cell.draft_length,
        "ranks": None if placed.ranks is None else [placed.ranks.best, placed.ranks.worst],
        "losslessness": entry.losslessness,
        "not_disclosed": list(entry.missing),
        "faults": list(entry.faults),
        "warnings": list(entry.warnings),
        "run": entry.source.run_id,
        "earlier_runs": [one.source.run_id for one in placed.earlier],
        "metrics": metrics,
    }
