"""Reading stored records of every known schema version: newer ones are refused, older ones upgraded step by step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from draftmark.results.errors import ResultsError
from draftmark.results.records import SCHEMA_VERSION
from draftmark.results.records.base import Record
from draftmark.results.run_folder.strict_json import decode, encode

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
"""Pure function from the JSON object of one schema version to that of the next; a value unknown then becomes null."""

UPGRADES: dict[int, Mapping[type[Record], Upgrade]] = {}
"""Old version to the upgrades of the records that changed after it; records not named there stayed as they were.

A version missing here cannot be read any more. Whoever raises `SCHEMA_VERSION` to n adds `UPGRADES[n - 1]`.
"""

AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_record(model: type[AnyRecord], data: bytes, where: str) -> AnyRecord:
    """Return one stored record (an object with `schema_version`) as its current type.

    `where` names file and line and begins every error. Raises `ResultsError` for text that is damaged, foreign, written
    by a newer Draftmark, or of a version that no upgrade leads from.
    """
    try:
        record = model.model_validate_json(data)
    except ValidationError:
        record = None
    if record is not None and _is_current(record):
        return record
    return validate(model, upgraded(model, decode(data, where), where), where)


def _is_current(record: Record) -> bool:
    """Say whether a record that validated may be taken as it is: it names this version and every number is finite."""
    named = "schema_version" in record.model_fields_set and getattr(record, "schema_version", None) == SCHEMA_VERSION
    return named and _is_finite(record)


def _is_finite(value: Any) -> bool:
    """Look through free-form fields; lists of numbers right in a record are long, and finite by their types."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Record):
        fields = vars(value).values()
        return all(_is_finite(field) for field in fields if not (isinstance(field, list) and _starts_numeric(field)))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_is_finite, value))


def _starts_numeric(values: list[Any]) -> bool:
    return bool(values) and isinstance(values[0], int | float)


def upgraded(model: type[Record], value: Any, where: str) -> dict[str, Any]:
    """Return the JSON object of a record in the current schema version; `value` itself is not changed."""
    if not isinstance(value, dict) or "schema_version" not in value:
        raise ResultsError(f"{where}: no {model.__name__} of Draftmark (it names no schema_version)")
    version = value["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise ResultsError(f"{where}: schema_version {version!r} is no version number; the file is damaged or foreign")
    if version > SCHEMA_VERSION:
        raise ResultsError(
            f"{where}: written by a newer version of Draftmark (schema {version}, this one reads up to "
            f"{SCHEMA_VERSION}); install a newer draftmark to read it"
        )
    while version < SCHEMA_VERSION:
        if version not in UPGRADES:
            raise ResultsError(f"{where}: written in schema version {version}, which this Draftmark cannot upgrade")
        change = UPGRADES[version].get(model)
        version += 1
        value = {**(change(dict(value)) if change else value), "schema_version": version}
    return dict(value)


def validate(model: type[AnyRecord], value: Any, where: str) -> AnyRecord:
    """Return a JSON value of the current schema as its record; raise `ResultsError` naming the first wrong fields."""
    try:
        return model.model_validate_json(encode(value))
    except ValidationError as fault:
        errors = fault.errors(include_url=False, include_input=False)
        shown = "; ".join(f"{_place(error['loc'])}: {error['msg']}" for error in errors[:3])
        more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
        raise ResultsError(f"{where}: no valid {model.__name__}: {shown}{more}") from fault


def _place(loc: tuple[int | str, ...]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return "".join(parts).removeprefix(".") or "the whole"
