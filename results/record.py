"""What all records have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Seconds = FiniteFloat
"""Seconds on the session's monotonic clock, or a duration in seconds; finite."""

Identifier = Annotated[str, Field(min_length=1, max_length=200)]


class Record(BaseModel):
    """Base of all records: unknown keys are errors, values are never coerced, instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
