"""Tokens per second of a whole cell, and how steady that is over repeats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.stamps import span
from draftmark.results.statistics import coefficient_of_variation

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Floats, Mask
    from draftmark.results.metrics.evidence import Evidence

STEADY_SHARE = 0.95
"""Share of the concurrency that must be in flight for a moment to count as steady."""
FEWEST_REPEATS = 3
"""Below this many repeats a spread is called rough."""

_NO_TOKENS = "no turn has a token count with stamps of being sent and of its last token"


def busy_seconds(cell: CellColumns, counted: Mask) -> Floats:
    """Return per turn its share of the union of [sent, last] of the counted turns; they add up to the union.

    Turns of different sessions are on different clocks and never overlap.
    """
    shares = np.zeros(len(cell))
    for session in np.unique(cell.session[counted]):
        turns = np.flatnonzero(counted & (cell.session == session))
        turns = turns[np.lexsort((cell.last_s[turns], cell.sent_s[turns]))]
        sent, last = cell.sent_s[turns], cell.last_s[turns]
        covered = np.concatenate([[-np.inf], np.maximum.accumulate(last)[:-1]])
        shares[turns] = np.maximum(last - np.maximum(sent, covered), 0.0)
    return shares


def _whole_run(evidence: Evidence) -> Outcome:
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    cell = evidence.cell
    timed, _ = span(cell, "sent_s", "last_s")
    counted = timed & (cell.tokens > 0)
    return evidence.pooled(
        np.where(counted, cell.tokens, 0).astype(np.float64),
        busy_seconds(cell, counted),
        source="timed",
        n=int(counted.sum()),
        notes=() if counted.sum() == evidence.turns_ok else (f"{int(counted.sum())} of {evidence.turns_ok} turns",),
        nothing=_NO_TOKENS,
    )


def _steady(evidence: Evidence) -> Outcome:
    """Tokens of chunks received while at least 95% of the concurrency was in flight, over the length of those times."""
    cell = evidence.cell
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    if len(cell.chunk_s) == 0 or bool((cell.chunk_tokens < 0).any()):
        return missing("above one request in flight, the tokens and stamps of every chunk are needed, and are unknown")
    needed = math.ceil(STEADY_SHARE * evidence.concurrency)
    end = np.where(np.isnan(cell.done_s), cell.last_s, cell.done_s)
    tokens = seconds = 0.0
    for session in np.unique(cell.session):
        flown = (cell.session == session) & (end > cell.sent_s)
        stamps = np.concatenate([cell.sent_s[flown], end[flown]])
        order = np.argsort(stamps, kind="stable")
        stamps = stamps[order]
        in_flight = np.cumsum(np.repeat([1, -1], len(stamps) // 2)[order])
        steady = in_flight[:-1] >= needed
        seconds += float(np.diff(stamps)[steady].sum())
        tokens += sum(_tokens_within(block, session, stamps, steady) for block in cell.blocks())
    if seconds == 0:
        return missing(f"{needed} requests were never in flight at once, as concurrency {evidence.concurrency} wants")
    return Outcome(tokens / seconds, evidence.turns_ok, "timed", notes=("steady window; no interval",))


def _tokens_within(cell: CellColumns, session: int, stamps: Floats, steady: Mask) -> float:
    """Return the tokens of a session's chunks in the steady ones of the spans between stamps."""
    chunks = np.repeat(cell.session == session, cell.chunk_count)
    # A chunk's tokens were made before its stamp, so that it belongs to the time that ends there.
    place = np.searchsorted(stamps, cell.chunk_s[chunks], side="left") - 1
    inside = (place >= 0) & (place < len(steady))
    return float(cell.chunk_tokens[chunks][inside][steady[place[inside]]].sum())


@declare(
    "output_tps",
    unit="tokens/s",
    better="higher",
    needs=("stamps",),
    about="Output tokens per second while the engine was busy with this arm.",
)
def output_tps(evidence: Evidence) -> Outcome:
    """Concurrency 1: sum of T / length of the union of [sent, last token]. n counts turns.

    Above: tokens delivered while at least 95% of the concurrency was in flight / the length of those times.
    """
    return _whole_run(evidence) if evidence.concurrency == 1 else _steady(evidence)


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
    found = _whole_run(evidence) if evidence.concurrency == 1 else _steady(evidence)
    if found.value is None:
        return found
    low, high = (None if bound is None else bound / evidence.gpus for bound in (found.low, found.high))
    return Outcome(found.value / evidence.gpus, found.n, found.source, low, high, found.notes)


@declare(
    "goodput",
    unit="turns/s",
    better="higher",
    needs=("stamps", "schedule"),
    about="Turns per second that met every objective.",
)
def goodput(evidence: Evidence) -> Outcome:
    """Turns that met every objective / the time in which they ran; null without objectives."""
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    return missing("no objectives (greatest ttft, tpot or e2e) were set")


@declare("output_tokens", unit="count", better=None, needs=(), about="Tokens of all successful answers.")
def output_tokens(evidence: Evidence) -> Outcome:
    """Sum of T by the engine's count; n counts the turns that have one."""
    cell = evidence.cell
    known = cell.ok & (cell.tokens >= 0)
    if not known.any():
        return missing(evidence.no_turns() if evidence.turns_ok == 0 else "the answers' token counts are unknown")
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
    notes = ("texts are sampled, and each repeat has its own seed",) if evidence.temperature > 0 else ()
    return Outcome(float(different[sizes > 1].max()), repeated, "engine", notes=notes)


def _one_repeat(evidence: Evidence) -> str:
    return evidence.no_turns() if evidence.turns_ok == 0 else "no prompt was answered more than once"


THROUGHPUT: tuple[Metric, ...] = (
    output_tps,
    output_tps_whole_run,
    output_tps_per_gpu,
    goodput,
    output_tokens,
    output_tps_repeat_cv,
    distinct_outputs,
)
