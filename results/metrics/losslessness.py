"""Whether speculation left the answers as they were: how many differ from the baseline's, and from its second run's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.pairs import pair_turns

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.metrics.pairs import Pairs

_SAMPLED = (
    "answers are sampled above temperature 0, where texts differ by design; only their distribution can be tested"
)
_NO_OUTPUTS = "no pair was asked the same with the output recorded on both sides"


def _diverged(evidence: Evidence) -> Pairs | str:
    """Return the arm's pairs with the baseline, some of them comparable; or say why they cannot be compared."""
    if evidence.all_sampled:
        return _SAMPLED
    against = evidence.baseline_round
    if isinstance(against, str):
        return against
    return _usable(evidence, against.pairs, against.cell, evidence.cell)


def _control_diverged(evidence: Evidence) -> Pairs | str:
    """Return the control's pairs with the baseline, some of them comparable; or say why they cannot be compared."""
    if evidence.all_sampled:
        return _SAMPLED
    if evidence.control is None or evidence.baseline is None:
        return "there is no other run of the baseline, so what differs without any speculation is unknown"
    return _usable(evidence, pair_turns(evidence.baseline, evidence.control), evidence.baseline, evidence.control)


def _usable(evidence: Evidence, pairs: Pairs, first: CellColumns, second: CellColumns) -> Pairs | str:
    """Return pairs without what was sampled on either side, some of them comparable; or say that there is none."""
    greedy = _greedy(evidence, pairs, first, second)
    found = replace(pairs, comparable=pairs.comparable & greedy, same_output=pairs.same_output & greedy)
    return found if found.comparable.any() else _NO_OUTPUTS


def _greedy(evidence: Evidence, pairs: Pairs, first: CellColumns, second: CellColumns) -> Mask:
    return ~(evidence.sampled(first)[pairs.first] | evidence.sampled(second)[pairs.second])


def _itself(evidence: Evidence) -> Outcome:
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    return Outcome(0.0, evidence.turns_ok, "definition", notes=("this is the baseline",))


@declare(
    "divergent_turns",
    unit="count",
    better="lower",
    needs=("output ids", "baseline"),
    about="Answers that differ from the baseline's although both were asked the same, at temperature 0.",
)
def divergent_turns(evidence: Evidence) -> Outcome:
    """Pairs of equal prompt and unequal output. n counts the pairs of equal prompt."""
    if evidence.is_baseline:
        return missing(_SAMPLED) if evidence.all_sampled else _itself(evidence)
    found = _diverged(evidence)
    if isinstance(found, str):
        return missing(found)
    return Outcome(float(found.differing.sum()), int(found.comparable.sum()), "engine")


@declare(
    "divergent_turns_control",
    unit="count",
    better="lower",
    needs=("output ids", "baseline", "control"),
    about="Answers in which the baseline's second run differs from its first: these differ without speculation.",
)
def divergent_turns_control(evidence: Evidence) -> Outcome:
    """Pairs of baseline and control with equal prompt and unequal output. n counts the pairs of equal prompt."""
    found = _control_diverged(evidence)
    if isinstance(found, str):
        return missing(found)
    return Outcome(float(found.differing.sum()), int(found.comparable.sum()), "engine")


@declare(
    "divergence_excess",
    unit="1",
    better="lower",
    needs=("output ids", "baseline", "control"),
    about="Share of answers that speculation changed beyond what changes without it; 0 is lossless.",
)
def divergence_excess(evidence: Evidence) -> Outcome:
    """Divergent turns / pairs of equal prompt, both without the turns on which the control diverges from `none` too.

    n counts these pairs.
    """
    if evidence.is_baseline:
        return missing(_SAMPLED) if evidence.all_sampled else _itself(evidence)
    arm, control = _diverged(evidence), _control_diverged(evidence)
    if isinstance(arm, str) or isinstance(control, str):
        return missing(arm if isinstance(arm, str) else str(control))
    settled = arm.comparable & ~np.isin(arm.first, control.first[control.differing])
    if not settled.any():
        return missing("the control differs from the baseline on every turn that could be compared")
    return Outcome(float((settled & arm.differing).sum() / settled.sum()), int(settled.sum()), "engine")


@declare(
    "turns_after_divergence",
    unit="count",
    better="lower",
    needs=("output ids", "baseline"),
    about="Turns that were asked something else than the baseline's, since an earlier answer had diverged.",
)
def turns_after_divergence(evidence: Evidence) -> Outcome:
    """Pairs of unequal prompt; a class of its own, no faults. n counts all pairs that were not sampled."""
    if evidence.is_baseline:
        return missing(_SAMPLED) if evidence.all_sampled else _itself(evidence)
    if evidence.all_sampled:
        return missing(_SAMPLED)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    greedy = _greedy(evidence, against.pairs, against.cell, evidence.cell)
    return Outcome(float(np.sum(~against.pairs.same_prompt & greedy)), int(greedy.sum()), "engine")


LOSSLESSNESS: tuple[Metric, ...] = (
    divergent_turns,
    divergent_turns_control,
    divergence_excess,
    turns_after_divergence,
)
