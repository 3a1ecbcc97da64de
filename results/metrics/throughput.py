"""Tokens per second of a whole cell, and how steady that is over repeats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.achieved import NO_TIMES
from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.flight import delivered_within, seconds_of, steady_times
from draftmark.results.metrics.stamps import span, union_seconds
from draftmark.results.statistics import coefficient_of_variation

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.summary import Source

STEADY_SHARE = 0.95
"""Share of the concurrency that must be in flight for a moment to count as steady."""
MOST_SHARED_OUT = 0.05
"""Share of the tokens that may lie on the other side of the window's ends before it is said."""
FEWEST_REPEATS = 3
"""Below this many repeats a spread is called rough."""

_UNKNOWN_CHUNKS = (
    "above one request in flight, the stamps of every chunk and the tokens of every answer are needed, and are unknown"
)
_OTHERS = "several categories were in flight at once and share the engine; see the cell over all turns"
_NO_TOKENS = "no turn has a token count with stamps of being sent and of its last token"


def _whole_run(evidence: Evidence) -> Outcome:
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    cell = evidence.cell
    timed, _ = span(cell, "sent_s", "last_s")
    counted = timed & (cell.tokens > 0)
    return evidence.pooled(
        np.where(counted, cell.tokens, 0).astype(np.float64),
        union_seconds(cell, counted, cell.last_s),
        source="timed",
        n=int(counted.sum()),
        notes=() if counted.sum() == evidence.turns_ok else (f"{int(counted.sum())} of {evidence.turns_ok} turns",),
        nothing=evidence.uncounted(_NO_TOKENS),
    )


def _in_window(evidence: Evidence) -> Outcome:
    """Tokens that arrived while the load was as it should be, over the length of those times."""
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    if evidence.part:
        return missing(_OTHERS)
    cell = evidence.served
    needed = needed_in_flight(evidence.concurrency)
    scheduled = evidence.measured_times
    times = steady_times(cell, needed) if scheduled is None else scheduled
    found, seconds = delivered_within(cell, times), seconds_of(times)
    if found.unknown or len(cell.chunk_s) == 0:
        return missing(evidence.uncounted(_UNKNOWN_CHUNKS))
    if seconds == 0:
        never = f"{needed} requests were never in flight at once, as concurrency {evidence.concurrency} wants"
        return missing(never if scheduled is None else NO_TIMES)
    notes = ["steady window; no interval" if scheduled is None else "between warm-up and cool-down; no interval"]
    spread = found.shared_out > MOST_SHARED_OUT * found.tokens
    if spread:
        notes.append(
            f"{found.shared_out / found.tokens:.1%} of the tokens may lie on the other side of the window's ends: they "
            "are shared out by time and chunks"
        )
    source: Source = "inferred" if spread else "timed"
    return Outcome(found.tokens / seconds, evidence.turns_ok, source, notes=tuple(notes))


def needed_in_flight(concurrency: int) -> int:
    """Return how many requests in flight make a moment steady."""
    return math.ceil(STEADY_SHARE * concurrency)


def _headline(evidence: Evidence) -> Outcome:
    return _in_window(evidence) if evidence.shares_steps else _whole_run(evidence)


@declare(
    "output_tps",
    unit="tokens/s",
    better="higher",
    needs=("stamps",),
    about="Output tokens per second while the engine was busy with this arm.",
)
def output_tps(evidence: Evidence) -> Outcome:
    """Concurrency 1: sum of T / length of the union of [sent, last token]. n counts turns.

    Above: tokens delivered while at least 95% of the concurrency was in flight / the length of those times. Open loop:
    tokens delivered between warm-up and cool-down, from the first arrival to the last / that time. A chunk's tokens
    were made between the chunk before it (or sending) and its own stamp: where that crosses an end of these times, the
    share of it that lies within counts; chunks of unknown size hold as many tokens each. If more than 5% of the tokens
    may lie on the other side of an end, the number is called inferred.
    """
    return _headline(evidence)


@declare(
    "output_tps_whole_run",
    unit="tokens/s",
    better="higher",
    needs=("stamps",),
    about="Output tokens per second with the ramps at both ends of the run; equals output_tps at concurrency 1.",
)
def output_tps_whole_run(evidence: Evidence) -> Outcome:
    """Sum of T / length of the union of [sent, last token], at any concurrency. n counts turns."""
    return _whole_run(evidence)


