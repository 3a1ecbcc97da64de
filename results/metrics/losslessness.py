"""Whether speculation left the answers as they were: divergences, their verdicts, and the excess over the control.

At temperature 0 each arm's tokens are compared with the baseline's, and the control's (the baseline run again)
likewise: what differs there differs without any speculation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.pairs import pair_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.metrics.pairs import Pairs
    from draftmark.results.records import TurnRecord

Relation = Literal["same", "diverged", "other-prompt", "not-comparable"]
Verdict = Literal["numeric-tie", "fault", "unknown"]


@dataclass(frozen=True, slots=True)
class DivergencePoint:
    """The first place where two outputs part; a token is null where its output had ended."""

    position: int
    baseline_id: int | None
    arm_id: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One planned turn of an arm against the baseline's."""

    question_id: str
    turn_index: int
    repeat: int
    relation: Relation
    """`other-prompt`: an earlier answer of the conversation diverged, so that the two were asked different things; no
    fault of its own. `not-comparable`: a side failed, now or earlier, is missing, or gave no ids; `reason` says."""
    point: DivergencePoint | None = None
    reason: str | None = None

    @property
    def key(self) -> tuple[str, int, int]:
        """Which planned turn it is."""
        return self.question_id, self.turn_index, self.repeat


def first_divergence(baseline_ids: Sequence[int], arm_ids: Sequence[int]) -> DivergencePoint | None:
    """Return the first place where two lists of token ids differ, the end of one included; null if equal."""
    for position, (baseline_id, arm_id) in enumerate(zip(baseline_ids, arm_ids, strict=False)):
        if baseline_id != arm_id:
            return DivergencePoint(position, baseline_id, arm_id)
    shorter = min(len(baseline_ids), len(arm_ids))
    if len(baseline_ids) == len(arm_ids):
        return None
    return DivergencePoint(
        shorter,
        baseline_ids[shorter] if shorter < len(baseline_ids) else None,
        arm_ids[shorter] if shorter < len(arm_ids) else None,
    )


def compare_turns(baseline: Iterable[TurnRecord], arm: Iterable[TurnRecord]) -> list[Comparison]:
    """Compare every measured turn of an arm, at temperature 0, with the baseline's; ordered by conversation."""
    theirs = {(turn.question_id, turn.turn_index, turn.repeat): turn for turn in baseline if turn.phase == "measured"}
    ours = {(turn.question_id, turn.turn_index, turn.repeat): turn for turn in arm if turn.phase == "measured"}
    earlier: dict[tuple[str, int], Relation] = {}
    found = []
    for key in sorted(ours):
        question, index, repeat = key
        relation, point, reason = _relate(theirs.get(key), ours[key], earlier.get((question, repeat)))
        if relation in ("diverged", "not-comparable"):
            earlier.setdefault((question, repeat), relation)
        found.append(Comparison(question, index, repeat, relation, point, reason))
    return found


def _relate(
    baseline: TurnRecord | None, arm: TurnRecord, earlier: Relation | None
) -> tuple[Relation, DivergencePoint | None, str | None]:
    if baseline is None:
        return "not-comparable", None, "the baseline did not answer this turn"
    if baseline.status != "ok" or arm.status != "ok":
        return "not-comparable", None, "the turn failed on one side"
    if baseline.prompt_hash != arm.prompt_hash:
        return ("other-prompt" if earlier == "diverged" else "not-comparable"), None, _OTHER_PROMPT[earlier]
    if baseline.output_ids is None or arm.output_ids is None:
        return "not-comparable", None, "the output's token ids are not recorded on both sides"
    point = first_divergence(baseline.output_ids, arm.output_ids)
    return ("same" if point is None else "diverged"), point, None


_OTHER_PROMPT: dict[Relation | None, str] = {
    None: "the prompts differ although no earlier answer did",
    "diverged": "an earlier answer of this conversation diverged",
    "not-comparable": "an earlier turn of this conversation could not be compared",
}


def judge(
    point: DivergencePoint,
    *,
    margin: float | None,
    numeric_difference: float | None,
    top_two: tuple[int, int] | None,
) -> tuple[Verdict, str]:
    """Return the verdict on a divergence, and why.

    It is a numeric tie if both tokens are the target's top two and the difference of their logits, `margin`, is no
    larger than `numeric_difference`, the most that any logit differs between one-token and (D+1)-token passes on that
    prefix. Without that evidence the verdict is unknown; anything else is a fault.
    """
    if point.baseline_id is None or point.arm_id is None:
        return "fault", "one answer ended where the other went on"
    if margin is None or numeric_difference is None or top_two is None:
        return "unknown", "the engine gives no logits to judge by"
    if {point.baseline_id, point.arm_id} != set(top_two):
        return "fault", f"the tokens are not the target's two likeliest, {top_two[0]} and {top_two[1]}"
    if abs(margin) > numeric_difference:
        return "fault", f"the margin {abs(margin):.3g} exceeds the numeric difference {numeric_difference:.3g}"
    return "numeric-tie", f"the margin {abs(margin):.3g} is within the numeric difference {numeric_difference:.3g}"


_SAMPLED = (
    "answers are sampled above temperature 0, where texts differ by design; only their distribution can be tested"
)
_NO_OUTPUTS = "no pair was asked the same with the output recorded on both sides"


def _diverged(evidence: Evidence) -> Pairs | str:
    """Return the arm's pairs with the baseline, some of them comparable; or say why they cannot be compared."""
    if evidence.temperature > 0:
        return _SAMPLED
    against = evidence.baseline_round
    if isinstance(against, str):
        return against
    return _usable(against.pairs)


def _control_diverged(evidence: Evidence) -> Pairs | str:
    """Return the control's pairs with the baseline, some of them comparable; or say why they cannot be compared."""
    if evidence.temperature > 0:
        return _SAMPLED
    if evidence.control is None or evidence.baseline is None:
        return "there is no other run of the baseline, so what differs without any speculation is unknown"
    return _usable(pair_turns(evidence.baseline, evidence.control))


def _usable(pairs: Pairs) -> Pairs | str:
    return pairs if pairs.comparable.any() else _NO_OUTPUTS


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
        return missing(_SAMPLED) if evidence.temperature > 0 else _itself(evidence)
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
        return missing(_SAMPLED) if evidence.temperature > 0 else _itself(evidence)
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
    """Pairs of unequal prompt; a class of its own, no faults. n counts all pairs."""
    if evidence.is_baseline:
        return missing(_SAMPLED) if evidence.temperature > 0 else _itself(evidence)
    if evidence.temperature > 0:
        return missing(_SAMPLED)
    against = evidence.baseline_round
    if isinstance(against, str):
        return missing(against)
    return Outcome(float(np.sum(~against.pairs.same_prompt)), len(against.pairs), "engine")


LOSSLESSNESS: tuple[Metric, ...] = (
    divergent_turns,
    divergent_turns_control,
    divergence_excess,
    turns_after_divergence,
)
