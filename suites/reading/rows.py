"""One row to one `Prompt`, or a sentence that says which field is wrong.

Rows have SPEED-Bench's columns. `turns` is a list of strings, or one string for one turn; `prompt` is another name for
a single turn, `id` for `question_id`; where there are none of them, `messages` are a request as it was sent (see
`recorded`). `tools`, `response_format` and `sampling` are what such a request had besides. A missing, null or blank
category is "uncategorised". `multiturn` and `reference` are allowed and not used, as is any other column whose name is
not a near miss of one that is used.
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from draftmark.suites.json_values import STRICT
from draftmark.suites.prompt import LONGEST_ID, Prompt
from draftmark.suites.quoting import quoted
from draftmark.suites.reading.recorded import recorded, request_fields
from draftmark.suites.reading.row_faults import RowFault, kind_of, refuse_broken_text

Row = dict[str, Any]
"""Column or key to value."""

STAND_IN = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE"
"""How a turn of the published SPEED-Bench begins whose text must be fetched, since its licence forbids copying."""

_READ = ("question_id", "id", "turns", "prompt", "category", "sub_category", "source", "src_id", "difficulty", "system")
_REQUEST = ("messages", "asked", "tools", "response_format", "sampling")
_NOT_READ = ("multiturn", "reference")
_NUMBERS_TOO = ("src_id", "difficulty")


def row_prompt(row: Row) -> Prompt:
    """Return the prompt of a row; raise `RowFault` naming the field."""
    _refuse_near_misses(row)
    question_id = _question_id(row)
    if row.get("messages") is not None and row.get("turns") is None and row.get("prompt") is None:
        asked = _recorded(row)
    elif row.get("asked") is not None:
        raise RowFault("has asked without messages alone; it says with how many of the messages each turn is asked")
    else:
        asked = {"turns": _turns(row), "system": _optional_text(row, "system")}
    return Prompt(
        question_id=question_id,
        category=_label(row, "category"),
        sub_category=_label(row, "sub_category"),
        **asked,
        **request_fields(row),
        source=_label(row, "source"),
        src_id=_label(row, "src_id"),
        difficulty=_label(row, "difficulty"),
    )


def json_object(line: bytes) -> Row:
    """Return the object of one line, without its line end; raise `RowFault` for what is not strict JSON in UTF-8."""
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RowFault("is not UTF-8 but looks like UTF-16; save the file as UTF-8")
    if line.startswith(b"\x1f\x8b"):
        raise RowFault("is not UTF-8 but looks like gzip; unpack the file first")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise RowFault(
            f"is not UTF-8 (0x{line[fault.start]:02x} at byte {fault.start + 1} of the line); save the file as UTF-8"
        ) from fault
    try:
        row: Row = json.loads(text, **STRICT)
    except json.JSONDecodeError as fault:
        raise RowFault(
            f"is not JSON: {fault.msg.removesuffix(' at')} at column {fault.colno}; each line holds one object"
        ) from fault
    except RecursionError as fault:
        raise RowFault("is nested too deeply to be read") from fault
    except ValueError as fault:
        raise RowFault(str(fault)) from fault
    if not isinstance(row, dict):
        raise RowFault(f"is {kind_of(row)}; each line holds one object")
    return row


def _refuse_near_misses(row: Row) -> None:
    turned = row.get("turns") is not None or row.get("prompt") is not None
    read = (*_READ, *(name for name in _REQUEST if not (turned and name in ("messages", "asked"))))
    for key in row:
        if key in _READ or key in _REQUEST or key in _NOT_READ:
            continue
        near = difflib.get_close_matches(key[:LONGEST_ID].strip().lower().replace("-", "_"), read, n=1, cutoff=0.8)
        if near and near[0] not in row:
            raise RowFault(f"has no key {near[0]!r} but one called {quoted(key)}; did you mean {near[0]!r}?")


def _question_id(row: Row) -> str:
    field = "question_id" if row.get("question_id") is not None else "id"
    value = row.get(field)
    if value is None:
        raise RowFault("has no question_id (or id); every row needs one, so that runs can be paired by prompt")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowFault(f"{field} is {kind_of(value)}; it must be a string or a whole number")
    text = str(value)
    if len(text) > LONGEST_ID:
        raise RowFault(f"{field} has {len(text):,} characters; the most is {LONGEST_ID}")
    refuse_broken_text(text, field)
    if not text.strip() or not text.isprintable():
        raise RowFault(f"{field} {quoted(text)} is blank or holds characters that cannot be printed")
    return text


def _turns(row: Row) -> tuple[str, ...]:
    turns, prompt = row.get("turns"), row.get("prompt")
    if turns is not None and prompt is not None:
        raise RowFault("has both turns and prompt; keep one of them")
    if turns is None and prompt is None:
        raise RowFault("has neither turns nor prompt; give turns, a list of strings")
    if prompt is not None:
        if not isinstance(prompt, str):
            raise RowFault(f"prompt is {kind_of(prompt)}; it must be a string (several turns go into turns)")
        return (_turn(prompt, "prompt"),)
    if isinstance(turns, str):
        return (_turn(turns, "turns"),)
    if not isinstance(turns, list):
        raise RowFault(f"turns is {kind_of(turns)}; it must be a list of strings, or one string")
    if not turns:
        raise RowFault("turns is empty; it needs at least one string")
    return tuple(_turn(turn, f"turns[{index}]") for index, turn in enumerate(turns))


def _recorded(row: Row) -> dict[str, Any]:
    if row.get("system") is not None:
        raise RowFault("has both messages and system; the system message is the first of the messages")
    return recorded(row["messages"], row.get("asked"))


def _turn(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise RowFault(f"{field} is {kind_of(value)}; each turn is the user's text, a string")
    if not value.strip():
        raise RowFault(f"{field} is an empty string; each turn needs text")
    refuse_broken_text(value, field)
    if STAND_IN in " ".join(value[:2000].upper().split()):
        raise RowFault(
            f"{field} is SPEED-Bench's stand-in for a text that its licence withholds, not a prompt; "
            "run `draftmark suites fetch speed-bench` and read its split with kind: speed-bench"
        )
    return value


def _label(row: Row, field: str) -> str | None:
    value = row.get(field)
    if field in _NUMBERS_TOO and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = _optional_text(row, field)
    return text if text is not None and text.strip() else None


def _optional_text(row: Row, field: str) -> str | None:
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RowFault(f"{field} is {kind_of(value)}; it must be a string or null")
    refuse_broken_text(value, field)
    return value
