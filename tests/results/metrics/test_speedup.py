"""Speed-up: measured, paired, and never acceptance by another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


@pytest.fixture
def cell(timed_turn: Build) -> Callable[..., list[TurnRecord]]:
    """One turn of 8 decoded tokens per question: `pair` steps of the given time."""

    def build(
        pair: tuple[int, int], *, steps: int, step: float, questions: int = 10, **changes: object
    ) -> list[TurnRecord]:
        return [timed_turn(*[pair] * steps, question_id=f"q{i}", verify=step, **changes) for i in range(questions)]

    return build


def test_it_is_the_ratio_of_times_per_token_over_pairs(
    cell: Callable[..., list[TurnRecord]], measured: Measure
) -> None:
    # 8 tokens in 8 steps of 0.1 s against 8 tokens in 2 steps of 0.2 s.
    found = measured(*cell((3, 3), steps=2, step=0.2), baseline=cell((0, 0), steps=8, step=0.1))

    assert found["speedup"].value == pytest.approx(2.0)
    assert found["speedup"].n == 10
    assert found["speedup"].source == "timed"
    assert found["speedup_identical_output"].value == pytest.approx(2.0)
    assert found["e2e_speedup"].value == pytest.approx((0.5 + 0.8) / (0.5 + 0.4))
    assert found["speedup_pairs"].value == 10
    assert found["speedup_pairs_left_out"].value == 0
    assert found["speedup_pairs_differing"].value == 0


def test_high_acceptance_with_a_dear_step_is_a_slowdown(
    cell: Callable[..., list[TurnRecord]], measured: Measure
) -> None:
    found = measured(*cell((3, 3), steps=2, step=0.5), baseline=cell((0, 0), steps=8, step=0.1))

    assert found["acceptance_length"].value == 4.0
    assert found["step_cost_ratio"].value == pytest.approx(5.0)
    assert found["speedup"].value == pytest.approx(0.8)
    assert found["speedup_from_steps"].value == pytest.approx(0.8)


def test_sums_not_means_of_ratios(timed_turn: Build, measured: Measure) -> None:
    # One pair of 10 s against 1 s, one of 1 s against 1 s, ten tokens each: 11 / 2.
    baseline = [
        timed_turn(*[(0, 0)] * 10, question_id="a", verify=1.0),
        timed_turn(*[(0, 0)] * 10, question_id="b", verify=0.1),
    ]
    arm = [timed_turn(*[(4, 4)] * 2, question_id=name, verify=0.5) for name in "ab"]
    assert measured(*arm, baseline=baseline)["speedup"].value == pytest.approx(5.5)


def test_the_rule_of_thumb_leaves_out_dearer_verification_and_says_so(timed_turn: Build, measured: Measure) -> None:
    # AL 4, drafting 0.05 of a target step of 0.1: 4 / 1.5. The step costs 2 + 0.5 + 0.1 steps of the baseline: 4 / 2.6.
    arm = timed_turn((3, 3), (3, 3), draft=0.05, verify=0.2, rest=0.01)
    found = measured(arm, baseline=[timed_turn(*[(0, 0)] * 8, verify=0.1)])

    assert found["speedup_rule_of_thumb"].value == pytest.approx(4 / 1.5)
    assert "verifying 2.00, drafting 0.50, other 0.10" in str(found["speedup_rule_of_thumb"].note)
    assert found["speedup_from_steps"].value == pytest.approx(4 / 2.6)
    assert found["speedup"].value == pytest.approx(4 / 2.6)


class TestPairs:
    def test_failed_missing_and_one_token_turns_are_left_out_and_counted(
        self, timed_turn: Build, measured: Measure
    ) -> None:
        names = ("good", "failed here", "failed there", "missing there", "one token")
        arm = [timed_turn((3, 3), (3, 3), question_id=name) for name in names]
        arm[1] = arm[1].model_copy(update={"status": "failed"})
        arm[4] = timed_turn(question_id="one token")
        baseline = [timed_turn(*[(0, 0)] * 8, question_id=name) for name in names if name != "missing there"]
        baseline[2] = baseline[2].model_copy(update={"status": "failed"})
        found = measured(*arm, baseline=baseline)

        assert found["speedup_pairs"].value == 1
        assert found["speedup_pairs_left_out"].value == 4
        assert found["speedup"].value == pytest.approx(4.0)

    def test_turns_and_repeats_pair_with_their_own(self, timed_turn: Build, measured: Measure) -> None:
        def turns(pair: tuple[int, int], steps: int) -> list[TurnRecord]:
            return [
                timed_turn(*[pair] * steps, turn_index=turn, repeat=repeat, verify=0.1 * (1 + turn + 2 * repeat))
                for repeat in (0, 1)
                for turn in (0, 1)
            ]

        # Every pair has the same step time on both sides: 8 steps against 2 for the same tokens.
        found = measured(*reversed(turns((3, 3), 2)), baseline=turns((0, 0), 8))
        assert found["speedup_pairs"].value == 4
        assert found["speedup"].value == pytest.approx(4.0)

    def test_differing_outputs_are_counted_and_left_out_of_the_identical(
        self, timed_turn: Build, measured: Measure
    ) -> None:
        # The pair of equal output is 4 times as fast, the other (6 tokens against 8) as fast as before.
        baseline = [timed_turn(*[(0, 0)] * 8, question_id=name) for name in "ab"]
        same = timed_turn((3, 3), (3, 3), question_id="a")
        other = timed_turn(*[(0, 0)] * 6, question_id="b")
        found = measured(same, other, baseline=baseline)

        assert found["speedup"].value == pytest.approx((1.6 / 16) / (0.8 / 14))
        assert found["speedup_identical_output"].value == pytest.approx(4.0)
        assert found["speedup_identical_output"].n == 1
        assert found["speedup_pairs_differing"].value == 1
        assert found["e2e_speedup"].value == pytest.approx(1.3 / 0.7)
        assert found["e2e_speedup_pairs_left_out"].value == 1

    def test_a_later_turn_of_a_diverged_conversation_pairs_but_is_not_identical(
        self, timed_turn: Build, measured: Measure
    ) -> None:
        baseline = timed_turn(*[(0, 0)] * 8, turn_index=1, prompt_hash="a")
        found = measured(timed_turn((3, 3), (3, 3), turn_index=1, prompt_hash="b"), baseline=[baseline])

        assert found["speedup"].value == pytest.approx(4.0)
        assert "asked different things" in str(found["speedup"].note)
        assert found["speedup_identical_output"].value is None
        assert found["speedup_pairs_differing"].value is None
        assert "no pair was asked the same" in str(found["speedup_pairs_differing"].reason)

    def test_an_unknown_answer_is_not_a_differing_one(self, timed_turn: Build, measured: Measure) -> None:
        # Of three pairs one is equal, one differs in its last token, and one was not recorded.
        baseline = [timed_turn(*[(0, 0)] * 8, question_id=name) for name in "abc"]
        ids = {"a": list(range(9)), "b": [*range(8), 99], "c": None}
        arm = [timed_turn((3, 3), (3, 3), question_id=name, output_ids=ids[name]) for name in "abc"]
        found = measured(*arm, baseline=baseline)

        assert found["speedup_pairs"].value == 3
        assert found["speedup_pairs_differing"].value == 1
        assert found["speedup_pairs_differing"].n == 2

    def test_a_failed_pair_is_not_said_to_be_of_unequal_length(self, timed_turn: Build, measured: Measure) -> None:
        baseline = [timed_turn(*[(0, 0)] * 8, question_id=name) for name in "ab"]
        arm = [
            timed_turn((3, 3), (3, 3), question_id="a"),
            timed_turn((3, 3), (3, 3), question_id="b", status="failed"),
        ]
        note = str(measured(*arm, baseline=baseline)["e2e_speedup"].note)
        assert note.startswith("1 pair left out: failed, missing or of unequal length")


class TestIntervals:
    def test_pairing_takes_out_what_prompts_have_in_common(self, timed_turn: Build, measured: Measure) -> None:
        # Prompts differ tenfold in step time, but each is twice as fast, give or take a hundredth.
        sizes = [0.1 * (i + 1) for i in range(10)]
        baseline = [timed_turn(*[(0, 0)] * 8, question_id=f"q{i}", verify=size) for i, size in enumerate(sizes)]
        arm = [
            timed_turn((3, 3), (3, 3), question_id=f"q{i}", verify=size * (2.02 if i % 2 else 1.98))
            for i, size in enumerate(sizes)
        ]
        metric = measured(*arm, baseline=baseline)["speedup"]

        assert metric.low is not None
        assert metric.high is not None
        assert 1.97 < metric.low < 2.0 < metric.high < 2.03
        assert "rough (10 conversations)" in str(metric.note)
        assert "prompt sampling only" in str(metric.note)

    def test_a_drifting_baseline_widens_to_both_rounds(self, timed_turn: Build, measured: Measure) -> None:
        def arm(pair: tuple[int, int], steps: int, step: float) -> list[TurnRecord]:
            return [
                timed_turn(*[pair] * steps, question_id=f"q{i}", verify=step * (1.01 if i % 2 else 0.99))
                for i in range(12)
            ]

        def steady(step: float) -> list[TurnRecord]:
            return [timed_turn(*[(0, 0)] * 8, question_id=f"q{i}", verify=step) for i in range(12)]

        fast, first, second = arm((3, 3), 2, 0.1), steady(0.1), steady(0.12)
        alone = measured(*fast, baseline=first)["speedup"]
        both = measured(*fast, baseline=first, control=second)["speedup"]

        assert both.value == alone.value == pytest.approx(4.0, rel=1e-3)
        assert both.low == alone.low
        assert both.high is not None
        assert both.high > 4.8
        assert "baseline rounds differ by 20.0%" in str(both.note)

    @pytest.mark.parametrize(
        ("name", "first", "second"),
        [
            ("speedup", 0.8 / 0.24, 0.96 / 0.24),
            ("speedup_identical_output", 0.8 / 0.24, 0.96 / 0.24),
            ("speedup_from_steps", 4 / 1.2, 4 / 1.0),
            ("e2e_speedup", 1.3 / 0.74, 1.46 / 0.74),
            ("speedup_rule_of_thumb", 4 / (1 + 0.02 / 0.1), 4 / (1 + 0.02 / 0.12)),
            ("step_cost_ratio", 0.12 / 0.1, 0.12 / 0.12),
            ("draft_overhead", 0.02 / 0.1, 0.02 / 0.12),
            ("verify_inflation", 0.1 / 0.1, 0.1 / 0.12),
        ],
    )
    def test_every_number_relative_to_the_baseline_spans_both_rounds(
        self, timed_turn: Build, measured: Measure, name: str, first: float, second: float
    ) -> None:
        # A step takes 0.1 and then 0.12 without a drafter, and 0.02 + 0.1 with one, give or take a hundredth; prefill
        # takes 0.5. Eight steps of one token against two of four.
        def steady(step: float) -> list[TurnRecord]:
            return [timed_turn(*[(0, 0)] * 8, question_id=f"q{i}", verify=step) for i in range(12)]

        arm = [
            timed_turn((3, 3), (3, 3), question_id=f"q{i}", draft=0.02 * off, verify=0.1 * off)
            for i in range(12)
            for off in (1.01 if i % 2 else 0.99,)
        ]
        metric = measured(*arm, baseline=steady(0.1), control=steady(0.12))[name]

        assert metric.value == pytest.approx(first, rel=1e-3)
        assert metric.low is not None
        assert metric.high is not None
        assert 0.98 * min(first, second) < metric.low < min(first, second)
        assert max(first, second) < metric.high < 1.02 * max(first, second)
        assert "baseline rounds differ by" in str(metric.note)

    def test_too_few_conversations_give_no_interval(
        self, cell: Callable[..., list[TurnRecord]], measured: Measure
    ) -> None:
        metric = measured(
            *cell((3, 3), steps=2, step=0.2, questions=7), baseline=cell((0, 0), steps=8, step=0.1, questions=7)
        )["speedup"]
        assert metric.value == pytest.approx(2.0)
        assert metric.low is None
        assert "no interval: 7 conversations, at least 8 are needed" in str(metric.note)


class TestLabels:
    def test_above_temperature_zero_texts_differ(
        self, cell: Callable[..., list[TurnRecord]], measured: Measure
    ) -> None:
        found = measured(*cell((3, 3), steps=2, step=0.2), baseline=cell((0, 0), steps=8, step=0.1), temperature=0.7)
        for name in ("speedup", "e2e_speedup"):
            assert "different texts" in str(found[name].note)

    def test_an_unknown_first_chunk_is_labelled(self, timed_turn: Build, measured: Measure) -> None:
        found = measured(
            timed_turn((3, 3), (3, 3), chunk_tokens=[None, None, None]), baseline=[timed_turn(*[(0, 0)] * 8)]
        )
        assert found["speedup"].value == pytest.approx(4.0)
        assert "first_chunk_assumed_1" in str(found["speedup"].note)

    def test_the_baseline_is_one_by_definition(self, cell: Callable[..., list[TurnRecord]], measured: Measure) -> None:
        found = measured(*cell((0, 0), steps=8, step=0.1), drafter="none", draft_length=0)
        assert (found["speedup"].value, found["speedup"].source) == (1.0, "definition")

    def test_the_control_is_measured_against_the_baseline(
        self, cell: Callable[..., list[TurnRecord]], measured: Measure
    ) -> None:
        baseline = cell((0, 0), steps=8, step=0.1)
        found = measured(*cell((0, 0), steps=8, step=0.125), baseline=baseline, drafter="none", draft_length=0)
        assert found["speedup"].value == pytest.approx(0.8)
        assert found["speedup"].source == "timed"

    def test_without_a_baseline_there_is_no_speedup(
        self, cell: Callable[..., list[TurnRecord]], measured: Measure
    ) -> None:
        found = measured(*cell((3, 3), steps=2, step=0.2))
        for name in ("speedup", "e2e_speedup", "speedup_from_steps", "speedup_rule_of_thumb", "speedup_pairs"):
            assert found[name].value is None
            assert found[name].reason == "the run has no baseline (`none`) arm with these prompts"

    def test_a_baseline_of_other_prompts_is_none(self, timed_turn: Build, measured: Measure) -> None:
        found = measured(timed_turn((3, 3), question_id="a"), baseline=[timed_turn((0, 0), question_id="b")])
        assert found["speedup"].reason == "no turn was answered by both this arm and the baseline"


def test_an_engine_without_steps_still_has_a_speedup(timed_turn: Build, measured: Measure) -> None:
    arm = timed_turn((3, 3), (3, 3), steps=None)
    found = measured(arm, baseline=[timed_turn(*[(0, 0)] * 8, steps=None)])

    assert found["speedup"].value == pytest.approx(4.0)
    assert found["speedup_from_steps"].value is None
    assert found["step_cost_ratio"].reason == "the engine reported no per-step counts"
