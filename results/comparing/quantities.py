"""Metrics that are a ratio of sums over turns, taken apart into what each turn adds, so that turns can be paired.

`speedup` is a ratio of two such ratios, of the arm without speculation and of the arm in question. Every other declared
metric (percentiles, windows under load) has no such parts and is compared by whole rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from draftmark.results.metrics.overhead import stepped
from draftmark.results.metrics.stamps import span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from draftmark.results.columns import CellColumns, Floats, Ints, Keys, Mask
    from draftmark.results.metrics.evidence import Evidence

Parts: TypeAlias = "tuple[Floats, Floats, Mask]"
"""Per turn: what it adds to numerator and denominator, and whether it counts."""


@dataclass(frozen=True)
class Quantity:
    """A metric as sum(numerator) / sum(denominator) over turns."""

    parts: Callable[[Evidence], Parts]
    varies: Literal["with time", "with draws"] = "with time"
    """Whether what differs between equal runs is the clock's, common to many turns at once, or each turn's own."""


def _acceptance_length(evidence: Evidence) -> Parts:
    return evidence.delivered, evidence.steps, evidence.counted.has_steps & (evidence.steps > 0)


def _acceptance_rate(evidence: Evidence) -> Parts:
    drafts = evidence.counted.per_turn(evidence.useful_drafts)
    return evidence.counted.per_turn(evidence.useful), drafts, evidence.counted.has_steps


def _tpot(evidence: Evidence) -> Parts:
    found = evidence.decoding
    return found.seconds, found.tokens, found.valid


def _tps_per_user(evidence: Evidence) -> Parts:
    found = evidence.decoding
    return found.tokens, found.seconds, found.valid


def _mean_span(start: str, end: str) -> Callable[[Evidence], Parts]:
    def parts(evidence: Evidence) -> Parts:
        valid, seconds = span(evidence.cell, start, end)
        return seconds, valid.astype(np.float64), valid

    return parts


def _step_time(evidence: Evidence) -> Parts:
    return evidence.decoding.seconds, evidence.steps, stepped(evidence.counted, evidence.decoding)


def _output_tps(evidence: Evidence) -> Parts:
    valid, seconds = span(evidence.cell, "sent_s", "last_s")
    valid &= evidence.cell.tokens > 0
    return evidence.cell.tokens.astype(np.float64), seconds, valid


QUANTITIES: dict[str, Quantity] = {
    "acceptance_length": Quantity(_acceptance_length, "with draws"),
    "acceptance_rate": Quantity(_acceptance_rate, "with draws"),
    "tpot": Quantity(_tpot),
    "tps_per_user": Quantity(_tps_per_user),
    "ttft": Quantity(_mean_span("sent_s", "first_s")),
    "e2e": Quantity(_mean_span("sent_s", "last_s")),
    "step_time": Quantity(_step_time),
    "output_tps": Quantity(_output_tps),
}
"""By metric; `output_tps` only while one request is in flight, since above that turns share the time."""
ALONE = frozenset({"output_tps"})


@dataclass(frozen=True, eq=False)
class Measured:
    """One quantity over the turns of one side that count, an entry per turn."""

    question: Sequence[str]
    stratum: Sequence[str]
    turn_index: Ints
    prompt: Keys
    round: Keys
    """Code of the time that the prompt was asked, over all runs of the side."""
    launch: Keys
    """Code of the engine's start, over all runs of the side."""
    sums: Floats
    """Shape (2, turns): numerator and denominator."""


def measured(evidence: Evidence, parts: Callable[[Evidence], Parts], *, run: int, by_launch: bool) -> Measured:
    """Return what the turns of one cell add to a quantity.

    Args:
        evidence: The cell.
        parts: The quantity's.
        run: Place of the run among those of its side.
        by_launch: Take each launch for a round, as an open loop's conversations come in no rounds.
    """
    cell = evidence.cell
    numerator, denominator, valid = parts(evidence)
    kept = np.flatnonzero(valid & cell.ok)
    rounds = cell.launch if by_launch else cell.repeat
    names = cell.categories if cell.stratum is cell.category else cell.details
    return Measured(
        question=[cell.questions[code] for code in cell.question[kept].tolist()],
        stratum=[names[code] for code in cell.stratum[kept].tolist()],
        turn_index=cell.turn_index[kept],
        prompt=cell.prompt_key[kept],
        round=_of_run(rounds[kept], run),
        launch=_of_run(cell.launch[kept], run),
        sums=np.stack([numerator[kept], denominator[kept]]).astype(np.float64),
    )


def _of_run(codes: Ints, run: int) -> Keys:
    return codes.astype(np.int64) + run * 2**32


def together(found: Sequence[Measured]) -> Measured:
    """Return the turns of several equal runs as one side: the rounds of one follow those of the other."""
    if len(found) == 1:
        return found[0]
    return Measured(
        question=[name for one in found for name in one.question],
        stratum=[name for one in found for name in one.stratum],
        turn_index=np.concatenate([one.turn_index for one in found]),
        prompt=np.concatenate([one.prompt for one in found]),
        round=np.concatenate([one.round for one in found]),
        launch=np.concatenate([one.launch for one in found]),
        sums=np.concatenate([one.sums for one in found], axis=1),
    )


def rounds_of(cell: CellColumns, *, by_launch: bool) -> list[tuple[int, Mask]]:
    """Return each round of a cell with the turns in it."""
    codes = cell.launch if by_launch else cell.repeat
    return [(int(code), codes == code) for code in np.unique(codes)]
