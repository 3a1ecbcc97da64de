"""Holds rows against SPEED-Bench's schema, and a whole file against what was published of its split."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.suites.loaders.speed_bench.splits import NEEDED_COLUMNS, OTHER_COLUMNS, Split
from draftmark.suites.prompt import SuiteError
from draftmark.suites.quoting import quoted
from draftmark.suites.reading.row_faults import MOST_NAMED, RowFault, named
from draftmark.suites.reading.rows import STAND_IN, row_prompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.rows import Row
    from draftmark.suites.reading.two_readings import Entry


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What is held against the published split of a row, beside what is kept of every checked row."""

    source: str | None
    turns: int
    unresolved: bool


def unresolved(row: Row) -> bool:
    """Say whether a turn's text must still be fetched from its source."""
    turns = row.get("turns")
    return isinstance(turns, list) and any(isinstance(t, str) and t.lstrip().startswith(STAND_IN) for t in turns)


def check_row(row: Row, split: Split) -> tuple[Prompt, RowFacts]:
    """Return a row's prompt, with stand-ins in place of texts that were never fetched, and its facts.

    Raises `RowFault` naming the column that is not as published.
    """
    stands_in = unresolved(row)
    prompt = row_prompt({**row, "turns": ["-"] * len(row["turns"])} if stands_in else plain_row(row))
    if prompt.category is None:
        raise RowFault("category is empty; every row of SPEED-Bench has one")
    if split.per_category is not None and prompt.category not in split.per_category:
        raise RowFault(
            f"category {quoted(prompt.category)} is none of {split.name}'s ({', '.join(split.per_category)}); "
            "a file of your own is read by kind: jsonl"
        )
    _check_multiturn(row, len(prompt.turns))
    return prompt, RowFacts(prompt.source, len(prompt.turns), stands_in)


def plain_row(row: Row) -> Row:
    """Return a row in the published columns: those that other preparers write as `messages` have turns again.

    Raises `RowFault` for a column that is missing, and for messages that are not the user's turns alone.
    """
    if row.get("turns") is None and row.get("messages") is not None:
        row = {key: value for key, value in row.items() if key not in {"turns", "messages"}} | _turns(row["messages"])
    missing = [column for column in NEEDED_COLUMNS if row.get(column) is None]
    if missing:
        raise RowFault(
            f"has no column {missing[0]!r}; rows of SPEED-Bench have {', '.join(NEEDED_COLUMNS)} "
            f"and mostly {', '.join(OTHER_COLUMNS)}"
        )
    if not isinstance(row["turns"], list):
        raise RowFault("turns is no list; it must be a list of strings")
    return row


def check_file(entries: Iterable[Entry], split: Split, origin: str) -> None:
    """Raise `SuiteError` for a file without rows, and for a category that has more rows than were published."""
    counts = Counter(entry.checked.category for entry in entries)
    if not counts:
        raise SuiteError(f"{origin} has no rows; it should hold SPEED-Bench's split {split.name}")
    if split.per_category is None:
        return
    for category, published in split.per_category.items():
        if counts[category] > published:
            raise SuiteError(
                f"{origin} holds {counts[category]} rows of {category}, where SPEED-Bench's {split.name} has "
                f"{published}; it is another split or a mixture: give the folder or file of {split.name} alone"
            )


def shortfalls(rows: Mapping[Entry, RowFacts], split: Split) -> tuple[str, ...]:
    """Say what a file lacks of the published split, for `Suite.warnings`; empty where nothing is missing."""
    if split.per_category is None or split.rows is None:
        return ()
    counts = Counter(entry.checked.category for entry in rows)
    lacking = [
        f"{category} {counts[category]} of {published}"
        for category, published in split.per_category.items()
        if counts[category] < published
    ]
    if lacking:
        return (f"the file has {len(rows):,} of the {split.rows:,} published rows ({', '.join(lacking)})",)
    turns = sum(facts.turns for facts in rows.values())
    if split.turns is not None and turns != split.turns:
        return (f"all {split.rows:,} rows are there, but with {turns:,} turns where {split.turns:,} were published",)
    return ()


def refuse_unresolved(chosen: Mapping[Entry, RowFacts], split: Split, origin: str) -> None:
    """Raise `SuiteError` naming the chosen rows whose texts were never fetched."""
    open_rows = {entry: facts for entry, facts in chosen.items() if facts.unresolved}
    if not open_rows:
        return
    per_source = Counter(facts.source or "no source named" for facts in open_rows.values())
    sources = "; ".join(f"{source}: {count}" for source, count in per_source.most_common(MOST_NAMED))
    raise SuiteError(
        f"{origin}: {len(open_rows)} of {len(chosen)} rows are stand-ins for texts that their licences withhold, not "
        f"prompts; {len(chosen) - len(open_rows)} rows are real. Nothing was taken. "
        f"Rows: {named(entry.checked.question_id for entry in open_rows)}. Sources: {sources}. "
        f"Run `draftmark suites fetch speed-bench --split {split.name}`, give the folder that NVIDIA's prepare_data.py "
        "wrote as path, or choose categories without such rows"
    )


def _check_multiturn(row: Row, turns: int) -> None:
    value = row.get("multiturn")
    if value is None:
        return
    if not isinstance(value, bool):
        raise RowFault(f"multiturn is {quoted(value)}; it must be true or false")
    if value != (turns > 1):
        raise RowFault(f"multiturn is {str(value).lower()}, but the row has {turns} turn{'s' if turns > 1 else ''}")


def _turns(messages: Any) -> dict[str, Any]:
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise RowFault("messages is no list of objects with role and content")
    roles = [message.get("role") for message in messages]
    system = roles[:1] == ["system"]
    if set(roles[1:] if system else roles) != {"user"}:
        raise RowFault(
            f"messages have the roles {', '.join(map(str, roles))}; this split is the user's turns alone, between "
            "which the model's own answers come"
        )
    contents = [message.get("content") for message in messages]
    return {"system": contents[0], "turns": contents[1:]} if system else {"turns": contents}
