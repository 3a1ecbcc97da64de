"""How long a user waits: to the first token, per token, between chunks, for the whole answer.

Stamps that contradict each other (a last token before the first) and answers too short to have the time in question
give no value; the note says how many of the turns did.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.achieved import NO_SCHEDULE
from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.stamps import span
from draftmark.results.statistics import percentile

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.columns import Floats, Ints, Mask
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.metrics.stamps import Gaps

SHARES = (50, 90, 99)
"""Percentiles given of every distribution."""
ASSUMED = "first_chunk_assumed_1"


def _mean(evidence: Evidence, valid: Mask, seconds: Floats, reason: str, *notes: str) -> Outcome:
    """Mean over turns of a time per turn."""
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    used = int(valid.sum())
    return evidence.pooled(
        np.where(valid, seconds, 0.0),
        valid.astype(np.float64),
        source="timed",
        notes=(*evidence.known_of(used), *notes),
        nothing=reason,
    )


def share_of(share: int, values: Floats, reason: str, weights: Ints | None = None, *notes: str) -> Outcome:
    """Return a percentile of observed times, flagged where there are too few of them; it has no interval."""
    found = percentile(values, share / 100, weights)
    if found is None:
        return missing(reason)
    few = f"{found.n} observations are few for p{share}: it is close to the maximum"
    return Outcome(found.value, found.n, "timed", notes=(*notes, few) if found.flagged else notes)


_NO_FIRST = "no turn has stamps of being sent and of its first token"
_NO_DECODE = "no turn has two tokens with stamps that differ"
_NO_LAST = "no turn has stamps of being sent and of its last token"


def _ttft(evidence: Evidence) -> tuple[Mask, Floats]:
    return span(evidence.cell, "sent_s", "first_s")


def _ttft_from_schedule(evidence: Evidence) -> tuple[Mask, Floats]:
    return span(evidence.cell, "scheduled_s", "first_s")


def _tpot(evidence: Evidence) -> tuple[Mask, Floats]:
    found = evidence.decoding
    return found.valid, np.divide(found.seconds, found.tokens, out=np.zeros(len(found.valid)), where=found.valid)


def _e2e(evidence: Evidence) -> tuple[Mask, Floats]:
    return span(evidence.cell, "sent_s", "last_s")


def _assumed(evidence: Evidence) -> tuple[str, ...]:
    return (ASSUMED,) if evidence.decoding.assumed else ()


@declare(
    "ttft", unit="s", better="lower", needs=("stamps",), about="Time to first token: from sending to the first token."
)
def ttft(evidence: Evidence) -> Outcome:
    """First token - sent; mean over turns."""
    return _mean(evidence, *_ttft(evidence), _NO_FIRST)


@declare(
    "ttft_from_schedule",
    unit="s",
    better="lower",
    needs=("stamps", "schedule"),
    about="Time to first token from when the request was due, waiting included.",
)
def ttft_from_schedule(evidence: Evidence) -> Outcome:
    """First token - scheduled; mean over turns. Null without a schedule."""
    return _mean(evidence, *_ttft_from_schedule(evidence), NO_SCHEDULE)


@declare(
    "tpot",
    unit="s",
    better="lower",
    needs=("stamps", "chunk tokens"),
    about="Time per output token after the first, as a user feels it.",
)
def tpot(evidence: Evidence) -> Outcome:
    """(Last - first) / (T - tokens in the first chunk), mean over turns; null below two chunks.

    Where the first chunk's tokens are unknown it is taken to hold one, and the note says `first_chunk_assumed_1`.
    """
    return _mean_tpot(evidence)


def _mean_tpot(evidence: Evidence) -> Outcome:
    return _mean(evidence, *_tpot(evidence), evidence.uncounted(_NO_DECODE), *_assumed(evidence))


@declare(
    "tps_per_user",
    unit="tokens/s",
    better="higher",
    needs=("stamps", "chunk tokens"),
    about="Tokens per second that one user sees once the answer flows.",
)
def tps_per_user(evidence: Evidence) -> Outcome:
    """1 / tpot."""
    found = _mean_tpot(evidence)
    if found.value is None:
        return found
    low, high = (None if bound is None else 1 / bound for bound in (found.high, found.low))
    return Outcome(1 / found.value, found.n, found.source, low, high, found.notes)


@declare(
    "itl",
    unit="s",
    better="lower",
    needs=("stamps", "chunk tokens"),
    about="Inter-token latency: gaps between chunks, each spread over the tokens of the later chunk.",
)
def itl(evidence: Evidence) -> Outcome:
    """Sum of gaps / sum of the later chunks' tokens; a read of several chunks has no gap within. n counts tokens."""
    found = evidence.gaps
    if reason := _no_itl(evidence, found):
        return missing(reason)
    known = found.tokens > 0
    return evidence.pooled(found.per_turn(found.seconds * known), found.per_turn(found.tokens * known), source="timed")


