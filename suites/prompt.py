"""Prompt and Suite: what is asked, in SPEED-Bench's columns, hashed so that two runs can be told apart."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from draftmark.results.errors import DraftmarkError
from draftmark.results.records import SuiteCaution
from draftmark.suites.messages import Message, ToolCall, without_later_fields
from draftmark.suites.request_settings import RequestSampling, format_problem, tools_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Message", "Prompt", "PromptRenderer", "RequestSampling", "Suite", "SuiteError", "SuiteSpec", "ToolCall"]

LONGEST_ID = 200
"""Characters of a question id."""


class SuiteError(DraftmarkError):
    """A suite that cannot be read or built as asked; the text names file, line and field (exit 2)."""


class Prompt(BaseModel):
    """One conversation: the user's turns, in order, and where they come from.

    Between the turns come the model's own answers; where `messages` are recorded, the recorded ones instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    question_id: Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
    category: str | None = None
    """Null is shown as "uncategorised" and counted in the total."""
    sub_category: str | None = None
    turns: Annotated[tuple[str, ...], Field(min_length=1)]
    """The messages that are answered, one model call each: the user's, or in a recorded conversation a tool's."""
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
    tools: tuple[dict[str, Any], ...] | None = None
    """Functions that the model may call, as the API has them; null for none."""
    response_format: dict[str, Any] | None = None
    """The form that each answer must have, as the API has it; null for text."""
    sampling: RequestSampling | None = None
    """How the request that this was chose tokens; replayed where a plan says so."""

    @model_validator(mode="after")
    def _requests_are_the_api_s(self) -> Prompt:
        problem = None
        if self.tools is not None:
            problem = tools_problem(self.tools)
        if problem is None and self.response_format is not None:
            problem = format_problem(self.response_format)
        if problem is not None:
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _turns_are_in_the_messages(self) -> Prompt:
        if self.messages is None and self.asked is None:
            if not all(self.turns):
                raise ValueError("each turn needs text")
            return self
        if self.messages is None or self.asked is None:
            raise ValueError("messages and asked go together")
        if self.system is not None:
            raise ValueError("a system message is among the messages, or apart, but not both")
        if list(self.asked) != sorted(set(self.asked)) or self.asked[-1] > len(self.messages):
            raise ValueError("asked must rise, and end within the messages")
        last = [self.messages[count - 1] for count in self.asked]
        if not {message.role for message in last} <= {"user", "tool"}:
            raise ValueError("each turn must be asked with a message of the user or of a tool at the end")
        if tuple(message.content for message in last) != self.turns:
            raise ValueError("turns must be the messages that asked ends with")
        return self

    @property
    def multiturn(self) -> bool:
        """Whether there are later turns."""
        return len(self.turns) > 1


_CAME_LATER = ("messages", "asked", "tools", "response_format", "sampling")


class Suite(BaseModel):
    """A named, hashed list of prompts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(min_length=1)]
    prompts: tuple[Prompt, ...]
    licence: str | None = None
    source: str | None = None
    selection: str = "all prompts"
    """In words: all of them, or which stratified subset with which seed."""
    warnings: tuple[str, ...] = ()
    """What is worth knowing before a run, each told in `selection` too: rows that are missing; no part of the hash."""
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
        for row in rows:
            if "messages" in row:
                row["messages"] = [without_later_fields(message) for message in row["messages"]]
        text = json.dumps(rows, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def turns(self) -> int:
        """Model calls that one pass over the suite makes."""
        return sum(len(prompt.turns) for prompt in self.prompts)


class PromptRenderer(Protocol):
    """Turns messages into the target's token ids; suites that must hit an exact length need one."""

    def prompt_ids(self, messages: list[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None) -> list[int]:
        """Render messages as a request has them with the target's template, generation prompt added, one BOS at most.

        `tools` are the functions that the template is to show.
        """
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
