"""Prompt and Suite: what is asked, in SPEED-Bench's columns, hashed so that two runs can be told apart."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from draftmark.results.errors import DraftmarkError
from draftmark.results.records import SuiteCaution


class SuiteError(DraftmarkError):
    """A suite that cannot be read or built as asked; the text names file, line and field (exit 2)."""


class Message(BaseModel):
    """One message of a recorded conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, Field(min_length=1)]


class Prompt(BaseModel):
    """One conversation: the user's turns, in order, and where they come from.

    Between the turns come the model's own answers; where `messages` are recorded, the recorded ones instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    question_id: Annotated[str, Field(min_length=1, max_length=200)]
    category: str | None = None
    """Null is shown as "uncategorised" and counted in the total."""
    sub_category: str | None = None
    turns: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """The user's messages that are answered, one model call each."""
    system: str | None = None
    """System message; null leaves it to the target's template."""
    source: str | None = None
    src_id: str | None = None
    difficulty: str | None = None
    prompt_tokens: PositiveInt | None = None
    """Exact tokens of the first turn after the chat template, where the prompt was built to that length."""
    messages: tuple[Message, ...] | None = None
    """A recorded conversation, asked again with its recorded answers (teacher-forced); null for the model's own."""
    asked: tuple[PositiveInt, ...] | None = None
    """With how many of the messages each turn is asked; the last of them is the turn's text. Null without messages."""

    @model_validator(mode="after")
    def _turns_are_in_the_messages(self) -> Prompt:
        if self.messages is None and self.asked is None:
            return self
        if self.messages is None or self.asked is None:
            raise ValueError("messages and asked go together")
        if self.system is not None:
            raise ValueError("a system message is among the messages, or apart, but not both")
        if list(self.asked) != sorted(set(self.asked)) or self.asked[-1] > len(self.messages):
            raise ValueError("asked must rise, and end within the messages")
        last = [self.messages[count - 1] for count in self.asked]
        if [message.role for message in last] != ["user"] * len(last):
            raise ValueError("each turn must be asked with a message of the user at the end")
        if tuple(message.content for message in last) != self.turns:
            raise ValueError("turns must be the messages that asked ends with")
        return self

    @property
    def multiturn(self) -> bool:
        """Whether there are later turns."""
        return len(self.turns) > 1


_CAME_LATER = ("messages", "asked")


class Suite(BaseModel):
    """A named, hashed list of prompts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(min_length=1)]
    prompts: tuple[Prompt, ...]
    licence: str | None = None
    source: str | None = None
    selection: str = "all prompts"
    """In words: all of them, or which stratified subset with which seed."""
    caution: SuiteCaution | None = None
    """What is known to mislead about these prompts; no part of the hash."""

    @property
    def hash(self) -> str:
        """sha256 over the canonical JSON of the prompts, in order; the same on every machine and Python.

        Fields that came later are left out where they are null, so that older hashes hold.
        """
        rows = [prompt.model_dump(mode="json") for prompt in self.prompts]
        rows = [
            {key: value for key, value in row.items() if key not in _CAME_LATER or value is not None} for row in rows
        ]
        text = json.dumps(rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def turns(self) -> int:
        """Model calls that one pass over the suite makes."""
        return sum(len(prompt.turns) for prompt in self.prompts)


class PromptRenderer(Protocol):
    """Turns messages into the target's token ids; suites that must hit an exact length need one."""

    def prompt_ids(self, messages: list[dict[str, str]]) -> list[int]:
        """Render role/content messages with the target's own template, generation prompt added, one BOS at most."""
        ...


class SuiteSpec(BaseModel):
    """A `suites:` entry of a plan. Subclasses say where the prompts come from."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: str
    limit: PositiveInt | None = None
    """Prompts to keep: a seeded subset stratified by category and sub-category, never a prefix."""
    subset_seed: NonNegativeInt = 0

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read or build the whole suite and take the subset; raise `SuiteError`.

        `renderer` is null where the target's tokenizer is not at hand.
        """
        raise NotImplementedError