def _no_itl(evidence: Evidence, found: Gaps) -> str | None:
    if (reason := _no_gap(evidence, found)) is not None:
        return reason
    return None if (found.tokens > 0).any() else "how many tokens each chunk holds is unknown"


def _no_gap(evidence: Evidence, found: Gaps) -> str | None:
    if evidence.turns_ok == 0:
        return evidence.no_turns()
    return None if len(found.seconds) else "no answer arrived in two or more reads"


@declare(
    "chunk_gap",
    unit="s",
    better="lower",
    needs=("stamps",),
    about="Time between pieces of output; a piece may hold several tokens, so this is no time per token.",
)
def chunk_gap(evidence: Evidence) -> Outcome:
    """Sum of gaps / number of gaps between reads. n counts gaps."""
    found = evidence.gaps
    if reason := _no_gap(evidence, found):
        return missing(reason)
    return evidence.pooled(found.per_turn(found.seconds), np.diff(found.offsets).astype(np.float64), source="timed")


@declare(
    "tokens_per_chunk",
    unit="tokens",
    better=None,
    needs=("chunk tokens",),
    about="Output tokens per piece received; engines and clients merge them, so chunks are never steps.",
)
def tokens_per_chunk(evidence: Evidence) -> Outcome:
    """Sum of T / number of chunks, over turns that recorded chunks."""
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    cell = evidence.cell
    known = cell.ok & (cell.chunk_count > 0) & (cell.tokens > 0)
    return evidence.pooled(
        np.where(known, cell.tokens, 0).astype(np.float64),
        np.where(known, cell.chunk_count, 0).astype(np.float64),
        source="timed",
        nothing="no turn recorded its chunks",
    )


@declare("e2e", unit="s", better="lower", needs=("stamps",), about="Time for the whole answer.")
def e2e(evidence: Evidence) -> Outcome:
    """Last token - sent; mean over turns."""
    return _mean(evidence, *_e2e(evidence), _NO_LAST)


def _percentiles(metric: Metric, observe: Callable[[Evidence], tuple[Mask, Floats]], reason: str) -> tuple[Metric, ...]:
    def compute(share: int, evidence: Evidence) -> Outcome:
        if evidence.turns_ok == 0:
            return missing(evidence.no_turns())
        valid, seconds = observe(evidence)
        notes = _assumed(evidence) if metric is tpot else ()
        return share_of(share, seconds[valid], reason, None, *evidence.known_of(int(valid.sum())), *notes)

    return tuple(percentile_of(metric, share, partial(compute, share)) for share in SHARES)


def percentile_of(metric: Metric, share: int, compute: Callable[[Evidence], Outcome]) -> Metric:
    """Declare a percentile of what a metric is the mean of."""
    return Metric(
        f"{metric.name}_p{share}",
        metric.unit,
        metric.better,
        metric.needs,
        f"{share}% of the observations of {metric.name} are no larger.",
        f"The smallest observed value that at least {share}% of the observations do not exceed; flagged when there are "
        f"fewer than 1 / (1 - {share / 100:g}) of them. What is observed: {metric.formula}",
        compute,
    )


def _gap_percentiles() -> tuple[Metric, ...]:
    def of_gaps(share: int, evidence: Evidence) -> Outcome:
        found = evidence.gaps
        return share_of(share, found.seconds, _no_gap(evidence, found) or "")

    def of_tokens(share: int, evidence: Evidence) -> Outcome:
        found = evidence.gaps
        known = found.tokens > 0
        part = slice(None) if known.all() else known  # a copy of a million answers' gaps is worth avoiding
        seconds, tokens = found.seconds[part], found.tokens[part]
        return share_of(share, seconds / tokens, _no_itl(evidence, found) or "", tokens)

    return (
        *(percentile_of(itl, share, partial(of_tokens, share)) for share in SHARES),
        *(percentile_of(chunk_gap, share, partial(of_gaps, share)) for share in SHARES),
    )


TIMING: tuple[Metric, ...] = (
    ttft,
    *_percentiles(ttft, _ttft, _NO_FIRST),
    ttft_from_schedule,
    *_percentiles(ttft_from_schedule, _ttft_from_schedule, NO_SCHEDULE),
    tpot,
    *_percentiles(tpot, _tpot, _NO_DECODE),
    tps_per_user,
    itl,
    chunk_gap,
    *_gap_percentiles(),
    tokens_per_chunk,
    e2e,
    *_percentiles(e2e, _e2e, _NO_LAST),
)
