"""Acceptance: every formula of the contract on steps small enough to add up by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


class TestStepsWithoutDraft:
    """A drafter that finds nothing, or is skipped, drafts nothing: neither a rejected draft nor a division by zero."""

    def test_they_count_as_steps_but_not_as_drafts(self, stepped_turn: Build, measured: Measure) -> None:
        # Two real drafts, 1 of 3 and 4 of 4 accepted; four steps without: 2 + 5 + 4 tokens in 6 steps.
        found = measured(stepped_turn((3, 1), (0, 0), (4, 4), (0, 0), (0, 0), (0, 0)))

        assert found["acceptance_length"].value == pytest.approx(11 / 6)
        assert found["acceptance_length_when_drafted"].value == 3.5
        assert found["acceptance_rate"].value == pytest.approx(5 / 7)
        assert found["coverage"].value == pytest.approx(2 / 6)
        assert found["steps_without_draft"].value == 4
        assert found["drafting_steps"].value == 2
        assert found["drafted_per_step"].value == pytest.approx(7 / 6)
        assert found["drafted_per_draft"].value == 3.5

    def test_an_arm_that_never_drafted_has_length_one_and_no_rate(self, stepped_turn: Build, measured: Measure) -> None:
        found = measured(stepped_turn((0, 0), (0, 0), (0, 0)))

        assert found["acceptance_length"].value == 1.0
        assert found["coverage"].value == 0.0
        for name in ("acceptance_rate", "acceptance_length_when_drafted", "joint_acceptance[1]", "accepted_per_draft"):
            assert found[name].value is None
            assert found[name].reason == "no step had a draft"

    def test_full_acceptance_of_few_drafts_is_no_high_length(self, stepped_turn: Build, measured: Measure) -> None:
        # 5 drafts in 100 steps, one of them of two tokens, all accepted: 106 tokens.
        found = measured(stepped_turn((2, 2), (1, 1), (1, 1), (1, 1), (1, 1), *[(0, 0)] * 95))

        assert found["acceptance_rate"].value == 1.0
        assert found["acceptance_length"].value == 1.06
        assert found["acceptance_length_when_drafted"].value == 2.2
        assert found["drafted_per_draft"].value == 1.2
        assert found["coverage"].value == 0.05

    def test_a_dead_drafter_has_length_one_and_rate_zero(self, stepped_turn: Build, measured: Measure) -> None:
        found = measured(stepped_turn((5, 0), (5, 0), (5, 0)))

        assert found["acceptance_length"].value == 1.0
        assert found["acceptance_rate"].value == 0.0
        assert found["acceptance_rate"].source == "engine"


class TestNames:
    """One word, several definitions: each under its own name."""

    def test_the_bonus_token_counts_and_other_definitions_have_other_names(
        self, stepped_turn: Build, measured: Measure
    ) -> None:
        # 4 drafts of 3 with 3, 1, 0, 2 accepted: 10 tokens in 4 steps and one from prefill.
        found = measured(stepped_turn((3, 3), (3, 1), (3, 0), (3, 2)))

        assert found["acceptance_length"].value == 2.5
        assert found["accepted_per_draft"].value == 1.5
        assert found["acceptance_length_sglang"].value == 2.75
        assert found["acceptance_length_specdec_bench"].value == 11 / 5

    def test_the_headline_is_pooled_and_means_over_answers_are_apart(
        self, stepped_turn: Build, measured: Measure
    ) -> None:
        short = stepped_turn(*[(0, 0)] * 4, question_id="short")  # 4 tokens in 4 steps
        long = stepped_turn(*[(3, 3)] * 20, question_id="long")  # 80 tokens in 20 steps
        found = measured(short, long)

        assert found["acceptance_length"].value == 84 / 24
        assert found["acceptance_length_request_mean"].value == (1 + 4) / 2
        assert found["acceptance_length_token_weighted"].value == pytest.approx((4 * 1 + 80 * 4) / 84)
        assert found["acceptance_length_specdec_bench"].value == pytest.approx((5 / 5 + 81 / 21) / 2)


class TestCutSteps:
    """EOS, a stop string or max_tokens may end an answer inside an accepted block."""

    def test_tokens_after_the_cut_do_not_count(self, stepped_turn: Build, measured: Measure) -> None:
        # 4 tokens, then 5 of 5 accepted but the third is EOS: 3 delivered.
        found = measured(stepped_turn((3, 3), (5, 5), cut=3))

        assert found["acceptance_length"].value == 3.5
        assert found["acceptance_rate"].value == 1.0  # 3 + 3 of 3 + 3 that could be of use
        assert found["acceptance_length_when_drafted"].value == 4.0  # 1 + (3 + 3) / 2
        assert found["acceptance_length_verified"].value == 4.0  # the uncut step alone
        assert found["acceptance_histogram[3]"].value == 2

    def test_a_rejected_draft_within_a_cut_step_counts_only_up_to_the_cut(
        self, stepped_turn: Build, measured: Measure
    ) -> None:
        # 5 drafted, 3 accepted, 2 delivered: u = 2 of v = 2.
        found = measured(stepped_turn((5, 3), cut=2))

        assert found["drafted_per_step"].value == 2
        assert found["acceptance_rate"].value == 1.0
        assert found["acceptance_length_verified"].value is None
        assert "cut short" in str(found["acceptance_length_verified"].reason)

    def test_a_step_that_lost_only_the_targets_own_token_is_cut_too(
        self, stepped_turn: Build, measured: Measure
    ) -> None:
        # 3 of 3 accepted, 3 delivered: what the target agreed to is known of the other step alone.
        found = measured(stepped_turn((3, 1), (3, 3), cut=1))

        assert found["acceptance_length_verified"].value == 2.0
        assert found["acceptance_length_verified"].n == 1
        assert found["acceptance_length"].value == 2.5


class TestWhatIsNotKnown:
    def test_the_baseline_is_known_by_definition_without_steps(self, make_turn: Build, measured: Measure) -> None:
        found = measured(make_turn(output_tokens=9), drafter="none", draft_length=0)

        assert found["acceptance_length"].value == 1.0
        assert found["acceptance_length"].n == 8
        assert found["acceptance_length"].source == "definition"
        assert found["decode_steps"].value == 8
        assert found["acceptance_rate"].reason == "this arm drafts nothing"

    def test_an_engine_without_step_counts_gives_null_and_says_so(self, make_turn: Build, measured: Measure) -> None:
        found = measured(make_turn(output_tokens=9))

        for name in ("acceptance_length", "acceptance_rate", "coverage", "joint_acceptance[2]", "steps_without_draft"):
            assert found[name].value is None
            assert found[name].reason == "the engine reported no per-step counts"

    def test_steps_of_some_turns_are_pooled_and_the_others_mentioned(
        self, make_turn: Build, stepped_turn: Build, measured: Measure
    ) -> None:
        found = measured(stepped_turn((3, 2), question_id="a"), make_turn(output_tokens=9, question_id="b"))

        assert found["acceptance_length"].value == 3.0
        assert "steps known for 1 of 2 turns" in str(found["acceptance_length"].note)

    def test_one_token_answers_have_no_step(self, make_turn: Build, stepped_turn: Build, measured: Measure) -> None:
        assert measured(stepped_turn())["acceptance_length"].value is None
        alone = measured(make_turn(output_tokens=1), drafter="none", draft_length=0)["acceptance_length"]
        assert alone.value is None
        assert "no decode step" in str(alone.reason)

    def test_failed_turns_count_nowhere(self, stepped_turn: Build, measured: Measure) -> None:
        good = stepped_turn((3, 0), question_id="a")
        failed = stepped_turn((3, 3), question_id="b", status="failed")
        found = measured(good, failed)

        assert found["acceptance_length"].value == 1.0
        assert measured(failed)["acceptance_length"].reason == "no turn succeeded"
        assert measured()["acceptance_length"].reason == "no turn was measured"
