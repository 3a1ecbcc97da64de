"""Stored turns with counts that no engine can have: read as failed ones, so that one does not take a run with it."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from draftmark.results.errors import ResultsError
from draftmark.results.records import Observation, TurnFailure, TurnRecord
from draftmark.results.run_folder.strict_json import decode
from draftmark.results.run_folder.upgrade import read_record, upgraded, validate

_LIMITS = ("greater_than_equal", "less_than_equal")
_SHOWN = 40
"""Longest number that is written out, in characters."""
_KEPT = ("status", "failure", "scheduled_s", "held_s", "sent_s", "done_s")
"""What stays of an observation: the rest of it rests on what the engine told."""


def read_turn(data: bytes, where: str) -> TurnRecord:
    """Return one stored turn; one that holds an impossible count or id and no other fault as failed, saying so.

    Raises `ResultsError` as `read_record` does.
    """
    try:
        return read_record(TurnRecord, data, where)
    except ResultsError:
        value = upgraded(TurnRecord, decode(data, where), where)
        found = _impossible(value)
        if found is None:
            raise
    kept = {name: part for name, part in value.items() if name not in Observation.model_fields or name in _KEPT}
    failure = TurnFailure(
        kind="protocol", message=f"the engine told what cannot be: {found}; the turn counts as failed"
    )
    return validate(TurnRecord, {**kept, "status": "failed", "failure": failure.model_dump()}, where)


def _impossible(value: dict[str, Any]) -> str | None:
    """Name the first count of a turn that is out of its bounds, if nothing else is wrong with the record."""
    try:
        TurnRecord.model_validate(value)
    except ValidationError as fault:
        errors = fault.errors(include_url=False)
        observed = all(error["loc"][0] in Observation.model_fields for error in errors)
        if observed and all(error["type"] in _LIMITS and isinstance(error["input"], int) for error in errors):
            place = ".".join(str(part) for part in errors[0]["loc"])
            return f"{place} is {_number(errors[0]['input'])}"
    return None


def _number(value: int) -> str:
    return str(value) if abs(value) < 10**_SHOWN else "beyond all measure"
