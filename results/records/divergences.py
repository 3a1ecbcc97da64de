"""Where an arm's answers leave the baseline's, each with its verdict."""

from __future__ import annotations

from typing import Literal

from pydantic import FiniteFloat, NonNegativeInt

from draftmark.results.records.base import SCHEMA_VERSION, Identifier, Record


class Divergence(Record):
    """One line of `divergences.jsonl`: the first place where an arm's tokens leave the baseline's, temperature 0."""

    schema_version: int = SCHEMA_VERSION
    cell_id: Identifier
    question_id: Identifier
    turn_index: NonNegativeInt
    repeat: NonNegativeInt
    position: NonNegativeInt
    """Index into the output tokens."""
    baseline_id: int | None
    """The baseline's token; null where its answer had ended."""
    arm_id: int | None
    margin: FiniteFloat | None = None
    """Difference of the two tokens' logits in a one-token forward pass of the target on that prefix."""
    numeric_difference: FiniteFloat | None = None
    """Largest logit difference between one-token and (D+1)-token forward passes on that prefix."""
    top_two: tuple[int, int] | None = None
    verdict: Literal["numeric-tie", "fault", "unknown"]
    reason: str
    """Why the verdict: the comparison made, or what could not be measured."""