@declare(
    "output_tps_per_gpu",
    unit="tokens/s",
    better="higher",
    needs=("stamps",),
    about="Output tokens per second for each GPU the engine used.",
)
def output_tps_per_gpu(evidence: Evidence) -> Outcome:
    """output_tps / GPUs (tensor x pipeline x data parallel); null where the number is unknown or there is none."""
    if evidence.gpus is None:
        return missing("how many GPUs the engine used is not recorded")
    if evidence.gpus == 0:
        return missing("the engine ran on no GPU")
    found = _headline(evidence)
    if found.value is None:
        return found
    low, high = (None if bound is None else bound / evidence.gpus for bound in (found.low, found.high))
    return Outcome(found.value / evidence.gpus, found.n, found.source, low, high, found.notes)


@declare("output_tokens", unit="count", better=None, needs=(), about="Tokens of all successful answers.")
def output_tokens(evidence: Evidence) -> Outcome:
    """Sum of T by the engine's count; n counts the turns that have one."""
    cell = evidence.cell
    known = cell.ok & (cell.tokens >= 0)
    if not known.any():
        reason = evidence.uncounted("the answers' token counts are unknown")
        return missing(evidence.no_turns() if evidence.turns_ok == 0 else reason)
    return Outcome(float(cell.tokens[known].sum()), int(known.sum()), "engine")


@declare(
    "output_tps_repeat_cv",
    unit="1",
    better="lower",
    needs=("stamps", "repeats"),
    about="How much the speed of decoding varies from repeat to repeat of the same prompts.",
)
def output_tps_repeat_cv(evidence: Evidence) -> Outcome:
    """Standard deviation (n - 1) / mean over repeats of the repeat's decoded tokens per second. n counts repeats.

    Over the turns (question, turn) alone that have a decode time in every repeat, so that all did the same work.
    """
    found, cell = evidence.decoding, evidence.cell
    valid = np.flatnonzero(found.valid)
    repeats = np.unique(cell.repeat[valid])
    if len(repeats) < 2:
        return missing(_one_repeat(evidence))
    asked = np.stack([cell.question[valid], cell.turn_index[valid]])
    _, turn, times = np.unique(asked, axis=1, return_inverse=True, return_counts=True)
    shared = valid[times[turn.reshape(-1)] == len(repeats)]
    if len(shared) == 0:
        return missing("no turn has a decode time in every repeat")
    seconds = np.bincount(cell.repeat[shared], weights=found.seconds[shared])[repeats]
    tokens = np.bincount(cell.repeat[shared], weights=found.tokens[shared])[repeats]
    rough = (f"only {len(repeats)} repeats",) if len(repeats) < FEWEST_REPEATS else ()
    return Outcome(coefficient_of_variation(tokens / seconds), len(repeats), "timed", notes=rough)


@declare(
    "distinct_outputs",
    unit="count",
    better=None,
    needs=("output ids", "repeats"),
    about="Different answers that one prompt got over its repeats, for the prompt that got the most; 1 at best.",
)
def distinct_outputs(evidence: Evidence) -> Outcome:
    """Greatest number of different outputs of turns asked exactly the same. n counts such groups of two or more."""
    cell = evidence.cell
    known = cell.ok & (cell.output_kind > 0)
    asked = np.stack([cell.question[known], cell.turn_index[known], cell.prompt_key[known]])
    groups, group, sizes = np.unique(asked, axis=1, return_inverse=True, return_counts=True)
    repeated = int((sizes > 1).sum())
    if repeated == 0:
        return missing(_one_repeat(evidence))
    answers = np.unique(np.stack([group.reshape(-1), cell.output_key[known]]), axis=1)
    different = np.bincount(answers[0], minlength=groups.shape[1])
    notes = ("texts are sampled, and each repeat has its own seed",) if evidence.any_sampled else ()
    return Outcome(float(different[sizes > 1].max()), repeated, "engine", notes=notes)


def _one_repeat(evidence: Evidence) -> str:
    return evidence.no_turns() if evidence.turns_ok == 0 else "no prompt was answered more than once"


THROUGHPUT: tuple[Metric, ...] = (
    output_tps,
    output_tps_whole_run,
    output_tps_per_gpu,
    output_tokens,
    output_tps_repeat_cv,
    distinct_outputs,
)
