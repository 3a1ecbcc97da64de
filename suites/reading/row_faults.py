"""What is wrong with a row, and how its values are spoken of."""

from __future__ import annotations

from draftmark.suites.json_values import text_problem
from draftmark.suites.prompt import SuiteError


class RowFault(SuiteError):
    """What is wrong with one row; whoever reads the file adds file and line."""


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
