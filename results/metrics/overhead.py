"""Where a decode step's time goes: running the target, drafting, and the rest; prefill is apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.engine_steps import baseline_at_equal_batch, mean_per_engine_step, ratio_at_equal_batch
from draftmark.results.metrics.stamps import decoding
from draftmark.results.metrics.step_times import step_times
from draftmark.results.metrics.timing import SHARES, percentile_of, share_of
from draftmark.results.statistics import ratio_of_ratios

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Floats, Mask
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.metrics.pairs import Round
    from draftmark.results.metrics.stamps import Decoding
    from draftmark.results.metrics.step_times import StepTimes
    from draftmark.results.summary import Source


def _untimed(evidence: Evidence, times: StepTimes) -> str | None:
    """Return why the cell's steps have no times; null where they have."""
    if times.known.any():
        return None
    if (reason := evidence.no_steps()) is not None:
        return reason
    if evidence.cell.shared_steps.any():
        return "several requests shared each step, so that one turn's record cannot tell where its time went"
    return "the engine did not time its steps, or not all their parts"


def _per_step(evidence: Evidence, times: StepTimes, part: str, *notes: str) -> Outcome:
    if evidence.shares_steps:
        return mean_per_engine_step(evidence, part, *notes)
    seconds: Floats = getattr(times, part)
    if reason := _untimed(evidence, times):
        return missing(reason)
    return evidence.pooled(
        seconds, times.steps, source="timed", notes=(*evidence.known_of(int(times.known.sum())), *notes)
    )


_AS_TURNS_SEE_THEM = "as requests see them: a step counts for each that shared it, also beside others' prefill"
_NO_SPAN = "no turn has known steps and a decode time that covers just them"
_BASE_UNTIMED = "the baseline's engine did not time its steps"
_OVERLAPS = "drafting overlaps verification: the most it can be"


def stepped(cell: CellColumns, found: Decoding) -> Mask:
    """Return the turns whose decode time covers just their steps: these are known, and prefill's token came alone."""
    return found.valid & cell.has_steps & (cell.step_count > 0) & (cell.first_chunk_tokens <= 1)


@declare(
    "step_time",
    unit="s",
    better="lower",
    needs=("steps", "stamps"),
    about="Time of one decode step, everything included.",
)
def step_time(evidence: Evidence) -> Outcome:
    """Sum of (last - first token) / n, over turns whose first chunk holds the one token of prefill."""
    if reason := evidence.no_steps():
        return missing(reason)
    known = stepped(evidence.counted, evidence.decoding)
    return evidence.pooled(
        np.where(known, evidence.decoding.seconds, 0.0),
        np.where(known, evidence.steps, 0.0),
        source="inferred" if evidence.infers_steps else "timed",
        notes=(*evidence.known_of(int(known.sum())), *evidence.bound_notes),
        nothing=_NO_SPAN,
    )


def _step_time_percentile(share: int, evidence: Evidence) -> Outcome:
    if reason := evidence.no_steps():
        return missing(reason)
    timed = evidence.counted.step_s[evidence.counted.step_s > 0]
    notes = (_AS_TURNS_SEE_THEM,) if evidence.shares_steps else ()
    return share_of(share, timed, "the engine did not time its steps one by one", None, *notes)


@declare(
    "step_cost_ratio",
    unit="1",
    better="lower",
    needs=("steps", "stamps", "baseline"),
    about="How many times dearer a step is than one without speculation; acceptance must exceed it to pay.",
)
def step_cost_ratio(evidence: Evidence) -> Outcome:
    """`r = step_time` of this arm / step_time of `none`, on the turns that both answered. n counts this arm's steps.

    Inferred above one request in flight, where a turn's time between tokens holds other turns' prefill, and an upper
    bound where the number of steps is inferred.
    """
    if evidence.is_baseline:
        return _one(evidence)
    against = evidence.baseline_round
    if reason := evidence.no_steps():
        return missing(reason)
    if isinstance(against, str):
        return missing(against)

    def columns(against: Round) -> list[Floats]:
        first, second, base = against.pairs.first, against.pairs.second, decoding(against.cell)
        both = stepped(evidence.counted, evidence.decoding)[second] & stepped(against.cell, base)[first]
        found = (
            evidence.decoding.seconds[second],
            evidence.steps[second],
            base.seconds[first],
            against.cell.step_count[first],
        )
        return [np.where(both, column, 0.0) for column in found]

    steps = int(columns(against)[1].sum())
    if steps == 0:
        return missing(_NO_SPAN)
    timed = not evidence.shares_steps and not evidence.infers_steps
    source: Source = "timed" if timed else "inferred"
    return evidence.compared(columns, ratio_of_ratios, n=steps, source=source, notes=evidence.bound_notes)


