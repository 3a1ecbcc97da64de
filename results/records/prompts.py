"""What was asked: the planned turns of the conversations."""

from __future__ import annotations

from pydantic import NonNegativeInt

from draftmark.results.records.base import SCHEMA_VERSION, Identifier, Record


class PromptRecord(Record):
    """One line of `prompts.jsonl`: one planned turn of one conversation, as it was asked where that is fixed."""

    schema_version: int = SCHEMA_VERSION
    suite: Identifier
    question_id: Identifier
    turn_index: NonNegativeInt
    category: str | None = None
    sub_category: str | None = None
    difficulty: str | None = None
    text_hash: Identifier
    """sha256 of this turn's user text."""
    prompt_tokens: int | None = None
    """Tokens after the chat template, as its suite promises where no tokenizer is at hand; null for later turns, which
    depend on earlier answers."""
    prompt_ids: list[int] | None = None
