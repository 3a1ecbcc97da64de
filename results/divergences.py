"""Where an arm's answers leave the baseline's: which turns do, whether numbers excuse it, and which count.

At temperature 0 each arm's tokens are compared with the baseline's, and the control's (the baseline run again)
likewise: what differs there differs without any speculation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.results.records import Divergence, TurnRecord

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


def compare_turns(
    baseline: Iterable[TurnRecord], arm: Iterable[TurnRecord], *, temperature: float = 0.0
) -> list[Comparison]:
    """Compare every measured turn of an arm, at temperature 0, with the baseline's; ordered by conversation.

    `temperature` is the cells'; a turn that was sampled as its request was has its own.
    """
    theirs = {(turn.question_id, turn.turn_index, turn.repeat): turn for turn in baseline if turn.phase == "measured"}
    ours = {(turn.question_id, turn.turn_index, turn.repeat): turn for turn in arm if turn.phase == "measured"}
    earlier: dict[tuple[str, int], Relation] = {}
    found = []
    for key in sorted(ours):
        question, index, repeat = key
        if _temperature(ours[key], temperature) > 0:
            relation, point, reason = SAMPLED
        else:
            relation, point, reason = _relate(theirs.get(key), ours[key], earlier.get((question, repeat)))
        if relation in ("diverged", "not-comparable"):
            earlier.setdefault((question, repeat), relation)
        found.append(Comparison(question, index, repeat, relation, point, reason))
    return found


SAMPLED: tuple[Relation, DivergencePoint | None, str | None] = (
    "not-comparable",
    None,
    "the answer is sampled above temperature 0, where texts differ by design",
)


def _temperature(turn: TurnRecord, cells: float) -> float:
    return cells if turn.sampling is None else turn.sampling.temperature


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


def judge_divergence(
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


def excess(arm: Iterable[Divergence], control: Iterable[Divergence]) -> list[Divergence]:
    """Return the arm's divergences on turns (question, turn, repeat) where the control of its group has none.

    The control is the baseline run again. Where it leaves the baseline's answer, that answer is not settled even
    without speculation, so no arm is blamed for leaving it; a divergence of the control elsewhere excuses nothing.
    """
    excused = {_turn(row) for row in control}
    return [row for row in arm if _turn(row) not in excused]


def _turn(row: Divergence) -> tuple[str, int, int]:
    return row.question_id, row.turn_index, row.repeat
