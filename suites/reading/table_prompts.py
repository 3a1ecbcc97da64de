"""Prompts of a table: every row checked, bad ones named, the subset chosen, and only the chosen texts kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.two_readings import check_rows, read_again, refuse_repeats
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.tables import Table
    from draftmark.suites.reading.two_readings import Convert


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

    Raises `SuiteError` for a table without prompts, and for rows that are wrong, share an id, or ask the same thing too
    often (see `two_readings`).
    """
    entries, left_out = check_rows(table, convert)
    if not entries:
        raise SuiteError(f"{table.origin} has no {'prompts' if left_out else 'rows'}{_why(left_out)}")
    if not allow_repeats:
        refuse_repeats(entries, table.origin)
    chosen = [entries[index] for index in choose([entry.checked for entry in entries], limit, seed)]
    prompts = read_again(table, convert, chosen)
    selection = describe(len(prompts), len(entries), seed) + _why(left_out)
    return Chosen(prompts, selection, Counter(entry.checked.category for entry in entries))


def _why(left_out: Counter[str]) -> str:
    return "".join(f"; {count:,} rows left out: {reason}" for reason, count in left_out.items() if reason)
