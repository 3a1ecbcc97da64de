"""What a drafter is, independent of engines: the `drafters:` entries of a plan and the arms they expand to.

Each backend translates an arm into its own terms, or says why it cannot.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from draftmark.backends.base import BackendError
from draftmark.results.records import Arm
from draftmark.results.records.base import Record


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

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

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


def read_back(arm: Arm, spec_class: type[DrafterSpec]) -> DrafterSpec:
    """Read an arm back into the drafter entry it came from; raises `BackendError` where its options are wrong."""
    length = {"draft_length": [arm.draft_length]} if "draft_length" in spec_class.model_fields else {}
    try:
        return spec_class.model_validate({**length, **arm.options})
    except ValidationError as fault:
        told = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors())
        raise BackendError(f"drafter {arm.label!r} cannot be used as asked: {told}") from fault


class NoneSpec(DrafterSpec):
    """The baseline: one token per step."""

    kind: Literal["none"] = "none"


class BatchRange(Record):
    """One entry of a schedule: the D of steps that so many requests share."""

    first: PositiveInt
    """Smallest batch."""
    last: PositiveInt
    """Largest batch."""
    draft_length: Annotated[int, Field(ge=0, le=LONGEST_DRAFT)]


class _Drafting(DrafterSpec):
    draft_length: DraftLengths
    draft_length_by_batch: list[BatchRange] | None = None
    """A schedule of D by batch size, for engines that have one; D itself is then the most it may reach."""

    def draft_lengths(self) -> list[int]:
        return list(self.draft_length)

    def arms(self) -> list[Arm]:
        return [_without_schedule(arm) for arm in super().arms()]

    @model_validator(mode="after")
    def _scheduled(self) -> _Drafting:
        end = 0
        for entry in self.draft_length_by_batch or ():
            if entry.first != end + 1 or entry.last < entry.first:
                raise ValueError(
                    f"draft_length_by_batch: the range {entry.first} to {entry.last} does not go on from {end}; "
                    "list ranges without gaps from batch size 1 on"
                )
            if entry.draft_length > min(self.draft_length):
                raise ValueError(
                    f"draft_length_by_batch asks for {entry.draft_length} tokens, above draft_length "
                    f"{min(self.draft_length)}; raise draft_length to the longest"
                )
            end = entry.last
        return self


def _without_schedule(arm: Arm) -> Arm:
    """Leave the option out where there is no schedule, so that an arm shows only what it uses."""
    if arm.options.get("draft_length_by_batch", ...) is not None:
        return arm
    rest = {name: value for name, value in arm.options.items() if name != "draft_length_by_batch"}
    return arm.model_copy(update={"options": rest})


class NgramSpec(_Drafting):
    """Prompt lookup: copy what followed the most recent earlier occurrence of the last few tokens."""

    kind: Literal["ngram"] = "ngram"
    min_match: PositiveInt = 1
    """Shortest suffix looked up, tokens."""
    max_match: PositiveInt = 3
    """Longest suffix looked up, tokens; tried first."""
    on: Literal["cpu", "gpu"] = "cpu"
    """Where the engine looks it up; `gpu` is vLLM's own variant."""

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
    parallel: bool = False
    """Propose all D tokens in one pass, with a model that was trained for it."""


class _LearnedSpec(_Drafting):
    model: str
    """The head's checkpoint: a folder or a hub name."""


class EagleSpec(_LearnedSpec):
    """EAGLE (1 and 2, as a chain): a head of one layer on the target's last hidden states."""

    kind: Literal["eagle"] = "eagle"


class Eagle3Spec(_LearnedSpec):
    """EAGLE-3: a head of one layer on hidden states of three of the target's layers."""

    kind: Literal["eagle3"] = "eagle3"
    parallel: bool = False
    """Propose all D tokens in one pass, with a head that was trained for it."""


class MedusaSpec(_LearnedSpec):
    """Medusa: one small head per position, all run at once."""

    kind: Literal["medusa"] = "medusa"


class DflashSpec(_LearnedSpec):
    """DFlash: a small model that fills a block of D tokens at once."""

    kind: Literal["dflash"] = "dflash"


class DsparkSpec(_Drafting):
    """DSpark: a block drafter whose tokens condition on each other through a Markov head."""

    kind: Literal["dspark"] = "dspark"
    model: str | None = None
    """The drafter's checkpoint; null where the target's own holds it."""


class MtpSpec(_Drafting):
    """Multi-token prediction: layers that the target's checkpoint brings along."""

    kind: Literal["mtp"] = "mtp"
    model: str | None = None
    """A checkpoint of its own; null for the target's."""


class CustomSpec(_Drafting):
    """A proposer of one's own, as a class that the engine imports."""

    kind: Literal["custom"] = "custom"
    class_path: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    """Dotted path of the class, importable where the engine runs."""


class SyntheticSpec(_Drafting):
    """Fixed acceptance: drafts are made at their true cost and accepted at a rate that the plan sets.

    The texts are nonsense; what it measures is the engine's speed at an acceptance, apart from any drafter's quality.
    """

    kind: Literal["synthetic"] = "synthetic"
    over: dict[str, Any]
    """The drafter whose cost is paid: an entry of `drafters:` without `draft_length`."""
    acceptance_length: Annotated[float, Field(ge=1)] | None = None
    """Mean tokens per step, 1 to D + 1."""
    acceptance_rates: list[Annotated[float, Field(ge=0, le=1)]] | None = None
    """For each position, the share of drafts accepted up to it: D numbers that do not rise."""

    @model_validator(mode="after")
    def _one_target(self) -> SyntheticSpec:
        rates, length = self.acceptance_rates, self.acceptance_length
        if (rates is None) == (length is None):
            raise ValueError("give either acceptance_length or acceptance_rates")
        for draft_length in self.draft_length:
            if length is not None and length > draft_length + 1:
                raise ValueError(f"acceptance_length {length:g} is above D + 1 = {draft_length + 1}")
            if rates is not None and len(rates) != draft_length:
                raise ValueError(f"acceptance_rates has {len(rates)} numbers for a draft_length of {draft_length}")
        if rates is not None and any(later > earlier for earlier, later in pairwise(rates)):
            raise ValueError("acceptance_rates must not rise: a draft is accepted up to a position or less far")
        if not isinstance(self.over.get("kind"), str) or self.over["kind"] in {"none", "synthetic"}:
            raise ValueError("over must be the entry of a drafter, such as {kind: draft-model, model: NAME}")
        return self


class AsServedSpec(DrafterSpec):
    """Whatever a server that is running already drafts with, which Draftmark cannot set."""

    kind: Literal["as-served"] = "as-served"
    draft_length: Annotated[int, Field(ge=0, le=LONGEST_DRAFT)] = 0
    """The D it was started with; 0 where it does not speculate or nothing is known. Held against what it tells."""

    def draft_lengths(self) -> list[int]:
        """Return the one D."""
        return [self.draft_length]
