"""Outcomes per engine step, for cells in which several requests share each: means, and ratios at equal batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.metrics.declaration import Outcome, missing
from draftmark.results.metrics.shared_steps import at_equal_batch

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.metrics.shared_steps import AtEqualBatch

_PER_ENGINE_STEP = "per engine step without prefill; requests share steps, so there is no interval"


def mean_per_engine_step(evidence: Evidence, part: str, *notes: str) -> Outcome:
    """Return the mean of a part of the step (`whole`, `verify`, `busy`, `exposed`, `other`), prefill left out."""
    if reason := evidence.no_steps():
        return missing(reason)
    steps = evidence.shared_steps
    value = steps.mean(part)
    if value is None:
        return missing("the engine did not time its steps without prefill, or not all their parts")
    return Outcome(value, _whole_steps(steps.count), "timed", notes=(_PER_ENGINE_STEP, *notes))


def baseline_at_equal_batch(evidence: Evidence, part: str) -> Outcome:
    """Return the baseline's mean of a part at the batch sizes that this arm's steps have."""
    found = _matched(evidence, part, part)
    return missing(found) if isinstance(found, str) else _outcome(found.theirs, found)


def ratio_at_equal_batch(evidence: Evidence, part: str, base_part: str, *notes: str) -> Outcome:
    """Return this arm's mean of a part over the baseline's of another, at the batch sizes that both have."""
    found = _matched(evidence, part, base_part)
    if isinstance(found, str):
        return missing(found)
    if found.theirs == 0:
        return missing("the time to compare with is 0 on these steps")
    return _outcome(found.ours / found.theirs, found, *notes)


def _matched(evidence: Evidence, part: str, base_part: str) -> AtEqualBatch | str:
    if reason := evidence.no_steps():
        return reason
    theirs = evidence.baseline_shared_steps
    if theirs is None:
        return "the run has no baseline (`none`) arm with these prompts"
    if evidence.shared_steps.count == 0 or theirs.count == 0:
        return "the steps without prefill of this arm or of the baseline were not timed"
    found = at_equal_batch(evidence.shared_steps, theirs, part, base_part)
    return found or "no batch size occurred in both arms, so their steps cannot be compared"


def _outcome(value: float, found: AtEqualBatch, *notes: str) -> Outcome:
    matched = f"at equal batch size, {found.share:.0%} of the steps"
    return Outcome(value, _whole_steps(found.steps), "timed", notes=(_PER_ENGINE_STEP, matched, *notes))


def _whole_steps(count: float) -> int:
    """Return how many engine steps these are; shares of steps of which other turns hold the rest are one at least."""
    return max(1, round(count))
