"""What all records have in common: their base class, their version, and the kinds of value that recur."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

SCHEMA_VERSION = 1
"""Version of every record of a run folder. Raise it with each change that old readers would misread, and add an
upgrade."""

Seconds = FiniteFloat
"""Seconds on the session's monotonic clock, or a duration in seconds; finite."""

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""How many tokens, steps or drafts one call had; no engine gives more."""
TokenId = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
"""A token's number in a vocabulary."""

Identifier = Annotated[str, Field(min_length=1, max_length=200)]


class Record(BaseModel):
    """Base of all records: unknown keys are errors, values are never coerced, instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