@declare(
    "t_target",
    unit="s",
    better="lower",
    needs=("step times", "baseline"),
    about="Time of one decode step without speculation, on the same prompts.",
)
def t_target(evidence: Evidence) -> Outcome:
    """Mean full decode step of the `none` arm, over the turns that this arm answered too.

    Above one request in flight: per engine step without prefill, at the batch sizes that this arm's steps have.
    """
    times, base, against = evidence.step_times, evidence.baseline_step_times, evidence.baseline_round
    if evidence.is_baseline:
        return _per_step(evidence, times, "whole")
    if evidence.shares_steps:
        return baseline_at_equal_batch(evidence, "whole")
    if isinstance(against, str):
        return missing(against)
    if base is None or not base.known[against.pairs.first].any():
        return missing(_BASE_UNTIMED)
    whole, steps = np.zeros(len(evidence.cell)), np.zeros(len(evidence.cell))
    whole[against.pairs.second] = base.whole[against.pairs.first]
    steps[against.pairs.second] = base.steps[against.pairs.first]
    return evidence.pooled(whole, steps, source="timed")


@declare(
    "t_verify",
    unit="s",
    better="lower",
    needs=("step times",),
    about="Time per step that the target works: running it over the drafts and choosing tokens.",
)
def t_verify(evidence: Evidence) -> Outcome:
    """Sum of verification times / n. Above one request in flight: per engine step without prefill."""
    return _per_step(evidence, evidence.step_times, "verify")


@declare(
    "t_draft_busy",
    unit="s",
    better="lower",
    needs=("step times",),
    about="Time per step that the drafter works, whether or not anything waits for it.",
)
def t_draft_busy(evidence: Evidence) -> Outcome:
    """Sum of drafting times / n, over all steps; 0 by definition without a drafter.

    Above one request in flight: per engine step without prefill. From an engine's counters, at one request in flight:
    its seconds of drafting / n^.
    """
    if not evidence.drafts:
        return _nothing_drafted(evidence)
    counted = None if evidence.shares_steps else evidence.counted_by_engine("t_draft_busy")
    return counted or _per_step(evidence, evidence.step_times, "busy")


@declare(
    "t_draft_exposed",
    unit="s",
    better="lower",
    needs=("step times",),
    about="Time per step that drafting adds.",
)
def t_draft_exposed(evidence: Evidence) -> Outcome:
    """Time of (draft or verify) - time of verify, per step: min(draft, step - verify); 0 without a drafter.

    Above one request in flight: per engine step without prefill.
    """
    if not evidence.drafts:
        return _nothing_drafted(evidence)
    return _per_step(evidence, evidence.step_times, "exposed", *_overlapping(evidence))


def _overlapping(evidence: Evidence) -> tuple[str, ...]:
    times = evidence.shared_steps if evidence.shares_steps else evidence.step_times
    return (_OVERLAPS,) if times.overlaps else ()


def _nothing_drafted(evidence: Evidence) -> Outcome:
    if reason := evidence.no_steps():
        return missing(reason)
    return Outcome(0.0, n=int(evidence.steps.sum()), source="definition")


@declare(
    "t_other",
    unit="s",
    better="lower",
    needs=("step times",),
    about="Time per step that is neither drafting nor the target: bookkeeping, scheduling, sending.",
)
def t_other(evidence: Evidence) -> Outcome:
    """Step - (draft or verify): t_verify + t_draft_exposed + t_other is the whole step.

    Above one request in flight: per engine step without prefill.
    """
    return _per_step(evidence, evidence.step_times, "other")


