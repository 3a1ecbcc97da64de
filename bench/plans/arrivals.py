"""When conversations begin in an open loop, and which: a pure function of plan and suite, the same for every arm.

The first one begins at 0. Each launch follows the same schedule, so that launches differ in the engine alone, and a
Poisson load draws the same for every rate: twice the rate is the same arrivals at half the gaps.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import count, islice, takewhile
from typing import TYPE_CHECKING

from draftmark.results.records.loads import ConstantLoad, PoissonLoad, RampLoad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.records.loads import OpenLoad
    from draftmark.suites.prompt import Prompt, Suite

MOST_ARRIVALS = 1_000_000
"""Conversations that one launch may begin; a plan that asks for more is refused."""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One arrival of a trace, in seconds after its first one, with the conversation it begins where the trace says."""

    at_s: float
    question_id: str | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """One conversation of a launch."""

    at_s: float
    """Seconds after the schedule's start."""
    prompt: Prompt
    turn_round: int
    """How many times this launch began that conversation before."""


def arrivals(load: OpenLoad, suite: Suite, trace: Sequence[TraceRow], repeats: int) -> tuple[Arrival, ...]:
    """Return the conversations of one launch in the order in which they begin.

    Without `count`, `duration_s` or a trace, that is every conversation `repeats` times. They come in the suite's
    order, again from its beginning where more are wanted; a row of the trace that names one begins that one. More than
    `MOST_ARRIVALS` are cut off one beyond, for the caller to refuse. Raises `KeyError` for a name the suite lacks.
    """
    by_id = {prompt.question_id: prompt for prompt in suite.prompts}
    rows = iter(trace) if trace else (TraceRow(at_s, None) for at_s in times(load))
    if load.duration_s is not None:
        rows = takewhile(lambda row: row.at_s < load.duration_s, rows)  # type: ignore[operator]
    most = load.count
    if most is None and load.duration_s is None and not trace:
        most = repeats * len(suite.prompts)
    begun: dict[str, int] = {}
    place = 0
    found = []
    for row in islice(rows, MOST_ARRIVALS + 1 if most is None else min(most, MOST_ARRIVALS + 1)):
        if row.question_id is None:
            prompt = suite.prompts[place % len(suite.prompts)]
            place += 1
        else:
            prompt = by_id[row.question_id]
        before = begun.get(prompt.question_id, 0)
        begun[prompt.question_id] = before + 1
        found.append(Arrival(row.at_s, prompt, before))
    return tuple(found)


def times(load: OpenLoad) -> Iterator[float]:
    """Yield without end when conversations begin under a load that follows a rate, seconds, ascending from 0."""
    if isinstance(load, PoissonLoad):
        yield from _poisson(load.rate, load.seed)
    elif isinstance(load, ConstantLoad):
        yield from (number / load.rate for number in count())
    elif isinstance(load, RampLoad):
        yield from (_on_ramp(number, load) for number in count())
    else:
        raise TypeError(f"a load of kind {getattr(load, 'kind', '?')} follows no rate")


def _poisson(rate: float, seed: int) -> Iterator[float]:
    """Yield sums of exponential gaps, by inversion: of all its draws, Python keeps those of `random()` for ever."""
    draw = random.Random(seed).random  # noqa: S311 - a schedule, no secret
    unit_s = 0.0
    while True:
        yield unit_s / rate
        unit_s -= math.log1p(-draw())


def _on_ramp(number: int, load: RampLoad) -> float:
    """Return when the integral of the rate reaches `number`."""
    if number == 0:
        return 0.0
    whole = (load.from_rate + load.to_rate) / 2 * load.over_s
    if number >= whole:
        return load.over_s + (number - whole) / load.to_rate
    growth = (load.to_rate - load.from_rate) / load.over_s
    # The smaller root of growth / 2 t^2 + from t = number, in the form that loses no digits.
    return 2 * number / (load.from_rate + math.sqrt(max(load.from_rate**2 + 2 * growth * number, 0.0)))
