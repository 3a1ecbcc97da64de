"""Where a step's time goes, on turns whose parts are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]

PARTS = ("t_verify", "t_draft_busy", "t_draft_exposed", "t_other")


@pytest.fixture
def baseline(timed_turn: Build) -> TurnRecord:
    """Eight steps of 0.1 s, of which the target works 0.08."""
    return timed_turn(*[(0, 0)] * 8, verify=0.08, rest=0.02)


def test_the_parts_of_a_step_and_their_ratios(timed_turn: Build, measured: Measure, baseline: TurnRecord) -> None:
    found = measured(timed_turn((3, 3), (3, 3), draft=0.03, verify=0.12, rest=0.01), baseline=[baseline])

    assert [found[name].value for name in PARTS] == pytest.approx([0.12, 0.03, 0.03, 0.01])
    assert found["t_target"].value == pytest.approx(0.1)
    assert found["t_target"].n == 8
    assert found["draft_overhead"].value == pytest.approx(0.3)
    assert found["verify_inflation"].value == pytest.approx(1.5)
    assert found["step_time"].value == pytest.approx(0.16)
    assert found["step_cost_ratio"].value == pytest.approx(1.6)
    assert {found[name].source for name in (*PARTS, "t_target", "step_cost_ratio")} == {"timed"}


@pytest.mark.parametrize(("part", "term"), [("draft", "t_draft_busy"), ("verify", "t_verify"), ("rest", "t_other")])
def test_a_planted_delay_reappears_in_its_own_term_alone(
    timed_turn: Build, measured: Measure, part: str, term: str
) -> None:
    times = {"draft": 0.03, "verify": 0.12, "rest": 0.01}
    before = measured(timed_turn((3, 3), (3, 3), **times))
    after = measured(timed_turn((3, 3), (3, 3), **(times | {part: times[part] + 0.2})))

    for name in ("t_draft_busy", "t_verify", "t_other"):
        was, now = before[name].value, after[name].value
        assert was is not None
        assert now == pytest.approx(was + (0.2 if name == term else 0))


def test_means_are_over_steps_not_over_turns(timed_turn: Build, measured: Measure) -> None:
    one = timed_turn((3, 3), question_id="a", draft=0.4)
    three = timed_turn((3, 3), (3, 3), (3, 3), question_id="b", draft=0.2)
    assert measured(one, three)["t_draft_busy"].value == pytest.approx((0.4 + 3 * 0.2) / 4)


def test_drafting_that_overlaps_adds_no_more_than_the_step_has_room_for(make_turn: Build, measured: Measure) -> None:
    steps = {"drafted": [3], "accepted": [3], "delivered": [4], "draft_s": [0.5], "verify_s": [0.75], "step_s": [1.0]}
    found = measured(make_turn(output_tokens=5, steps=steps))

    assert found["t_draft_busy"].value == 0.5
    assert found["t_draft_exposed"].value == 0.25
    assert found["t_other"].value == 0
    assert "the most it can be" in str(found["t_draft_exposed"].note)


def test_only_prompts_that_both_answered_are_compared(
    timed_turn: Build, measured: Measure, baseline: TurnRecord
) -> None:
    slow = timed_turn(*[(0, 0)] * 8, question_id="other", verify=9.0)
    found = measured(timed_turn((3, 3), draft=0.03), baseline=[baseline, slow])

    assert found["t_target"].value == pytest.approx(0.1)
    assert found["draft_overhead"].value == pytest.approx(0.3)


def test_the_cost_ratio_counts_only_turns_timed_on_both_sides(
    timed_turn: Build, measured: Measure, baseline: TurnRecord
) -> None:
    unstamped = timed_turn(*[(0, 0)] * 8, question_id="b", last_token_s=None)
    arm = [timed_turn((3, 3), verify=0.16), timed_turn((3, 3), question_id="b", verify=5.0)]
    assert measured(*arm, baseline=[baseline, unstamped])["step_cost_ratio"].value == pytest.approx(1.6)


def test_a_first_chunk_of_several_tokens_hides_how_long_its_steps_took(timed_turn: Build, measured: Measure) -> None:
    turn = timed_turn((3, 3), (3, 3), chunk_tokens=[5, 0, 4])
    assert measured(turn)["step_time"].value is None
    assert measured(timed_turn((3, 3)), turn.model_copy(update={"question_id": "b"}))["step_time"].n == 1


def test_without_a_drafter_drafting_costs_nothing_by_definition(measured: Measure, baseline: TurnRecord) -> None:
    found = measured(baseline, drafter="none", draft_length=0)

    for name in ("t_draft_busy", "t_draft_exposed", "draft_overhead"):
        assert (found[name].value, found[name].source) == (0.0, "definition")
    assert found["t_target"].value == pytest.approx(0.1)
    assert found["verify_inflation"].value == 1.0
    assert found["step_cost_ratio"].value == 1.0


class TestWhatIsNotKnown:
    def test_steps_without_times(self, stepped_turn: Build, measured: Measure, baseline: TurnRecord) -> None:
        found = measured(stepped_turn((3, 3)), baseline=[baseline])
        for name in (*PARTS, "draft_overhead", "verify_inflation"):
            assert found[name].value is None
            assert found[name].reason == "the engine did not time its steps, or not all their parts"

    def test_no_baseline(self, timed_turn: Build, measured: Measure) -> None:
        found = measured(timed_turn((3, 3)))
        for name in ("t_target", "draft_overhead", "verify_inflation", "step_cost_ratio"):
            assert found[name].value is None
            assert found[name].reason == "the run has no baseline (`none`) arm with these prompts"

    def test_a_baseline_without_times(self, timed_turn: Build, make_turn: Build, measured: Measure) -> None:
        found = measured(timed_turn((3, 3)), baseline=[make_turn(output_tokens=5)])
        assert found["draft_overhead"].reason == "the baseline's engine did not time its steps"
        assert found["t_target"].reason == "the baseline's engine did not time its steps"

    def test_steps_shared_by_several_requests(self, make_turn: Build, measured: Measure) -> None:
        times = {"draft_s": [0.1], "verify_s": [0.1], "step_s": [0.2], "batch": [2]}
        steps = {"drafted": [3], "accepted": [3], "delivered": [4], **times}
        metric = measured(make_turn(output_tokens=5, steps=steps))["t_verify"]
        assert metric.value is None
        assert "several requests shared each step" in str(metric.reason)

    def test_a_negative_time_spoils_its_turn_only(self, timed_turn: Build, make_turn: Build, measured: Measure) -> None:
        times = {"draft_s": [-0.5], "verify_s": [0.1], "step_s": [0.2]}
        steps = {"drafted": [3], "accepted": [3], "delivered": [4], **times}
        found = measured(make_turn("bad", output_tokens=5, steps=steps), timed_turn((3, 3), draft=0.2))
        assert found["t_draft_busy"].value == pytest.approx(0.2)
        assert "1 of 2 turns" in str(found["t_draft_busy"].note)


def test_prefill_is_apart(timed_turn: Build, measured: Measure) -> None:
    found = measured(timed_turn((3, 3), prefill_s=0.4, draft_prefill_s=0.1), timed_turn((3, 3), question_id="b"))

    assert found["t_prefill"].value == pytest.approx(0.4)
    assert found["t_draft_prefill"].value == pytest.approx(0.1)
    assert found["t_draft_prefill"].n == 1
