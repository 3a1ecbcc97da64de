"""Fetches splits of SPEED-Bench and the texts that they withhold, source by source; what is finished is kept.

Each source's licence is shown and accepted once. A source that cannot be had leaves its rows unresolved, and the error
at the end names it; its rows are refused when a plan asks them.

The sources were tried with made-up rows of their form, and the hub with a loopback one, never the real data.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

from draftmark.suites.loaders.speed_bench import cache
from draftmark.suites.loaders.speed_bench.checking import unresolved
from draftmark.suites.loaders.speed_bench.finding import fetch_rows, pinned_revision
from draftmark.suites.loaders.speed_bench.sources import ROWS, SOURCES, WORDING, Source, source_of
from draftmark.suites.loaders.speed_bench.supply import NetworkSupply, Supply
from draftmark.suites.loaders.speed_bench.texts import Work
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading import hub
from draftmark.suites.reading.files import line_parts, rows_of
from draftmark.suites.reading.row_faults import MOST_NAMED, named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from draftmark.suites.loaders.speed_bench.splits import Split
    from draftmark.suites.reading.rows import Row


class Acceptance:
    """Whether licences are accepted: those recorded, those named beforehand, and those a person agrees to."""

    def __init__(self, named: Collection[str], ask: Callable[[str], bool] | None, say: Callable[[str], None]) -> None:
        known = {source.name for source in (ROWS, WORDING, *SOURCES)}
        if unknown := [name for name in named if name not in known]:
            raise SuiteError(f"--accept-licence {unknown[0]!a} is no source; sources: {', '.join(sorted(known))}")
        self._named = set(named)
        self._ask = ask
        self._say = say
        self._recorded = set(cache.accepted_licences())

    def require(self, source: Source) -> None:
        """Show a source's licence and record that it was accepted; raise `SuiteError` where it was not."""
        if source.name in self._recorded:
            return
        licence = source.licence or hub.stated_licence(source.name, source.revision) or "not stated on its page"
        shown = f"{source.name}: licence {licence}, {source.page}"
        self._say(shown)
        agreed = self._ask is not None and source.name not in self._named and self._ask(f"Accept it for {source.name}?")
        if source.name not in self._named and not agreed:
            raise SuiteError(
                f"the licence of {source.name} was not accepted ({licence}); read {source.page}, then run again with "
                f"--accept-licence {source.name}"
            )
        cache.accept(source.name, licence, source.page)
        self._recorded.add(source.name)


def fetch_split(
    split: Split, revision: str | None, acceptance: Acceptance, say: Callable[[str], None], supply: Supply | None = None
) -> Path:
    """Fetch a split and resolve its texts; return the file of its rows.

    Raises:
        SuiteError: the split cannot be had, or some rows stay unresolved; what was resolved is kept and written.
    """
    supply = NetworkSupply() if supply is None else supply
    pinned = pinned_revision(split, revision)
    acceptance.require(ROWS)
    published = _read(fetch_rows(split, pinned))
    per_source: defaultdict[str, list[Row]] = defaultdict(list)
    for row in filter(unresolved, published):
        source = source_of(row.get("source"))
        per_source["" if source is None else source.name].append(row)
    texts: dict[str, list[str]] = {}
    left = [
        f"{len(per_source[''])} rows name a source that is not known: {_names(per_source.pop(''))}"
    ] if "" in per_source else []  # fmt: skip
    for source in SOURCES:
        if source.name in per_source:
            work = Work(per_source[source.name], split, supply)
            found, problem = _of_source(source, work, pinned, acceptance)
            texts |= found
            say(f"{split.name}: {source.name}: {len(found)} of {len(per_source[source.name])} rows have their text")
            left += [] if problem is None else [problem]
    target = cache.resolved(split, pinned)
    cache.write_rows(target, ({**row, "turns": texts.get(row["question_id"], row["turns"])} for row in published))
    if left:
        raise SuiteError(
            f"speed-bench/{split.name} is not complete; what was finished is kept, so run again for the rest:\n  "
            + "\n  ".join(left)
        )
    if (note := lengths(split, _read(target), supply)) is not None:
        say(note)
    return target


def lengths(split: Split, rows: Sequence[Row], supply: Supply) -> str | None:
    """Say how long a throughput split's turns are in tokens of o200k_base; null for a split without a set length."""
    if split.prompt_tokens is None or not rows:
        return None
    try:
        encoder = supply.encoder()
    except SuiteError as fault:
        return f"{split.name}: lengths were not counted: {fault}"
    counts = [len(encoder.encode("\n".join(row["turns"]), disallowed_special=())) for row in rows]
    spread = f"{min(counts):,} to {max(counts):,} tokens of o200k_base"
    return f"{split.name}: turns have {spread}; published: {split.prompt_tokens:,}"


def _of_source(
    source: Source, work: Work, revision: str, acceptance: Acceptance
) -> tuple[dict[str, list[str]], str | None]:
    """Return the texts of a source's rows, from the cache where it was finished, and why some are missing."""
    rows, split = work.rows, work.split
    kept = cache.finished(split, revision, source.name)
    ids = {row["question_id"] for row in rows}
    if kept.is_file():
        texts = {row["question_id"]: row["turns"] for row in _read(kept)}
        if ids <= set(texts):
            return texts, None
    builder = source.builder(split)
    if builder is None:
        return {}, f"{source.name}: how its rows of {split.name} are made is not known: {_names(rows)}"
    try:
        acceptance.require(source)
        if source.needs_wording(split):
            acceptance.require(WORDING)
        turns_of = builder(work)
    except SuiteError as fault:
        return {}, f"{source.name}: {fault}"
    except (LookupError, ValueError, TypeError, StopIteration) as fault:
        return {}, f"{source.name}: its data or src_ids are not of the known form ({type(fault).__name__}: {fault})"
    texts, faults = {}, []
    for row in rows:
        try:
            texts[row["question_id"]] = _checked(turns_of(row), row)
        except (LookupError, ValueError, TypeError, AttributeError) as fault:
            faults.append(f"{row['question_id']} (src_id {row.get('src_id')!a}: {type(fault).__name__}: {fault})")
    if faults:
        shown = "; ".join(faults[:MOST_NAMED]) + ("; ..." if len(faults) > MOST_NAMED else "")
        return texts, f"{source.name}: {len(faults)} rows could not be resolved: {shown}"
    cache.write_rows(kept, ({"question_id": name, "turns": turns} for name, turns in texts.items()))
    return texts, None


def _checked(turns: list[str], row: Row) -> list[str]:
    """Return a row's turns; raise ValueError where they are not as many texts as the row has stand-ins for."""
    if not turns or not all(isinstance(turn, str) and turn.strip() for turn in turns):
        raise ValueError("the source's text is empty")
    if row.get("multiturn") is not None and row["multiturn"] != (len(turns) > 1):
        raise ValueError(f"the source gives {len(turns)} turns, which does not go with multiturn: {row['multiturn']}")
    return turns


def _read(path: Path) -> list[Row]:
    found: list[Row] = []
    for _, place, row in rows_of([path], line_parts):
        if isinstance(row, SuiteError):
            raise SuiteError(f"{place} {row}; delete {path} and fetch again")
        found.append(row)
    return found


def _names(rows: Sequence[Row]) -> str:
    return named(json.dumps(row["question_id"]) for row in rows)
