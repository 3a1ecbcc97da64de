"""How much faster an arm is than its baseline, measured on the clock and paired; never acceptance by another name.

A pair is one planned turn (question, turn, repeat) that both arms answered. Decode speeds are compared after the first
token: T = last - first and N = tokens after the first chunk, as in `tpot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.overhead import stepped
from draftmark.results.metrics.stamps import decoding, span
from draftmark.results.metrics.step_times import step_times
from draftmark.results.metrics.timing import ASSUMED
from draftmark.results.statistics import ratio, ratio_of_ratios

if TYPE_CHECKING:
    from draftmark.results.columns import Floats, Mask
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.metrics.pairs import Round

_NO_DECODE = "no turn that both answered has two tokens with stamps that differ"
_NO_OUTPUTS = "the outputs are not recorded on both sides"


def _the_baseline(evidence: Evidence, value: float = 1.0) -> Outcome:
    """Return what holds of the baseline itself."""
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    return Outcome(value, n=evidence.turns_ok, source="definition", notes=("this is the baseline",))


def _decoded(evidence: Evidence, against: Round, wanted: Mask | None = None) -> tuple[list[Floats], Mask]:
    """Return T_none, N_none, T_spec and N_spec per pair, 0 where not wanted or not to be had, and which pairs count."""
    base, ours, pairs = decoding(against.cell), evidence.decoding, against.pairs
    both = base.valid[pairs.first] & ours.valid[pairs.second]
    if wanted is not None:
        both &= wanted
    columns = (
        base.seconds[pairs.first],
        base.tokens[pairs.first],
        ours.seconds[pairs.second],
        ours.tokens[pairs.second],
    )
    return [np.where(both, column, 0.0) for column in columns], both


def _notes(evidence: Evidence, against: Round) -> tuple[str, ...]:
    notes = ["different texts"] if evidence.any_sampled else []
    other = int((~against.pairs.same_prompt).sum())
    if other and not evidence.any_sampled:
        notes.append(f"{other} of {len(against.pairs)} pairs were asked different things: an earlier answer differed")
    if evidence.decoding.assumed or decoding(against.cell).assumed:
        notes.append(ASSUMED)
    return tuple(notes)


@declare(
    "speedup",
    unit="1",
    better="higher",
    needs=("stamps", "chunk tokens", "baseline"),
    about="How many times faster tokens come than without speculation, on the clock; below 1 it is slower.",
)
def speedup(evidence: Evidence) -> Outcome:
    """(sum T_none / sum N_none) / (sum T_spec / sum N_spec) over pairs in which both turns succeeded.

    As for all numbers relative to the baseline, the interval spans those against each of its rounds (`none` and its
    control). n counts pairs.
    """
    if evidence.is_baseline:
        return _the_baseline(evidence)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    both = _decoded(evidence, against)[1]
    if not both.any():
        return missing(_NO_DECODE)
    return evidence.compared(
        lambda against: _decoded(evidence, against)[0],
        ratio_of_ratios,
        n=int(both.sum()),
        notes=_notes(evidence, against),
    )


@declare(
    "speedup_identical_output",
    unit="1",
    better="higher",
    needs=("stamps", "chunk tokens", "output ids", "baseline"),
    about="The speed-up over the pairs alone that got the very same answer.",
)
def speedup_identical_output(evidence: Evidence) -> Outcome:
    """As speedup, over pairs that were asked the same and answered the same. n counts pairs."""
    if evidence.is_baseline:
        return _the_baseline(evidence)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    both = _decoded(evidence, against, against.pairs.same_output)[1]
    if not both.any():
        return missing("no pair got the same answer" if against.pairs.comparable.any() else _NO_OUTPUTS)
    return evidence.compared(
        lambda against: _decoded(evidence, against, against.pairs.same_output)[0], ratio_of_ratios, n=int(both.sum())
    )


@declare("speedup_pairs", unit="count", better=None, needs=("baseline",), about="Pairs of turns behind the speed-up.")
def speedup_pairs(evidence: Evidence) -> Outcome:
    """Pairs in which both turns succeeded and have a decode time. n counts the planned pairs that were begun."""
    if evidence.is_baseline:
        return _the_baseline(evidence, float(evidence.decoding.valid.sum()))
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    return Outcome(float(_decoded(evidence, against)[1].sum()), against.pairs.planned, "timed")


@declare(
    "speedup_pairs_left_out",
    unit="count",
    better="lower",
    needs=("baseline",),
    about="Pairs that the speed-up leaves out: one side failed, is missing, or has fewer than two tokens.",
)
def speedup_pairs_left_out(evidence: Evidence) -> Outcome:
    """Planned pairs that were begun, less speedup_pairs."""
    if evidence.is_baseline:
        return _the_baseline(evidence, 0.0)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    counted = int(_decoded(evidence, against)[1].sum())
    return Outcome(float(against.pairs.planned - counted), against.pairs.planned, "timed")


@declare(
    "speedup_pairs_differing",
    unit="count",
    better="lower",
    needs=("output ids", "baseline"),
    about="Pairs behind the speed-up whose answers differ.",
)
def speedup_pairs_differing(evidence: Evidence) -> Outcome:
    """Pairs of speedup_pairs that were asked the same and answered differently; what is unknown differs from nothing.

    n counts the pairs of speedup_pairs that were asked the same and whose answers are known.
    """
    if evidence.is_baseline:
        return _the_baseline(evidence, 0.0)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    known = _decoded(evidence, against)[1] & against.pairs.comparable
    if not known.any():
        return missing("no pair was asked the same with the output recorded on both sides")
    notes = ("different texts",) if evidence.any_sampled else ()
    return Outcome(float((known & against.pairs.differing).sum()), int(known.sum()), "engine", notes=notes)


def _equal_length(evidence: Evidence, against: Round) -> tuple[list[Floats], Mask]:
    """Return the whole times of both sides, baseline first, over pairs of equal token counts, and which those are."""
    first, second = against.pairs.first, against.pairs.second
    base_valid, base_seconds = span(against.cell, "sent_s", "last_s")
    valid, seconds = span(evidence.cell, "sent_s", "last_s")
    tokens = evidence.cell.tokens[second]
    equal = base_valid[first] & valid[second] & (tokens > 0) & (against.cell.tokens[first] == tokens)
    return [np.where(equal, column, 0.0) for column in (base_seconds[first], seconds[second])], equal


@declare(
    "e2e_speedup",
    unit="1",
    better="higher",
    needs=("stamps", "baseline"),
    about="How many times sooner whole answers of equal length arrive, prefill included.",
)
def e2e_speedup(evidence: Evidence) -> Outcome:
    """Sum of (last - sent) of `none` / that of this arm, over pairs of equal T. n counts pairs."""
    if evidence.is_baseline:
        return _the_baseline(evidence)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    equal = _equal_length(evidence, against)[1]
    if not equal.any():
        return missing("no pair of answers has equal length and stamps on both sides")
    left_out = against.pairs.planned - int(equal.sum())
    notes = (
        (f"{left_out} pair{'s' * (left_out > 1)} left out: failed, missing or of unequal length",) if left_out else ()
    )
    if evidence.any_sampled:
        notes = ("different texts", *notes)
    return evidence.compared(
        lambda against: _equal_length(evidence, against)[0], ratio, n=int(equal.sum()), notes=notes
    )


@declare(
    "e2e_speedup_pairs_left_out",
    unit="count",
    better="lower",
    needs=("stamps", "baseline"),
    about="Pairs that e2e_speedup leaves out, mostly since one answer is longer than the other.",
)
def e2e_speedup_pairs_left_out(evidence: Evidence) -> Outcome:
    """Planned pairs that were begun, less those that both succeeded with equal T."""
    if evidence.is_baseline:
        return _the_baseline(evidence, 0.0)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    counted = int(_equal_length(evidence, against)[1].sum())
    return Outcome(float(against.pairs.planned - counted), against.pairs.planned, "timed")


@declare(
    "speedup_from_steps",
    unit="1",
    better="higher",
    needs=("steps", "stamps", "baseline"),
    about="Acceptance length over the cost of a step: where the speed-up comes from.",
)
def speedup_from_steps(evidence: Evidence) -> Outcome:
    """AL / r on the pairs whose steps are known; equals speedup where those are all. n counts this arm's steps."""
    if evidence.is_baseline:
        return _the_baseline(evidence)
    against = evidence.baseline_round
    if reason := evidence.no_steps():
        return missing(reason)
    if isinstance(against, str):
        return missing(against)

    def columns(against: Round) -> list[Floats]:
        first, second, base = against.pairs.first, against.pairs.second, decoding(against.cell)
        both = stepped(evidence.counted, evidence.decoding)[second] & stepped(against.cell, base)[first]
        found = (
            base.seconds[first],
            against.cell.step_count[first],
            evidence.decoding.seconds[second],
            evidence.delivered[second],
            evidence.steps[second],
        )
        return [np.where(both, column, 0.0) for column in found]

    steps = int(columns(against)[4].sum())
    if steps == 0:
        return missing("no pair has known steps and decode times that cover just them")
    return evidence.compared(lambda against: columns(against)[:4], ratio_of_ratios, n=steps)


