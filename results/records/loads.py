"""How requests arrive, and what they are to meet: the part of a cell's key that a load is, and a plan's objectives.

A closed loop waits for answers: each conversation sends its next turn when it has one. An open loop waits for nothing:
conversations begin when their schedule says, however slow the engine is, and only the later turns of a conversation
wait for its own answers.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt, model_validator

from draftmark.results.records.base import Record

Rate = Annotated[FiniteFloat, Field(gt=0, le=100_000)]
"""Conversations that begin per second."""
Span = Annotated[FiniteFloat, Field(gt=0, le=1_000_000)]
"""Seconds, more than none."""
Pause = Annotated[FiniteFloat, Field(ge=0, le=1_000_000)]
"""Seconds, or none."""

UNCAPPED = 4096
"""Turns in flight that engines and clients make ready for where an open loop sets no cap; as many as backends take."""
MOST_TO_WARM_UP = 64
"""Warm-up turns that an open loop sends at once, at most."""


class ClosedLoad(Record):
    """A fixed number of turns in flight."""

    kind: Literal["closed"] = "closed"
    concurrency: PositiveInt = 1
    """Turns in flight at once."""

    @property
    def at_once(self) -> int:
        """Most turns in flight that an engine has to expect."""
        return self.concurrency

    @property
    def warm_up_at_once(self) -> int:
        """Warm-up turns sent at once: a batch as large as the measured ones."""
        return self.concurrency

    @property
    def label(self) -> str:
        """The load in words, unique within a plan."""
        return f"concurrency {self.concurrency}"


class OpenLoad(Record):
    """What all open loops have in common."""

    count: PositiveInt | None = None
    """Conversations that begin in one launch."""
    duration_s: Span | None = None
    """Seconds in which conversations begin, in one launch. Null like `count`: every conversation `repeats` times."""
    max_in_flight: PositiveInt | None = None
    """Most turns in flight; one that is due beyond it is held back. Null: any number."""
    think_s: Pause = 0.0
    """Seconds from an answer to when the next turn of its conversation is due."""
    warm_up_s: Pause = 0.0
    """Seconds from the first arrival whose conversations are left out of all numbers."""
    cool_down_s: Pause = 0.0
    """Seconds up to the last arrival whose conversations are left out of all numbers."""

    @property
    def at_once(self) -> int:
        """Most turns in flight that an engine has to expect."""
        return UNCAPPED if self.max_in_flight is None else self.max_in_flight

    @property
    def warm_up_at_once(self) -> int:
        """Warm-up turns sent at once: what arrives in a second, since how many will be in flight is not known."""
        return max(1, min(math.ceil(self.peak_rate), self.at_once, MOST_TO_WARM_UP))

    @property
    def peak_rate(self) -> float:
        """Most conversations that begin per second."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """The load in words, unique within a plan."""
        raise NotImplementedError


class PoissonLoad(OpenLoad):
    """Independent arrivals: exponential gaps."""

    kind: Literal["poisson"] = "poisson"
    rate: Rate
    seed: NonNegativeInt = 0

    @property
    def peak_rate(self) -> float:
        """Most conversations that begin per second, in the mean."""
        return self.rate

    @property
    def label(self) -> str:
        """The load in words."""
        return f"poisson {self.rate:g}/s"


class ConstantLoad(OpenLoad):
    """Equal gaps."""

    kind: Literal["constant"] = "constant"
    rate: Rate

    @property
    def peak_rate(self) -> float:
        """Conversations that begin per second."""
        return self.rate

    @property
    def label(self) -> str:
        """The load in words."""
        return f"constant {self.rate:g}/s"


class RampLoad(OpenLoad):
    """A rate that grows or falls evenly and then stays."""

    kind: Literal["ramp"] = "ramp"
    from_rate: Pause
    to_rate: Rate
    over_s: Span

    @property
    def peak_rate(self) -> float:
        """Most conversations that begin per second."""
        return max(self.from_rate, self.to_rate)

    @property
    def label(self) -> str:
        """The load in words."""
        return f"ramp {self.from_rate:g} to {self.to_rate:g}/s over {self.over_s:g} s"


class TraceLoad(OpenLoad):
    """Arrivals as they were recorded."""

    kind: Literal["trace"] = "trace"
    path: str
    hash: str
    """sha256 of the file."""
    rows: PositiveInt
    span_s: Pause
    """Seconds from its first arrival to its last."""

    @property
    def peak_rate(self) -> float:
        """Conversations that begin per second, in the mean."""
        return self.rows / self.span_s if self.span_s else float(self.rows)

    @property
    def label(self) -> str:
        """The load in words."""
        return f"trace {self.path}"


Load: TypeAlias = Annotated[ClosedLoad | PoissonLoad | ConstantLoad | RampLoad | TraceLoad, Field(discriminator="kind")]


class Objectives(Record):
    """Times that a turn must not exceed, and how many of the turns have to keep to them."""

    ttft: Span | None = None
    """Seconds to the first token."""
    tpot: Span | None = None
    """Seconds per token after the first."""
    e2e: Span | None = None
    """Seconds for the whole answer."""
    percentile: Annotated[FiniteFloat, Field(gt=0, le=100)] = 99.0
    """Percent of the turns that have to meet every objective."""

    @model_validator(mode="after")
    def _some_limit(self) -> Objectives:
        if not self.limits:
            raise ValueError("sets no objective; give at least one of ttft, tpot and e2e, in seconds")
        return self

    @property
    def limits(self) -> dict[str, float]:
        """Those that are set, by name, seconds."""
        named = {"ttft": self.ttft, "tpot": self.tpot, "e2e": self.e2e}
        return {name: limit for name, limit in named.items() if limit is not None}
