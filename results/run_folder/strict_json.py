"""Strict JSON in both directions: what is written never holds NaN, and what is read is refused by place if it does."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from draftmark.results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Iterator


def encode(value: Any, *, indent: int | None = None) -> bytes:
    """Return a record, dict or list as UTF-8 JSON without line breaks (unless indented).

    Typed numbers of records are finite by their types. A NaN or infinity in a free-form field (an engine's own facts)
    becomes null, "not measured". Raises `ResultsError` for a value that JSON cannot hold.
    """
    try:
        return to_json(value, indent=indent, inf_nan_mode="null")
    except (PydanticSerializationError, UnicodeError, ValueError) as fault:
        raise ResultsError(f"a value cannot be stored as JSON: {fault}; use plain JSON values only") from fault


def decode(data: bytes, where: str) -> Any:
    """Return the value of JSON text.

    Raises `ResultsError`, beginning with `where`, for text that is not UTF-8 or not JSON, and for a number that is not
    finite (NaN, Infinity, 1e999), naming its place as in `runs[0].accept_len`.
    """
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as fault:
        raise ResultsError(f"{where}: not UTF-8 (byte {fault.start}); the file is damaged or foreign") from fault
    except (ValueError, RecursionError) as fault:
        raise ResultsError(f"{where}: not valid JSON ({fault}); the file is damaged or foreign") from fault
    for place in _not_finite(value, ""):
        raise ResultsError(f"{where}: {place or 'the value'} is NaN or infinite; what was not measured must be null")
    return value


def _not_finite(value: Any, place: str) -> Iterator[str]:
    """Yield where in a JSON value a number is not finite, as in `runs[0].accept_len`."""
    if isinstance(value, float) and not math.isfinite(value):
        yield place
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _not_finite(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_finite(item, f"{place}[{index}]")
