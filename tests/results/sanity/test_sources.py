"""The lamps on places that tell of the same drafting: step records, statistics per request, engine counters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.records import Arm, ReportedCounts
from draftmark.results.sanity.sources import check_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import StepColumns, TurnRecord
    from draftmark.results.sanity import CheckedCell

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]
    MakeSteps = Callable[..., StepColumns]

NGRAM = Arm(drafter="ngram", draft_length=3)
COUNTERS = {
    "output_tokens": 12.0,
    "drafting_steps": 4.0,
    "drafted_tokens": 11.0,
    "accepted_tokens": 5.0,
    "accepted_tokens[1]": 2.0,
    "accepted_tokens[2]": 2.0,
    "accepted_tokens[3]": 1.0,
}
"""What the two turns of `turns` come to."""


def window(*, before: float = 1000.0, session: int = 0, launch: int = 0, **changes: float) -> dict[str, Any]:
    """Counters around a cell; what they count had reached `before` when it began."""
    after = {name: before + value for name, value in (COUNTERS | changes).items()}
    return {"session": session, "launch": launch, "before": dict.fromkeys(after, before), "after": after}


@pytest.fixture
def turns(make_turn: MakeTurn, make_steps: MakeSteps) -> Callable[..., list[TurnRecord]]:
    """Two turns of six tokens each: (3, 2), (0, 0), (3, 0) and (3, 3), (2, 0)."""

    def build(**changes: Any) -> list[TurnRecord]:
        told = {
            "p1": (make_steps((3, 2), (0, 0), (3, 0)), ReportedCounts(drafting_steps=2, drafted=6, accepted=2)),
            "p2": (make_steps((3, 3), (2, 0)), ReportedCounts(drafting_steps=2, drafted=5, accepted=3)),
        }
        return [
            make_turn(name, **({"output_tokens": 6, "steps": steps, "reported": reported} | changes))
            for name, (steps, reported) in told.items()
        ]

    return build


@pytest.fixture
def lamps(make_checked: MakeChecked) -> Callable[..., list[tuple[str, str]]]:
    """Level and text of what is said of a cell's sources."""

    def check(turns: list[TurnRecord], *windows: dict[str, Any], arm: Arm = NGRAM) -> list[tuple[str, str]]:
        cell = replace(make_checked(turns, arm), engine={"windows": list(windows)} if windows else None)
        return [(lamp.level, lamp.text) for lamp in check_sources(cell)]

    return check


Lamps = "Callable[..., list[tuple[str, str]]]"
Turns = "Callable[..., list[TurnRecord]]"


class TestAgreement:
    def test_all_three_agree(self, lamps: Lamps, turns: Turns) -> None:
        text = "What tells of the drafts agrees to the last one: step records, statistics per request, engine counters."
        assert lamps(turns(), window()) == [("ok", text)]

    def test_two_of_them_agree(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns())[0][1].endswith("one: step records, statistics per request.")
        assert lamps(turns(reported=None), window())[0][1].endswith("one: step records, engine counters.")

    def test_steps_inferred_from_statistics_are_held_against_counters_alone(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns(steps_inferred=True)) == []
        (found,) = lamps(turns(steps_inferred=True), window())
        assert found[1].endswith("one: statistics per request, engine counters.")

    def test_one_source_alone_says_nothing(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns(reported=None)) == []

    def test_turns_without_steps_are_no_agreement(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns(steps=None)) == []

    def test_nothing_is_asked_of_the_baseline(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns(), window(drafting_steps=9.0), arm=Arm(drafter="none", draft_length=0)) == []

    def test_every_window_holds_its_own_turns(self, lamps: Lamps, turns: Turns) -> None:
        first, second = turns()[:1], [turn.model_copy(update={"launch": 1}) for turn in turns()[1:]]
        one = {"output_tokens": 6.0, "drafting_steps": 2.0, "drafted_tokens": 6.0, "accepted_tokens": 2.0}
        one |= {"accepted_tokens[1]": 1.0, "accepted_tokens[2]": 1.0, "accepted_tokens[3]": 0.0}
        other = {name: COUNTERS[name] - value for name, value in one.items()}
        (found,) = lamps([*first, *second], window(**one), window(launch=1, before=3.0, **other))
        assert found[0] == "ok"


