"""Prompts of a table: every row checked, bad ones named, the subset chosen, and only the chosen texts kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.rows import RowFault
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.tables import Row, Table

    Convert = Callable[[Row, int], "Prompt | LeftOut"]
    """A row and its number from 0; raises `RowFault`."""

MOST_FAULTS = 20
"""Bad rows that one error lists; reading stops there."""

MOST_REPEATS = 2
"""Rows with the same text that pass; more look like stand-ins for texts that were withheld."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is in order but no prompt of this suite; counted by reason."""

    reason: str
    """In words that go on after "3 rows left out: "; empty for rows that belong to another suite."""


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int
    place: str
    question_id: str
    category: str | None
    sub_category: str | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was taken of a table."""

    prompts: tuple[Prompt, ...]
    selection: str
    """In words."""
    size: Counter[str | None]
    """Prompts of the whole table by category."""


def choose_prompts(
    table: Table, convert: Convert, *, limit: int | None, seed: int, allow_repeats: bool = False
) -> Chosen:
    """Read a table twice: first to check all rows, then for the texts of the chosen ones.

    Raises `SuiteError` for a table without prompts, and for rows that are wrong (all of them, up to `MOST_FAULTS`, in
    one error), share an id, or ask the same thing more than `MOST_REPEATS` times.
    """
    entries, left_out = _check(table, convert)
    if not entries:
        raise SuiteError(f"{table.origin} has no prompts{_why(left_out)}")
    if not allow_repeats:
        _refuse_repeats(entries, table.origin)
    chosen = [entries[index] for index in choose(entries, limit, seed)]
    prompts = _fetch(table, convert, chosen)
    selection = describe(len(prompts), len(entries), seed) + _why(left_out)
    return Chosen(prompts, selection, Counter(entry.category for entry in entries))


def _check(table: Table, convert: Convert) -> tuple[list[_Entry], Counter[str]]:
    entries: list[_Entry] = []
    left_out: Counter[str] = Counter()
    faults: list[str] = []
    taken: dict[str, str] = {}
    for number, place, row in table.rows():
        try:
            if isinstance(row, RowFault):
                raise row
            prompt = convert(row, number)
            if isinstance(prompt, LeftOut):
                left_out[prompt.reason] += 1
                continue
            earlier = taken.setdefault(prompt.question_id, place)
            if earlier is not place:
                raise RowFault(f"question_id {prompt.question_id!a} is already taken by {earlier}")
        except RowFault as fault:
            faults.append(f"{place}: {fault}")
            if len(faults) == MOST_FAULTS:
                faults.append("(stopped here; there may be more)")
                break
            continue
        entry = _Entry(number, place, prompt.question_id, prompt.category, prompt.sub_category, _digest(prompt))
        entries.append(entry)
    if faults:
        raise SuiteError(f"{table.origin} has bad rows, so nothing of it was taken:\n  " + "\n  ".join(faults))
    return entries, left_out


def _fetch(table: Table, convert: Convert, chosen: Iterable[_Entry]) -> tuple[Prompt, ...]:
    wanted = {entry.number: entry for entry in chosen}
    found: dict[int, Prompt] = {}
    for number, place, row in table.rows(wanted):
        try:
            prompt = None if isinstance(row, RowFault) else convert(row, number)
        except RowFault:
            prompt = None
        if prompt is None or isinstance(prompt, LeftOut) or _digest(prompt) != wanted[number].digest:
            raise SuiteError(f"{place} changed while it was read; run again")
        found[number] = prompt
    if len(found) < len(wanted):
        raise SuiteError(f"{table.origin} changed while it was read; run again")
    return tuple(found[number] for number in wanted)


def _why(left_out: Counter[str]) -> str:
    return "".join(f"; {count:,} rows left out: {reason}" for reason, count in left_out.items() if reason)


def _digest(prompt: Prompt) -> bytes:
    told = [prompt.system, *prompt.turns, *(m.content for m in prompt.messages or ())]
    return hashlib.sha256(json.dumps(told).encode()).digest()[:16]


def _refuse_repeats(entries: list[_Entry], origin: str) -> None:
    groups: defaultdict[bytes, list[_Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.digest].append(entry)
    repeated = [entry.question_id for group in groups.values() if len(group) > MOST_REPEATS for entry in group]
    if repeated:
        names = ", ".join(repeated[:MOST_FAULTS]) + (", ..." if len(repeated) > MOST_FAULTS else "")
        raise SuiteError(
            f"{origin}: {len(repeated)} rows ask the same thing as at least two others, as stand-ins for withheld "
            f"texts do; {len(entries) - len(repeated)} rows are real. Rows: {names}. Take them out, or set "
            "allow_repeats: true"
        )
