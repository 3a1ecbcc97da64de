"""The lamp "speculation really on": dead, timid and over-long drafters are named although every answer is right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from draftmark.results.records import Arm
from draftmark.results.sanity.speculation import COUNTERS_OK, OK, check_speculation

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import StepColumns, TurnRecord
    from draftmark.results.sanity import CheckedCell
    from draftmark.results.summary import MetricValue

    MakeChecked = Callable[..., CheckedCell]
    Said = Callable[..., list[tuple[str, str]]]
    MakeTurn = Callable[..., TurnRecord]
    MakeSteps = Callable[..., StepColumns]
    MakeMetric = Callable[..., MetricValue]


def ngram(draft_length: int) -> Arm:
    return Arm(drafter="ngram", draft_length=draft_length)


@pytest.fixture
def said(make_checked: MakeChecked, make_turn: MakeTurn, make_steps: MakeSteps) -> Callable[..., list[tuple[str, str]]]:
    def check(draft_length: int, *pairs: tuple[int, int], **changes: object) -> list[tuple[str, str]]:
        steps = make_steps(*pairs)
        turn = make_turn(steps=steps, output_tokens=1 + sum(steps.delivered))
        cell = make_checked([turn], ngram(draft_length), **changes)
        return [(lamp.level, lamp.text) for lamp in check_speculation(cell)]

    return check


def test_drafts_within_d_of_which_some_are_accepted_are_fine(said: Said) -> None:
    assert said(3, (3, 1), (3, 0), (0, 0)) == [("ok", OK)]


def test_a_dead_drafter_only_costs(said: Said) -> None:
    ((level, text),) = said(5, *[(5, 0)] * 870)
    assert level == "warning"
    assert "None of the 4,350 drafted tokens was accepted and a step gave 1.00 tokens" in text
    assert "the drafter adds only cost" in text


def test_perfect_acceptance_is_doubted_where_little_was_drafted(said: Said) -> None:
    ((level, text),) = said(2, *[(1, 1)] * 49, (2, 2), *[(0, 0)] * 850)
    assert level == "warning"
    assert "51 of 51 drafted tokens were accepted" in text
    assert "94% of steps had no draft, the others 1.02 tokens each" in text
    assert "acceptance length over all steps is 1.057" in text


def test_perfect_acceptance_of_drafts_in_every_step_is_fine(said: Said) -> None:
    assert said(3, *[(3, 3)] * 40) == [("ok", OK)]


def test_positions_that_are_never_accepted_are_named(said: Said) -> None:
    # 100 drafts of ten tokens: 57, 36, 20, 11 and 4 of them get to positions 1 to 5, none further.
    reached = [5] * 4 + [4] * 7 + [3] * 9 + [2] * 16 + [1] * 21 + [0] * 43
    ((level, text),) = said(10, *[(10, accepted) for accepted in reached])
    assert level == "warning"
    assert "positions 6-10 were never accepted (500 proposals): D = 5" in text


def test_a_position_that_was_hardly_ever_proposed_is_not_judged(said: Said) -> None:
    assert said(4, *[(3, 3)] * 50, *[(4, 3)] * 29) == [("ok", OK)]
    assert [level for level, _ in said(4, *[(3, 3)] * 50, *[(4, 3)] * 30)] == ["warning"]


def test_a_drafter_that_never_proposed_is_the_baseline(said: Said) -> None:
    ((level, text),) = said(3, (0, 0), (0, 0))
    assert level == "warning"
    assert "never proposed a token in 2 steps" in text


def test_drafts_longer_than_d_void_the_numbers(said: Said) -> None:
    assert [(level, "drafted 4 tokens although D is 3" in text) for level, text in said(3, (4, 1))] == [("fault", True)]


def test_more_tokens_per_step_than_d_allows_void_the_numbers(
    make_checked: MakeChecked, make_turn: MakeTurn, make_steps: MakeSteps
) -> None:
    steps = make_steps((3, 3), (3, 1)).model_copy(update={"delivered": [5, 2]})
    (lamp,) = check_speculation(make_checked([make_turn(steps=steps, output_tokens=8)], ngram(3)))
    assert (lamp.level, lamp.cells) == ("fault", ["none"])
    assert "delivered 5 tokens although D = 3 allows 4" in lamp.text


def test_a_smaller_d_than_asked_for_is_noted(said: Said) -> None:
    assert [level for level, _ in said(8, (3, 1), (2, 2))] == ["note", "ok"]
    assert "No step drafted more than 3 of the 8 tokens allowed" in said(8, (3, 1), (2, 2))[0][1]


def test_an_engine_that_tells_no_steps_proves_nothing(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    (lamp,) = check_speculation(make_checked([make_turn(output_tokens=9)], ngram(3)))
    assert lamp.level == "warning"
    assert "told nothing about its decode steps" in lamp.text


def test_answers_of_one_token_leave_nothing_to_draft(said: Said) -> None:
    assert [level for level, _ in said(3)] == ["warning"]


def test_the_baseline_and_cells_without_answers_are_not_judged(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    assert list(check_speculation(make_checked([make_turn()]))) == []
    assert list(check_speculation(make_checked([make_turn(status="failed")], ngram(3)))) == []
    assert list(check_speculation(make_checked([], ngram(3)))) == []


def test_failed_turns_do_not_count(make_checked: MakeChecked, make_turn: MakeTurn, make_steps: MakeSteps) -> None:
    turns = [
        make_turn("p1", steps=make_steps((3, 1))),
        make_turn("p2", steps=make_steps((9, 0)), status="failed"),
    ]
    assert [lamp.level for lamp in check_speculation(make_checked(turns, ngram(3)))] == ["ok"]


def test_an_arm_slower_than_no_speculation_is_no_doubt_about_its_measurement(
    said: Said, make_metric: MakeMetric
) -> None:
    assert [level for level, _ in said(3, (3, 1), metrics={"speedup": make_metric(0.87, 0.80, 0.93)})] == ["ok"]


class TestCounters:
    """An engine that tells no steps, but counts drafts: one turn of nine tokens."""

    @pytest.fixture
    def judged(self, make_checked: MakeChecked, make_turn: MakeTurn) -> Callable[..., tuple[str, str]]:
        def check(**counted: float) -> tuple[str, str]:
            after = {"output_tokens": 9.0, "drafting_steps": 4.0, "drafted_tokens": 12.0, "accepted_tokens": 4.0}
            after |= counted
            window = {"session": 0, "launch": 0, "before": dict.fromkeys(after, 0.0), "after": after}
            cell = replace(make_checked([make_turn(output_tokens=9)], ngram(3)), engine={"windows": [window]})
            (lamp,) = check_speculation(cell)
            return lamp.level, lamp.text

        return check

    def test_they_show_that_it_was_on(self, judged: Callable[..., tuple[str, str]]) -> None:
        assert judged() == ("ok", COUNTERS_OK)

    def test_they_show_a_dead_drafter(self, judged: Callable[..., tuple[str, str]]) -> None:
        level, text = judged(accepted_tokens=0.0)
        assert level == "warning"
        assert "none of the 12 drafted tokens was accepted" in text

    def test_they_show_that_nothing_was_drafted(self, judged: Callable[..., tuple[str, str]]) -> None:
        level, text = judged(drafting_steps=0.0, drafted_tokens=0.0, accepted_tokens=0.0)
        assert level == "warning"
        assert "saw no draft" in text

    def test_counters_of_other_tokens_show_nothing_and_say_why(self, judged: Callable[..., tuple[str, str]]) -> None:
        level, text = judged(output_tokens=5.0)
        assert level == "warning"
        assert "it counted 5 tokens where these turns have 9" in text
        assert "nothing shows whether speculation was on" in text
