"""What is wrong with rows, how they are named where they are many, and how their values are spoken of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.suites.json_values import text_problem
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_NAMED = 20
"""Rows that one error names; where so many are bad, reading stops."""


class RowFault(SuiteError):
    """What is wrong with one row; whoever reads the file adds file and line."""


def listed(faults: Sequence[str]) -> str:
    """Return faults as lines below a sentence; `MOST_NAMED` of them are where reading stopped."""
    stopped = ["(stopped here; there may be more)"] if len(faults) == MOST_NAMED else []
    return "".join(f"\n  {line}" for line in (*faults, *stopped))


def named(names: Iterable[str]) -> str:
    """Return names with commas between, the first `MOST_NAMED` of them, and how many more there are."""
    known = list(names)
    more = len(known) - MOST_NAMED
    return ", ".join(known[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def refuse_broken_text(text: str, field: str) -> None:
    """Raise `RowFault` for a text that no engine could be sent."""
    problem = text_problem(text)
    if problem is not None:
        raise RowFault(f"{field} {problem}")


def kind_of(value: object) -> str:
    """Return what sort of JSON value it is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
