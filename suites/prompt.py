"""Prompt and Suite: what is asked, in SPEED-Bench's columns, hashed so that two runs can be told apart."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt

from draftmark.results.errors import DraftmarkError


class SuiteError(DraftmarkError):
    """A suite that cannot be read or built as asked; the text names file, line and field (exit 2)."""


class Prompt(BaseModel):
    """One conversation: the user's turns, in order, and where they come from."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    question_id: Annotated[str, Field(min_length=1, max_length=200)]
    category: str | None = None
    """Null is shown as "uncategorised" and counted in the total."""
    sub_category: str | None = None
    turns: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """The user's messages; the model's own answers come between them."""
    system: str | None = None
    """System message; null leaves it to the target's template."""
    source: str | None = None
    src_id: str | None = None
    difficulty: str | None = None
    prompt_tokens: PositiveInt | None = None
    """Exact tokens of the first turn after the chat template, where the prompt was built to that length."""

    @property
    def multiturn(self) -> bool:
        """Whether later turns depend on the model's answers."""
        return len(self.turns) > 1


class Suite(BaseModel):
    """A named, hashed list of prompts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, Field(min_length=1)]
    prompts: tuple[Prompt, ...]
    licence: str | None = None
    source: str | None = None
    selection: str = "all prompts"
    """In words: all of them, or which stratified subset with which seed."""

    @property
    def hash(self) -> str:
        """sha256 over the canonical JSON of the prompts, in order; the same on every machine and Python."""
        rows = [prompt.model_dump(mode="json") for prompt in self.prompts]
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