def _against_baseline(evidence: Evidence, part: str, base_part: str, *notes: str) -> Outcome:
    """Return a part of this arm's step over one of the baseline's, on the turns that both answered."""
    if evidence.shares_steps:
        return ratio_at_equal_batch(evidence, part, base_part, *notes)
    times, against = evidence.step_times, evidence.baseline_round
    if reason := _untimed(evidence, times):
        return missing(reason)
    if isinstance(against, str):
        return missing(against)

    def columns(against: Round) -> list[Floats]:
        first, second, base = against.pairs.first, against.pairs.second, step_times(against.cell, drafts=False)
        both = times.known[second] & base.known[first]
        found = getattr(times, part)[second], times.steps[second], getattr(base, base_part)[first], base.steps[first]
        return [np.where(both, column, 0.0) for column in found]

    steps = int(columns(against)[1].sum())
    if steps == 0:
        return missing(_BASE_UNTIMED)
    return evidence.compared(columns, ratio_of_ratios, n=steps, notes=notes)


@declare(
    "draft_overhead",
    unit="1",
    better="lower",
    needs=("step times", "baseline"),
    about="Cost of drafting, in steps of the target alone: 0.1 means that it adds a tenth of one.",
)
def draft_overhead(evidence: Evidence) -> Outcome:
    """O_d = t_draft_exposed / t_target, on the turns that both arms answered. n counts this arm's steps.

    Above one request in flight: per engine step without prefill, at equal batch size.
    """
    if not evidence.drafts:
        return _nothing_drafted(evidence)
    return _against_baseline(evidence, "exposed", "whole", *_overlapping(evidence))


@declare(
    "verify_inflation",
    unit="1",
    better="lower",
    needs=("step times", "baseline"),
    about="How much dearer it is to run the target over the drafts than over one token.",
)
def verify_inflation(evidence: Evidence) -> Outcome:
    """t_verify of this arm / t_verify of `none`, on the turns that both answered. n counts this arm's steps.

    Above one request in flight: per engine step without prefill, at equal batch size.
    """
    if evidence.is_baseline:
        return _one(evidence)
    return _against_baseline(evidence, "verify", "verify")


def _one(evidence: Evidence) -> Outcome:
    if reason := evidence.no_steps():
        return missing(reason)
    return Outcome(1.0, n=int(evidence.steps.sum()), source="definition", notes=("this is the baseline",))


def _prefill(evidence: Evidence, seconds: Floats, reason: str) -> Outcome:
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    known = evidence.cell.ok & (seconds >= 0)
    return evidence.pooled(np.where(known, seconds, 0.0), known.astype(np.float64), source="timed", nothing=reason)


@declare("t_prefill", unit="s", better="lower", needs=("step times",), about="Time of the target's prefill.")
def t_prefill(evidence: Evidence) -> Outcome:
    """Mean over turns of the target's prefill time; no part of any step."""
    return _prefill(evidence, evidence.cell.prefill_s, "the engine did not time its prefill")


@declare("t_draft_prefill", unit="s", better="lower", needs=("step times",), about="Time of the drafter's own prefill.")
def t_draft_prefill(evidence: Evidence) -> Outcome:
    """Mean over turns of the drafter's prefill time; no part of any step. 0 by definition without a drafter.

    An engine that drafts at once after the prompt (vLLM) has its first draft in it.
    """
    if not evidence.drafts and evidence.turns_ok:
        return Outcome(0.0, n=evidence.turns_ok, source="definition")
    reason = "the engine did not time a prefill of the drafter, or the drafter has none"
    return _prefill(evidence, evidence.cell.draft_prefill_s, reason)


OVERHEAD: tuple[Metric, ...] = (
    step_time,
    *(percentile_of(step_time, share, partial(_step_time_percentile, share)) for share in SHARES),
    step_cost_ratio,
    t_target,
    t_verify,
    t_draft_busy,
    t_draft_exposed,
    t_other,
    draft_overhead,
    verify_inflation,
    t_prefill,
    t_draft_prefill,
)