class TestContradictions:
    @pytest.mark.parametrize(
        ("changed", "told"),
        [
            ({"drafting_steps": 3}, "2 against 3 drafting steps, 6 against 6 drafted tokens, 2 against 2 accepted"),
            ({"drafted": 9}, "2 against 2 drafting steps, 6 against 9 drafted tokens, 2 against 2 accepted"),
            ({"accepted": 1}, "2 against 2 drafting steps, 6 against 6 drafted tokens, 2 against 1 accepted"),
        ],
    )
    def test_statistics_of_a_request(self, lamps: Lamps, turns: Turns, changed: dict[str, int], told: str) -> None:
        first, second = turns()
        assert first.reported is not None
        wrong = first.model_copy(update={"reported": first.reported.model_copy(update=changed)})
        ((level, text),) = lamps([wrong, second])
        assert level == "fault"
        assert text.startswith("In 1 turn the step records contradict the engine's statistics of the same request")
        assert f"(first in question p1: {told}" in text

    @pytest.mark.parametrize(
        ("changed", "told"),
        [
            ({"drafting_steps": 5.0}, "4 against 5 drafting steps."),
            ({"drafted_tokens": 12.0}, "11 against 12 drafted tokens."),
            ({"accepted_tokens": 4.0}, "5 against 4 accepted tokens."),
            ({"accepted_tokens[2]": 1.0}, "2 against 1 drafts accepted up to position 2."),
            ({"accepted_tokens[3]": 0.0}, "1 against 0 drafts accepted up to position 3."),
        ],
    )
    def test_counters_of_a_window(self, lamps: Lamps, turns: Turns, changed: dict[str, float], told: str) -> None:
        ((level, text),) = lamps(turns(reported=None), window(launch=0, **changed))
        assert level == "fault"
        assert f"In launch 0 the records contradict the engine's counters: {told}" in text


class TestWhatCannotBeCompared:
    def test_other_tokens_in_the_window_are_said(self, lamps: Lamps, turns: Turns) -> None:
        ((level, text),) = lamps(turns(reported=None), window(output_tokens=1_040.0, drafting_steps=9.0))
        assert level == "note"
        assert text.startswith("In launch 0 the engine counted 1,040 generated tokens and its turns have 12: ")

    def test_tokens_of_a_turn_that_failed_midway_are_no_contradiction(
        self, lamps: Lamps, turns: Turns, make_turn: MakeTurn
    ) -> None:
        failed = make_turn("p3", status="failed")
        assert lamps([*turns(reported=None), failed], window(output_tokens=15.0, drafting_steps=9.0)) == []

    def test_an_engine_that_went_on_beyond_a_stop_string_is_no_contradiction(self, lamps: Lamps, turns: Turns) -> None:
        """The string is looked for outside the engine, which counts a step more and no token."""
        assert lamps(turns(reported=None, finish_reason="stop"), window(drafting_steps=5.0)) == []

    def test_turns_of_unknown_length(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns(reported=None, output_tokens=None), window()) == []

    def test_a_window_of_another_launch(self, lamps: Lamps, turns: Turns) -> None:
        assert lamps(turns(reported=None), window(launch=7)) == []

    def test_an_engine_that_counts_no_drafts(self, lamps: Lamps, turns: Turns) -> None:
        told = {"session": 0, "launch": 0, "before": {"output_tokens": 3.0}, "after": {"output_tokens": 15.0}}
        ((level, text),) = lamps(turns(), told)
        assert level == "ok"
        assert text.endswith("one: step records, statistics per request.")


class TestPadding:
    def test_an_engine_that_counts_padding_is_held_against_the_records_with_it(
        self, lamps: Lamps, turns: Turns
    ) -> None:
        first, second = turns()
        padded = {"drafting_steps": 3, "drafted": 9, "padding_steps": 1, "padding_tokens": 3}
        assert first.reported is not None
        first = first.model_copy(update={"reported": first.reported.model_copy(update=padded)})
        ((level, text),) = lamps([first, second], window(drafting_steps=5.0, drafted_tokens=14.0))
        assert level == "ok"
        assert text.endswith("step records, statistics per request, engine counters.")

    def test_padding_that_nobody_saw_is_a_contradiction(self, lamps: Lamps, turns: Turns) -> None:
        ((level, _),) = lamps(turns(reported=None), window(drafting_steps=5.0, drafted_tokens=14.0))
        assert level == "fault"


class TestCountersAgainstAnswers:
    def test_more_tokens_in_answers_than_were_generated_are_a_warning(self, lamps: Lamps, turns: Turns) -> None:
        # The two turns have 12 tokens by their answers, and 6 by the engine's counters.
        ((level, text),) = lamps(turns(reported=None, steps=None), window(output_tokens=6.0))
        assert level == "warning"
        assert "counters have 6 generated tokens, and the counts that came with its answers 12" in text

    def test_the_baseline_is_held_against_them_too(self, lamps: Lamps, turns: Turns) -> None:
        arm = Arm(drafter="none", draft_length=0)
        ((level, _),) = lamps(turns(reported=None, steps=None), window(output_tokens=6.0), arm=arm)
        assert level == "warning"

    def test_counters_that_stand_still_say_nothing(self, lamps: Lamps, turns: Turns) -> None:
        ((level, text),) = lamps(turns(reported=None, steps=None), window(output_tokens=0.0))
        assert level == "note"
        assert "counters stood still while its turns had 12 tokens" in text
