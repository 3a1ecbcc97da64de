"""JSON of others, as tools, arguments and forms of answers hold it: read strictly, and told what no engine could take.

Nothing here recurses: how deep JSON is nested is for its writer to say.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from draftmark.suites.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEEPEST = 100
"""Lists and objects inside one another; engines and their templates recurse."""

LONGEST_NUMBER = 200
"""Digits of a whole number."""


def read_json(text: str) -> Any:
    """Return the value of strict JSON; raises `ValueError` with what is wrong, in words that go on after a name."""
    try:
        value = json.loads(text, **STRICT)
    except json.JSONDecodeError as fault:
        raise ValueError(f"is not JSON ({fault.msg.removesuffix(' at')} at character {fault.pos + 1})") from fault
    except RecursionError as fault:
        raise ValueError(f"is nested more than {DEEPEST} deep") from fault
    problem = value_problem(value)
    if problem is not None:
        raise ValueError(problem)
    return value


def value_problem(value: Any) -> str | None:
    """Say why a JSON value can be sent to no engine, in words that go on after its name; null if it can."""
    for depth, inner in _walk(value):
        if depth >= DEEPEST and isinstance(inner, dict | list | tuple):
            return f"is nested more than {DEEPEST} deep"
        if isinstance(inner, float) and not math.isfinite(inner):
            return "holds a number that is not finite, which JSON has no word for"
        problem = text_problem(inner) if isinstance(inner, str) else None
        if problem is not None:
            return problem
    return None


def text_problem(text: str) -> str | None:
    """Say why a text can be sent to no engine, in words that go on after its name; null if it can."""
    if "\0" in text:
        return "holds a NUL character, which engines cut or refuse; take it out"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        return f"holds half of a surrogate pair (\\u{ord(text[fault.start]):04x}), which is no character"
    return None


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, keys among them."""
    return (inner for _, inner in _walk(value) if isinstance(inner, str))


def _walk(value: Any) -> Iterator[tuple[int, Any]]:
    """Yield everything in a JSON value, itself and keys included, with how many lists and objects are around it."""
    left = [(0, value)]
    while left:
        depth, inner = left.pop()
        yield depth, inner
        if isinstance(inner, dict):
            left += [(depth + 1, one) for pair in inner.items() for one in pair]
        elif isinstance(inner, list | tuple):
            left += [(depth + 1, one) for one in inner]


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"has the key {quoted(key)} twice")
        found[key] = value
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"is not JSON: {word} is no JSON value; use null")


def _bounded_integer(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"holds a whole number of {len(digits):,} digits; write it as a string")
    return int(digits)


STRICT: Mapping[str, Any] = {
    "object_pairs_hook": _unique_keys,
    "parse_constant": _refuse_constant,
    "parse_int": _bounded_integer,
}
"""Arguments of `json.loads`, which then raises `ValueError` as `read_json` does for what JSON leaves open."""
