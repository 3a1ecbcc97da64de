"""What one number describes: the engine, the target, the arm, the prompts, the load and how tokens are chosen."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FiniteFloat, NonNegativeInt

from draftmark.results.records.base import Identifier, Record
from draftmark.results.records.loads import ClosedLoad, Load


def _sane_temperature(value: float) -> float:
    if 0 < value < 0.001:
        raise ValueError(f"temperature {value:g} is too close to 0 to sample with; 0 is greedy")
    return value


MOST_TOKENS = 2**31 - 1
"""What engines count tokens with holds no more."""


class Sampling(Record):
    """How tokens are chosen and when a turn ends."""

    temperature: Annotated[FiniteFloat, Field(ge=0, le=100), AfterValidator(_sane_temperature)] = 0.0
    """0 is greedy; else from 0.001 to 100, since smaller ones vanish or overflow in single precision."""
    top_p: Annotated[FiniteFloat, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=0, le=MOST_TOKENS)] = 0
    """0 keeps every token."""
    max_tokens: Annotated[int, Field(gt=0, le=MOST_TOKENS)] = 64
    """Most tokens of one turn, the one from prefill included."""
    seed: NonNegativeInt = 0
    """Root seed; each turn derives its own from it."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """A turn ends with the token that completes one of these."""
    ignore_eos: bool = False


class Arm(Record):
    """One drafter with one draft length and its options: what differs between the cells of a comparison group."""

    drafter: Identifier
    """Kind of drafter: none, ngram, suffix, draft-model, ..."""
    draft_length: NonNegativeInt
    """D, the configured most tokens one step may draft; 0 for `none`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The drafter's other settings as plain JSON values, defaults filled in."""
    control: bool = False
    """True for the second run of the baseline, which shows what differs without any speculation."""

    @property
    def label(self) -> str:
        """Short human name, unique within most plans: `none`, `none (control)`, `ngram D=3`."""
        if self.control:
            return f"{self.drafter} (control)"
        return self.drafter if self.draft_length == 0 else f"{self.drafter} D={self.draft_length}"


class CellKey(Record):
    """What one number describes. Cells that are equal in all but `arm` form a comparison group."""

    backend: Identifier
    """Kind of engine: reference, vllm, ..."""
    engine: dict[str, Any] = Field(default_factory=dict)
    """The engine's settings as the plan gave them, defaults filled in: device, dtype, threads, ..."""
    target: Identifier
    arm: Arm
    suite: Identifier
    suite_hash: Identifier
    load: Load = ClosedLoad()
    """How requests arrive."""
    sampling: Sampling = Sampling()
    request_sampling: Literal["recorded"] | None = None
    """`recorded`: a recorded request is sampled as it was, where it says so, and not by `sampling`."""

    def as_data(self) -> dict[str, Any]:
        """Return the key as plain JSON values, without fields that came later where they are null."""
        data = self.model_dump(mode="json")
        return {name: value for name, value in data.items() if name != "request_sampling" or value is not None}
