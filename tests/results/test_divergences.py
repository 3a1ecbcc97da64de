"""Divergences: where outputs part, what that proves, and which the control excuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.divergences import DivergencePoint, compare_turns, excess, first_divergence, judge_divergence
from draftmark.results.records import Divergence, Sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord

    Build = Callable[..., TurnRecord]


class TestFirstDivergence:
    @pytest.mark.parametrize(
        ("baseline", "arm", "found"),
        [
            ([5, 6, 7], [5, 6, 7], None),
            ([], [], None),
            ([5, 6, 7], [5, 9, 7], DivergencePoint(1, 6, 9)),
            ([5, 6, 7], [5, 6], DivergencePoint(2, 7, None)),
            ([5, 6], [5, 6, 0], DivergencePoint(2, None, 0)),
            ([], [4], DivergencePoint(0, None, 4)),
        ],
    )
    def test_place_and_tokens(self, baseline: list[int], arm: list[int], found: DivergencePoint | None) -> None:
        assert first_divergence(baseline, arm) == found


class TestVerdict:
    """A numeric tie needs both: the target's two likeliest tokens, and a margin that rounding explains."""

    point = DivergencePoint(3, 10, 20)

    @pytest.mark.parametrize("margin", [0.0, 0.02, -0.02])
    def test_two_likeliest_within_the_numeric_difference_tie(self, margin: float) -> None:
        verdict, reason = judge_divergence(self.point, margin=margin, numeric_difference=0.02, top_two=(20, 10))
        assert verdict == "numeric-tie"
        assert "within the numeric difference 0.02" in reason

    @pytest.mark.parametrize("margin", [0.021, -0.021])
    def test_a_margin_that_rounding_cannot_explain_is_a_fault(self, margin: float) -> None:
        verdict, reason = judge_divergence(self.point, margin=margin, numeric_difference=0.02, top_two=(10, 20))
        assert verdict == "fault"
        assert "0.021 exceeds the numeric difference 0.02" in reason

    def test_a_token_that_is_not_among_the_two_likeliest_is_a_fault(self) -> None:
        verdict, reason = judge_divergence(self.point, margin=0.0, numeric_difference=0.02, top_two=(10, 30))
        assert verdict == "fault"
        assert "10 and 30" in reason

    def test_an_answer_that_ended_early_is_a_fault(self) -> None:
        verdict, _ = judge_divergence(
            DivergencePoint(3, 10, None), margin=0.0, numeric_difference=1.0, top_two=(10, 20)
        )
        assert verdict == "fault"

    def test_without_evidence_it_is_unknown(self) -> None:
        verdict, reason = judge_divergence(self.point, margin=None, numeric_difference=None, top_two=None)
        assert (verdict, reason) == ("unknown", "the engine gives no logits to judge by")


class TestCompareTurns:
    def test_a_conversation_that_parted_is_a_class_of_its_own_afterwards(self, make_turn: Build) -> None:
        baseline = [
            make_turn(output_ids=[1, 2], prompt_hash="p"),
            make_turn(turn_index=1, output_ids=[3], prompt_hash="p12"),
        ]
        arm = [
            make_turn(output_ids=[1, 9], prompt_hash="p"),
            make_turn(turn_index=1, output_ids=[4], prompt_hash="p19"),
        ]
        found = compare_turns(baseline, reversed(arm))

        assert [one.relation for one in found] == ["diverged", "other-prompt"]
        assert found[0].point == DivergencePoint(1, 2, 9)
        assert found[1].reason == "an earlier answer of this conversation diverged"

    def test_a_prompt_that_differs_without_cause_is_not_excused(self, make_turn: Build) -> None:
        (found,) = compare_turns(
            [make_turn(output_ids=[1], prompt_hash="a")], [make_turn(output_ids=[1], prompt_hash="b")]
        )
        assert found.relation == "not-comparable"
        assert found.reason == "the prompts differ although no earlier answer did"

    def test_a_turn_sampled_as_its_request_was_is_not_compared_and_a_greedy_one_is(self, make_turn: Build) -> None:
        turns = [
            make_turn(output_ids=[number], sampling=Sampling(temperature=temperature), turn_index=index)
            for number in (1, 2)
            for index, temperature in enumerate((0.7, 0.0))
        ]
        hot, greedy = compare_turns(turns[:2], turns[2:], temperature=0.0)
        assert (hot.relation, greedy.relation) == ("not-comparable", "diverged")
        hot, greedy = compare_turns(turns[:2], turns[2:], temperature=0.9)
        assert (hot.relation, greedy.relation) == ("not-comparable", "diverged")

    def test_after_a_failed_turn_nothing_is_blamed_on_a_divergence(self, make_turn: Build) -> None:
        baseline = [make_turn(output_ids=[1]), make_turn(turn_index=1, output_ids=[3], prompt_hash="p1")]
        arm = [make_turn(status="failed"), make_turn(turn_index=1, output_ids=[3], prompt_hash="p")]
        assert [one.reason for one in compare_turns(baseline, arm)] == [
            "the turn failed on one side",
            "an earlier turn of this conversation could not be compared",
        ]

    def test_failed_missing_and_unrecorded_turns_are_not_comparable(self, make_turn: Build) -> None:
        baseline = [make_turn("failed", output_ids=[1]), make_turn("unrecorded", output_text="x")]
        arm = [
            make_turn("failed", status="failed"),
            make_turn("missing", output_ids=[1]),
            make_turn("unrecorded", output_ids=[1]),
        ]
        assert {one.relation for one in compare_turns(baseline, arm)} == {"not-comparable"}

    def test_warm_up_is_not_compared(self, make_turn: Build) -> None:
        warm = make_turn(output_ids=[1], phase="warmup")
        assert compare_turns([warm], [warm]) == []


class TestExcess:
    def row(self, cell: str, question: str, *, repeat: int = 0, position: int = 1) -> Divergence:
        return Divergence(
            cell_id=cell,
            question_id=question,
            turn_index=0,
            repeat=repeat,
            position=position,
            baseline_id=5,
            arm_id=6,
            verdict="unknown",
            reason="nothing to judge by",
        )

    def test_turns_on_which_the_control_diverges_too_are_excused_wherever_it_parts(self) -> None:
        arm = [self.row("arm", "a", position=1), self.row("arm", "b")]
        assert excess(arm, [self.row("control", "a", position=7)]) == arm[1:]

    def test_a_divergence_of_the_control_on_another_question_or_repeat_excuses_nothing(self) -> None:
        arm = [self.row("arm", "a")]
        assert excess(arm, [self.row("control", "b"), self.row("control", "a", repeat=1)]) == arm
