"""What a drafter is, independent of engines: the `drafters:` entries of a plan and the arms they expand to.

Each backend translates an arm into its own terms, or says why it cannot.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from draftmark.results.records import Arm


def as_list(value: object) -> object:
    """Let one value stand for a list of one, in a field of a plan that takes either."""
    return value if isinstance(value, list) else [value]


LONGEST_DRAFT = 1024
"""Far above any D that pays; a bound, since metrics are kept for every position of a draft."""

DraftLengths = Annotated[
    list[Annotated[int, Field(ge=1, le=LONGEST_DRAFT)]], BeforeValidator(as_list), Field(min_length=1)
]
"""One D or a list of them; each makes an arm of its own."""


class DrafterSpec(BaseModel):
    """A `drafters:` entry. Its fields besides `kind`, `draft_length` and `optional` become the arm's options."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    kind: str
    optional: bool = False
    """Leave the arm out with a sentence where this machine cannot run it, instead of refusing the plan."""

    def draft_lengths(self) -> list[int]:
        """Return every D this entry asks for; [0] where the drafter has none."""
        return [0]

    def arms(self) -> list[Arm]:
        """Return one arm per draft length."""
        options: dict[str, Any] = self.model_dump(mode="json", exclude={"kind", "draft_length", "optional"})
        return [Arm(drafter=self.kind, draft_length=length, options=options) for length in self.draft_lengths()]


class NoneSpec(DrafterSpec):
    """The baseline: one token per step."""

    kind: Literal["none"] = "none"


class _Drafting(DrafterSpec):
    draft_length: DraftLengths

    def draft_lengths(self) -> list[int]:
        return list(self.draft_length)


class NgramSpec(_Drafting):
    """Prompt lookup: copy what followed the most recent earlier occurrence of the last few tokens."""

    kind: Literal["ngram"] = "ngram"
    min_match: PositiveInt = 1
    """Shortest suffix looked up, tokens."""
    max_match: PositiveInt = 3
    """Longest suffix looked up, tokens; tried first."""

    @model_validator(mode="after")
    def _ordered(self) -> NgramSpec:
        if self.min_match > self.max_match:
            raise ValueError(f"min_match {self.min_match} is above max_match {self.max_match}; swap them")
        return self


class SuffixSpec(_Drafting):
    """Suffix trees over prompt and answer (arctic-inference): follow the likeliest continuation of a long match."""

    kind: Literal["suffix"] = "suffix"
    max_depth: PositiveInt = 64
    """Depth of the trees, tokens."""
    max_spec_factor: Annotated[float, Field(gt=0)] = 1.0
    """Drafts are at most this times the matched length."""
    min_token_probability: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Drafts stop where the tree's estimate falls below this."""
    cached_requests: NonNegativeInt = 0
    """Answers kept in a tree shared by all turns; 0 turns that off, since it lets one turn speed up the next."""


class DraftModelSpec(_Drafting):
    """A small language model of the target's vocabulary, run D times per step."""

    kind: Literal["draft-model"] = "draft-model"
    model: str
    """As `target`: an alias, a hub name, a folder or a GGUF file."""
    drop_layers: list[NonNegativeInt] = Field(default_factory=list)
    """Decoder layers of that model to leave out, by index."""
