"""Prompts of a table: every row checked, bad ones named, the subset chosen, and only the chosen texts kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.checked import Checked, repeated
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


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is in order but no prompt of this suite; counted by reason."""

    reason: str
    """In words that go on after "3 rows left out: "; empty for rows that belong to another suite."""


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int
    place: str
    checked: Checked


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
    one error), share an id, or ask the same thing more than `checked.MOST_REPEATS` times.
    """
    entries, left_out = _check(table, convert)
    if not entries:
        raise SuiteError(f"{table.origin} has no prompts{_why(left_out)}")
    if not allow_repeats:
        _refuse_repeats(entries, table.origin)
    chosen = [entries[index] for index in choose([entry.checked for entry in entries], limit, seed)]
    prompts = _fetch(table, convert, chosen)
    selection = describe(len(prompts), len(entries), seed) + _why(left_out)
    return Chosen(prompts, selection, Counter(entry.checked.category for entry in entries))


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
        entries.append(_Entry(number, place, Checked.of(prompt)))
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
        if prompt is None or isinstance(prompt, LeftOut) or Checked.of(prompt) != wanted[number].checked:
            raise SuiteError(f"{place} changed while it was read; run again")
        found[number] = prompt
    if len(found) < len(wanted):
        raise SuiteError(f"{table.origin} changed while it was read; run again")
    return tuple(found[number] for number in wanted)


def _why(left_out: Counter[str]) -> str:
    return "".join(f"; {count:,} rows left out: {reason}" for reason, count in left_out.items() if reason)


def _refuse_repeats(entries: list[_Entry], origin: str) -> None:
    alike = [entries[place].checked.question_id for place in repeated(entry.checked.digest for entry in entries)]
    if alike:
        names = ", ".join(alike[:MOST_FAULTS]) + (", ..." if len(alike) > MOST_FAULTS else "")
        raise SuiteError(
            f"{origin}: {len(alike)} rows ask the same thing as at least two others, as stand-ins for withheld "
            f"texts do; {len(entries) - len(alike)} rows are real. Rows: {names}. Take them out, or set "
            "allow_repeats: true"
        )
