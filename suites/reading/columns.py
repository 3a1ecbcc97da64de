"""A foreign row to a prompt: which of its columns holds what, by the plan's mapping or by the usual names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from draftmark.suites.prompt import SuiteError
from draftmark.suites.quoting import quoted
from draftmark.suites.reading.conversations import user_turns
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.rows import Row

Target = Literal[
    "question_id", "turns", "messages", "conversation", "system", "category", "sub_category", "source", "src_id",
    "difficulty", "tools", "response_format", "sampling",
]  # fmt: skip
"""What a column can be. `turns` is a text or a list of texts; `messages` a request as it was sent; `conversation` a
recorded conversation of which the user's turns are kept."""

Columns = dict[Target, Annotated[str, Field(min_length=1)]]
"""What to the name of the column that holds it."""

_TEXTS = ("turns", "messages", "conversation")


def columns_problem(columns: Columns | None) -> str | None:
    """Say what is wrong with a mapping; null if nothing is."""
    if columns is None:
        return None
    texts = [name for name in _TEXTS if name in columns]
    if len(texts) != 1:
        return f"columns must name exactly one of {', '.join(_TEXTS)}, and names {', '.join(texts) or 'none'}"
    return None


def _refuse_other_columns(row: Row, columns: Mapping[Target, str] | None, name: str) -> None:
    """Raise `SuiteError` once for the table whose first row has other columns than are asked for."""
    has = f"its columns are {', '.join(map(ascii, list(row)[:30]))}"
    if columns is not None:
        absent = [f"{target}: {column}" for target, column in columns.items() if column not in row]
        if absent:
            raise SuiteError(f"{name} has no such column as in columns: {{{', '.join(absent)}}}; {has}")
    elif not any(row.get(text) is not None for text in ("turns", "prompt", "messages")):
        raise SuiteError(
            f"{name} has no column turns, prompt or messages; {has}; say which is what, as in "
            "columns: {turns: COLUMN, category: COLUMN}"
        )


def mapped_prompt(row: Row, number: int, columns: Mapping[Target, str] | None, name: str) -> Prompt:
    """Return a row's prompt; raise `RowFault` naming the column, and `SuiteError` where the first row lacks it.

    With a mapping only the columns that it names are read. A row without a question_id is called after `name` and its
    number in the table, from 1.
    """
    if number == 0:
        _refuse_other_columns(row, columns, name)
    if columns is not None:
        absent = [column for column in columns.values() if column not in row]
        if absent:
            raise RowFault(f"has no column {quoted(absent[0])}; it has {', '.join(map(quoted, list(row)[:30]))}")
        row = {field: row[column] for field, column in columns.items()}
    found: dict[str, Any] = dict(row)
    if "conversation" in found and columns is not None:
        system, turns = user_turns(found.pop("conversation"))
        if not turns:
            raise RowFault(f"{columns['conversation']} holds no message of the user")
        found |= {"turns": turns} | ({} if system is None or "system" in found else {"system": system})
    if found.get("question_id") is None and found.get("id") is None:
        found["question_id"] = f"{name}-{number + 1}"
    return row_prompt(found)
