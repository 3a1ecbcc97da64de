"""The lamp "answers fit to measure": answers that end at once, are cut, or go round in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.records import Arm, Sampling
from draftmark.results.sanity.answers import CUT, OK, check_answers, check_loops

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell
    from draftmark.results.summary import CellSummary, MetricValue

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]
    Loops = Callable[..., CellSummary]


def said(cell: CheckedCell) -> list[tuple[str, str]]:
    lamps = list(check_answers(cell))
    assert {lamp.name for lamp in lamps} <= {"answers"}
    return [(lamp.level, lamp.text) for lamp in lamps]


class TestShort:
    @pytest.fixture
    def of(self, make_checked: MakeChecked, make_turn: MakeTurn) -> Callable[..., list[tuple[str, str]]]:
        """What is said of answers of so many tokens."""

        def check(*tokens: int | None, **facts: object) -> list[tuple[str, str]]:
            turns = [make_turn(f"p{n}", output_tokens=count) for n, count in enumerate(tokens)]
            return said(make_checked(turns, **facts))

        return check

    def test_answers_of_two_tokens_are_fine(self, of: Callable[..., list[tuple[str, str]]]) -> None:
        assert of(2, 3) == [("ok", OK)]

    def test_one_answer_in_eleven_is_noted_and_one_in_ten_a_warning(
        self, of: Callable[..., list[tuple[str, str]]]
    ) -> None:
        ((level, text),) = of(1, *[9] * 10)
        assert level == "note"
        assert text.startswith("1 of 11 answers ended by their first token, which prefill gives: ")
        ((level, _),) = of(1, *[9] * 9)
        assert level == "warning"

    def test_empty_ones_are_told_apart(self, of: Callable[..., list[tuple[str, str]]]) -> None:
        ((level, text),) = of(0, 1, 5, None)
        assert level == "warning"
        assert text.startswith("2 of 3 answers ended by their first token (1 of them without any), which prefill")

    def test_nothing_else_is_a_fault(self, of: Callable[..., list[tuple[str, str]]]) -> None:
        ((level, text),) = of(1, 1, 0)
        assert level == "fault"
        assert "no decode step was measured, and nothing can be said of acceptance or speed." in text

    def test_a_plan_that_asks_for_one_token_gets_what_it_asked_for(
        self, of: Callable[..., list[tuple[str, str]]]
    ) -> None:
        ((level, text),) = of(1, 1, max_tokens=1)
        assert level == "note"
        assert text.startswith("max_tokens is 1")

    def test_requests_that_asked_for_one_token_got_what_they_asked_for(
        self, make_checked: MakeChecked, make_turn: MakeTurn
    ) -> None:
        own = Sampling(temperature=0.0, max_tokens=1)
        ones = [make_turn(f"p{n}", output_tokens=1, finish_reason="length", sampling=own) for n in range(2)]
        assert said(make_checked(ones)) == [
            ("note", "max_tokens is 1: prefill gives that token, so no decode step was measured.")
        ]
        others = [make_turn("q0", output_tokens=9), make_turn("q1", output_tokens=1), make_turn("q2", output_tokens=9)]
        assert said(make_checked([*ones, *others])) == [
            (
                "note",
                "2 of 5 answers had a max_tokens of 1, which prefill gives: acceptance and time per token rest on the "
                "others.",
            ),
            (
                "warning",
                "1 of 3 other answers ended by their first token, which prefill gives: they have no decode step, so "
                "acceptance and time per token rest on the others; ask for longer answers.",
            ),
        ]

    def test_requests_that_asked_for_more_than_the_plan_are_judged_by_their_own(
        self, make_checked: MakeChecked, make_turn: MakeTurn
    ) -> None:
        own = Sampling(temperature=0.0, max_tokens=9)
        ended = [make_turn(f"p{n}", output_tokens=1, finish_reason="eos", sampling=own) for n in range(2)]
        ((level, text),) = said(make_checked(ended, max_tokens=1))
        assert level == "fault"
        assert text.startswith("2 of 2 answers ended by their first token")
        cut = [make_turn(f"p{n}", output_tokens=9, finish_reason="length", sampling=own) for n in range(2)]
        assert said(make_checked(cut, max_tokens=1)) == [("note", CUT)]

    def test_without_a_token_at_all_the_values_say_it(self, of: Callable[..., list[tuple[str, str]]]) -> None:
        assert not [level for level, _ in of(0, 0) if level == "fault"]


def test_answers_that_were_all_cut_are_noted(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    cut = [make_turn(f"p{n}", output_tokens=8, finish_reason="length") for n in range(2)]
    assert said(make_checked(cut)) == [("note", CUT)]
    assert said(make_checked([*cut, make_turn("p9", output_tokens=2, finish_reason="eos")])) == [("ok", OK)]


def test_every_doubt_about_answers_ends_in_what_to_do(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    assert CUT.endswith(": raise max_tokens.")
    turns = [make_turn(f"p{n}", output_tokens=8, finish_reason=("context", "eos")[n]) for n in range(2)]
    ((_, text),) = said(make_checked(turns))
    assert text.endswith("raise that limit, or lower max_tokens.")


def test_answers_cut_before_max_tokens_are_a_warning(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    turns = [make_turn(f"p{n}", output_tokens=8, finish_reason=("context", "eos", "eos")[n]) for n in range(3)]
    ((level, text),) = said(make_checked(turns))
    assert level == "warning"
    assert text.startswith("1 of 3 answers were cut before max_tokens")


class TestLoops:
    @pytest.fixture
    def cell(self, make_checked: MakeChecked, make_turn: MakeTurn, make_metric: Callable[..., MetricValue]) -> Loops:
        def build(drafter: str, looping: float | None, group: str = "g") -> CellSummary:
            arm = Arm(drafter=drafter, draft_length=0 if drafter == "none" else 3)
            turn = make_turn(cell_id=f"{group}-{drafter}", output_tokens=9)
            metrics = {"looping_answers": make_metric(looping)}
            return make_checked([turn], arm, metrics=metrics, group=group).summary

        return build

    def test_drafters_that_copy_are_flattered_by_a_habit_of_the_target(self, cell: Loops) -> None:
        cells = [cell("none", 0.3), cell("ngram", 0.3), cell("suffix", 0.3), cell("draft-model", 0.3)]
        (lamp,) = check_loops(cells)
        assert (lamp.name, lamp.level) == ("answers", "warning")
        assert lamp.cells == ["g-ngram", "g-suffix"]
        assert lamp.text == (
            "30% of the answers mostly repeat themselves, without speculation too: such loops are easy to draft, by "
            "copying above all, so acceptance and speed-up are flattered. Take another suite or a larger target; "
            "looping_answers has each arm's share."
        )

    def test_suites_share_a_sentence_that_spans_them(self, cell: Loops) -> None:
        cells = [cell(name, share, group) for group, share in (("g", 0.2), ("h", 0.6)) for name in ("none", "ngram")]
        (lamp,) = check_loops(cells)
        assert lamp.text.startswith("20% to 60% of the answers")
        assert lamp.cells == ["g-ngram", "h-ngram"]

    def test_a_few_are_noted_for_every_arm(self, cell: Loops) -> None:
        (lamp,) = check_loops([cell("none", 0.05), cell("ngram", 0.05), cell("draft-model", 0.05)])
        assert lamp.level == "note"
        assert lamp.cells == ["g-ngram", "g-draft-model"]

    def test_loops_that_the_baseline_does_not_have_are_no_habit(self, cell: Loops) -> None:
        (lamp,) = check_loops([cell("none", 0.1), cell("draft-model", 0.5)])
        assert lamp.level == "warning"
        assert lamp.text.startswith("50% of the answers mostly repeat themselves, and without speculation fewer do")

    def test_without_a_baseline_nothing_is_said_of_it(self, cell: Loops) -> None:
        (lamp,) = check_loops([cell("suffix", 1.0)])
        assert lamp.text.startswith("100% of the answers mostly repeat themselves: such loops")

    def test_where_half_of_them_loop_every_drafter_is_flattered(self, cell: Loops) -> None:
        (lamp,) = check_loops([cell("none", 0.5), cell("draft-model", 0.5)])
        assert (lamp.level, lamp.cells) == ("warning", ["g-draft-model"])

    def test_no_loop_or_no_number_says_nothing(self, cell: Loops) -> None:
        assert list(check_loops([cell("none", 0.0), cell("ngram", 0.0), cell("suffix", None)])) == []