@declare(
    "speedup_rule_of_thumb",
    unit="1",
    better="higher",
    needs=("steps", "step times", "baseline"),
    about="Acceptance length over one plus the cost of drafting: what the speed-up would be if verifying were free.",
)
def speedup_rule_of_thumb(evidence: Evidence) -> Outcome:
    """AL / (1 + O_d), on the pairs whose steps both engines timed. n counts this arm's steps.

    It leaves out that running the target over the drafts costs more than over one token (verify_inflation) and what
    else a step spends; the note gives these, in steps of the baseline.
    """
    if evidence.is_baseline:
        return _the_baseline(evidence)
    times, against = evidence.step_times, evidence.baseline_round
    if reason := evidence.no_steps():
        return missing(reason)
    if isinstance(against, str):
        return missing(against)

    def columns(against: Round) -> list[Floats]:
        first, second, base = against.pairs.first, against.pairs.second, step_times(against.cell, drafts=False)
        both = times.known[second] & base.known[first]
        found = (
            evidence.delivered[second],
            times.steps[second],
            times.exposed[second],
            base.whole[first],
            base.steps[first],
            times.verify[second],
            times.whole[second],
        )
        return [np.where(both, column, 0.0) for column in found]

    _, steps, exposed, base_whole, base_steps, verify, whole = (float(column.sum()) for column in columns(against))
    if steps == 0:
        shared = "requests share steps, so that a turn's own are not timed"
        return missing(shared if evidence.shares_steps else "the steps of this arm or of the baseline were not timed")
    per_step = steps * base_whole / base_steps
    verify, exposed, other = verify / per_step, exposed / per_step, (whole - verify - exposed) / per_step
    note = f"in steps of the baseline: verifying {verify:.2f}, drafting {exposed:.2f}, other {other:.2f}"
    return evidence.compared(lambda against: columns(against)[:5], _rule_of_thumb, n=int(steps), notes=(note,))


def _rule_of_thumb(sums: Floats) -> Floats:
    return ratio(sums[:2]) / (1 + ratio(sums[[2, 1]]) / ratio(sums[3:5]))


SPEEDUP: tuple[Metric, ...] = (
    speedup,
    speedup_identical_output,
    e2e_speedup,
    speedup_from_steps,
    speedup_rule_of_thumb,
    speedup_pairs,
    speedup_pairs_left_out,
    speedup_pairs_differing,
    e2e_speedup_pairs_left_out,
)
