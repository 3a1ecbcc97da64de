"""Losslessness: where outputs part, what that proves, and what the control excuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.metrics import DivergencePoint, compare_turns, first_divergence, judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


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
        verdict, reason = judge(self.point, margin=margin, numeric_difference=0.02, top_two=(20, 10))
        assert verdict == "numeric-tie"
        assert "within the numeric difference 0.02" in reason

    @pytest.mark.parametrize("margin", [0.021, -0.021])
    def test_a_margin_that_rounding_cannot_explain_is_a_fault(self, margin: float) -> None:
        verdict, reason = judge(self.point, margin=margin, numeric_difference=0.02, top_two=(10, 20))
        assert verdict == "fault"
        assert "0.021 exceeds the numeric difference 0.02" in reason

    def test_a_token_that_is_not_among_the_two_likeliest_is_a_fault(self) -> None:
        verdict, reason = judge(self.point, margin=0.0, numeric_difference=0.02, top_two=(10, 30))
        assert verdict == "fault"
        assert "10 and 30" in reason

    def test_an_answer_that_ended_early_is_a_fault(self) -> None:
        verdict, _ = judge(DivergencePoint(3, 10, None), margin=0.0, numeric_difference=1.0, top_two=(10, 20))
        assert verdict == "fault"

    def test_without_evidence_it_is_unknown(self) -> None:
        verdict, reason = judge(self.point, margin=None, numeric_difference=None, top_two=None)
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


class TestMetrics:
    def turns(self, build: Build, *changed: str) -> list[TurnRecord]:
        return [build(name, output_tokens=3, output_ids=[1, 2, 9 if name in changed else 3]) for name in "abcd"]

    def test_a_turn_on_which_the_control_differs_too_is_left_out(self, make_turn: Build, measured: Measure) -> None:
        # The arm differs on a, b and c, the control on a: of b, c and d the arm changed two.
        found = measured(
            *self.turns(make_turn, "a", "b", "c"), baseline=self.turns(make_turn), control=self.turns(make_turn, "a")
        )
        assert found["divergent_turns"].value == 3
        assert found["divergent_turns"].n == 4
        assert found["divergent_turns_control"].value == 1
        assert found["divergence_excess"].value == pytest.approx(2 / 3)
        assert found["divergence_excess"].n == 3

    def test_a_divergence_of_the_control_elsewhere_excuses_nothing(self, make_turn: Build, measured: Measure) -> None:
        # Equal shares, 1 of 4 each, but on different turns: a, c and d were settled, and the arm changed a.
        found = measured(
            *self.turns(make_turn, "a"), baseline=self.turns(make_turn), control=self.turns(make_turn, "b")
        )
        assert found["divergence_excess"].value == pytest.approx(1 / 3)

    def test_where_the_control_differs_everywhere_the_excess_is_unknown(
        self, make_turn: Build, measured: Measure
    ) -> None:
        found = measured(
            *self.turns(make_turn, "a"), baseline=self.turns(make_turn), control=self.turns(make_turn, *"abcd")
        )
        assert found["divergence_excess"].value is None
        assert "on every turn" in str(found["divergence_excess"].reason)

    def test_fewer_divergences_than_the_control_are_no_excess(self, make_turn: Build, measured: Measure) -> None:
        found = measured(*self.turns(make_turn), baseline=self.turns(make_turn), control=self.turns(make_turn, "d"))
        assert found["divergence_excess"].value == 0

    def test_without_a_control_the_excess_is_unknown(self, make_turn: Build, measured: Measure) -> None:
        found = measured(*self.turns(make_turn, "a"), baseline=self.turns(make_turn))
        assert found["divergent_turns"].value == 1
        assert found["divergence_excess"].value is None
        assert "no other run of the baseline" in str(found["divergence_excess"].reason)

    def test_turns_after_a_divergence_are_no_divergences(self, make_turn: Build, measured: Measure) -> None:
        baseline = make_turn(turn_index=1, output_ids=[1], prompt_hash="a")
        arm = make_turn(turn_index=1, output_ids=[2], prompt_hash="b")
        first = make_turn(output_ids=[1], prompt_hash="p")
        found = measured(first, arm, baseline=[first, baseline])
        assert found["turns_after_divergence"].value == 1
        assert found["divergent_turns"].value == 0
        assert found["divergent_turns"].n == 1

    def test_sampled_texts_are_not_compared(self, make_turn: Build, measured: Measure) -> None:
        found = measured(*self.turns(make_turn, "a"), baseline=self.turns(make_turn), temperature=0.5)
        for name in ("divergent_turns", "divergent_turns_control", "divergence_excess", "turns_after_divergence"):
            assert found[name].value is None
            assert "sampled" in str(found[name].reason)

    @pytest.mark.parametrize("side", ["baseline", "arm"])
    def test_failed_turns_are_not_compared(self, make_turn: Build, measured: Measure, side: str) -> None:
        turns = {"baseline": make_turn("b", output_ids=[1]), "arm": make_turn("b", output_ids=[2])}
        turns[side] = turns[side].model_copy(update={"status": "failed"})
        good = make_turn("a", output_ids=[1])
        found = measured(good, turns["arm"], baseline=[good, turns["baseline"]])
        assert (found["divergent_turns"].value, found["divergent_turns"].n) == (0, 1)

    def test_ids_are_never_compared_with_text(self, make_turn: Build, measured: Measure) -> None:
        found = measured(make_turn(output_ids=[1]), baseline=[make_turn(output_text="x")])
        assert found["divergent_turns"].value is None
