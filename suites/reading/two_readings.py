"""A table read twice: first all rows are checked and only id, strata and digest are kept, then chosen ones are read.

So a limit on a table of gigabytes holds no more text than it asks for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.checked import Checked, repeated
from draftmark.suites.reading.row_faults import MOST_NAMED, RowFault, listed, named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.rows import Row
    from draftmark.suites.reading.tables import Table

    Convert = Callable[[Row, int], "Prompt | LeftOut"]
    """A row and its number from 0; raises `RowFault`."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that is in order but no prompt of this suite; counted by reason."""

    reason: str
    """In words that go on after "3 rows left out: "; empty for rows that belong to another suite."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A checked row: where it is, and what is kept of it."""

    number: int
    place: str
    checked: Checked


def check_rows(table: Table, convert: Convert) -> tuple[list[Entry], Counter[str]]:
    """Return the entries of all rows that are prompts, and how many others there are by reason.

    Raises `SuiteError` for rows that are wrong or share an id, all of them, up to `MOST_NAMED`, in one error.
    """
    entries: list[Entry] = []
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
            if len(faults) == MOST_NAMED:
                break
            continue
        entries.append(Entry(number, place, Checked.of(prompt)))
    if faults:
        raise SuiteError(f"{table.origin} has bad rows, so nothing of it was taken:{listed(faults)}")
    return entries, left_out


def read_again(table: Table, convert: Convert, chosen: Sequence[Entry]) -> tuple[Prompt, ...]:
    """Return the prompts of these entries; raise `SuiteError` for a row that is not as it was when it was checked."""
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
        if len(found) == len(wanted):
            break
    if len(found) < len(wanted):
        raise SuiteError(f"{table.origin} changed while it was read; run again")
    return tuple(found[entry.number] for entry in chosen)


def refuse_repeats(entries: Sequence[Entry], origin: str) -> None:
    """Raise `SuiteError` naming rows that ask the same thing as `checked.MOST_REPEATS` others or more."""
    alike = [entries[place] for place in repeated(entry.checked.digest for entry in entries)]
    if not alike:
        return
    names = named(f"{entry.checked.question_id} ({entry.place.rpartition(', ')[2]})" for entry in alike)
    raise SuiteError(
        f"{origin}: {len(alike)} rows ask the same thing as at least two others, as stand-ins for withheld "
        f"texts do; {len(entries) - len(alike)} rows are real. Rows: {names}. Fetch the texts, take the rows out, or "
        "set allow_repeats: true"
    )
