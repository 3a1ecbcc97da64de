"""What servers send, taken as the shapes it should have: counts, token ids, texts and choices; anything else is named.

Numbers are bounded, so that none of them is too large for a record or fills the memory.
"""

from __future__ import annotations

import json
from typing import Any

MOST_COUNTED = 2**31 - 1
"""A count of one answer beyond is no count, and no record holds it."""
MOST_ID = 2**31 - 1
"""Ids of tokens are 32-bit numbers in every engine."""
_SHOWN = 40


class Misshapen(ValueError):
    """An event does not have the shape that the API says; the text is a sentence for the turn's failure."""


def decoded(body: bytes | str) -> Any:
    """Return decoded JSON; null for what is none, or is nested too deeply to be read."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def count_of(value: object) -> int | None:
    """Return a count: a whole number from 0 to `MOST_COUNTED`, also where it is written 4.0; null for anything else."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= MOST_COUNTED:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= MOST_COUNTED else None


def shown(value: object) -> str:
    """Return a short text of a decoded value, for a sentence."""
    try:
        text = json.dumps(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or deep nesting
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def ids_of(name: str, value: object) -> tuple[int, ...] | None:
    """Return token ids; null where there are none.

    Raises:
        Misshapen: the value is no list of whole numbers from 0 to `MOST_ID`.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        raise Misshapen(f"{name} is {shown(value)}, no list of token ids")
    for one in value:
        if not isinstance(one, int) or isinstance(one, bool) or not 0 <= one <= MOST_ID:
            raise Misshapen(f"{name} holds {shown(one)}, which is no token id")
    return tuple(value)


def text_of(holder: dict[str, Any], name: str) -> str:
    """Return a text; empty where it is missing or null.

    Raises:
        Misshapen: the value is something else, such as a list of parts.
    """
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Misshapen(f"{name} of a choice is {shown(value)}, no text")
    return value


def calls_of(holder: dict[str, Any]) -> str:
    """Return the text of calls of tools in a choice, or of a piece of them: each name on a line, its arguments after.

    Raises:
        Misshapen: they are no objects with a function of texts.
    """
    calls = holder.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise Misshapen(f"tool_calls of a choice is {shown(calls)}, no list of objects")
    functions = [object_of(call, "function") for call in calls] + [object_of(holder, "function_call")]
    return "".join(_called(function) for function in functions)


def _called(function: dict[str, Any]) -> str:
    name = text_of(function, "name")
    return (f"\n{name}\n" if name else "") + text_of(function, "arguments")


def object_of(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a JSON object; empty where it is missing or null.

    Raises:
        Misshapen: the value is something else.
    """
    value = holder.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Misshapen(f"{name} of a choice is {shown(value)}, no JSON object")
    return value


def choice_of(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the one choice of an event; null where it has none, as one that holds the usage alone.

    Raises:
        Misshapen: it is no list of objects, there is more than one, or it is another than the first.
    """
    choices = event.get("choices")
    if choices is None or choices == []:
        return None
    if not isinstance(choices, list):
        raise Misshapen(f"choices is {shown(choices)}, no list")
    if not isinstance(choices[0], dict):
        raise Misshapen(f"choices holds {shown(choices[0])}, no JSON object")
    index = choices[0].get("index")
    if len(choices) > 1 or index not in (None, 0) or isinstance(index, bool):
        which = f"{len(choices)} choices at once" if len(choices) > 1 else f"a choice of index {shown(index)}"
        raise Misshapen(f"the server gave {which}, and its token counts are of all: one choice was asked for")
    return choices[0]


def spread(histogram: list[int], total: int) -> list[int] | None:
    """Return a histogram's values one by one, from the lowest; null where they are not `total`, or too many to be so.

    Args:
        histogram: How often each value from 0 came.
        total: How many there must be.
    """
    if sum(histogram) != total or total > _MOST_SPREAD:
        return None
    return [value for value, times in enumerate(histogram) for _ in range(times)]


_MOST_SPREAD = 10_000_000
"""Steps of one answer; more would fill the memory, and no engine takes so many."""
