"""The lamp "output unchanged": only what exceeds the baseline's difference from itself is held against a drafter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from draftmark.results.records import Arm, Divergence
from draftmark.results.sanity.output import OK, check_output
from draftmark.results.summary import MetricValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell

    MakeChecked = Callable[..., CheckedCell]
    Said = Callable[..., list[tuple[str, str]]]
    MakeTurn = Callable[..., TurnRecord]

CONTROL = Arm(drafter="none", draft_length=0, control=True)
NGRAM = Arm(drafter="ngram", draft_length=3)
Verdict = Literal["numeric-tie", "fault", "unknown"]


def rows(*verdicts: Verdict, first: int = 0) -> list[Divergence]:
    """One divergence per verdict, of questions q0, q1, ... (or from `first` on)."""
    return [
        Divergence(
            cell_id="x", question_id=f"q{first + n}", turn_index=0, repeat=0, position=4, baseline_id=1, arm_id=2,
            verdict=verdict, reason="measured",
        )
        for n, verdict in enumerate(verdicts)
    ]  # fmt: skip


@pytest.fixture
def said(make_checked: MakeChecked, make_turn: MakeTurn) -> Callable[..., list[tuple[str, str]]]:
    def check(
        arm: list[Divergence] | None, control: list[Divergence] | None = None, **changes: Any
    ) -> list[tuple[str, str]]:
        answers = [make_turn(f"q{n}", "ngram") for n in range(10)]
        compared = MetricValue(value=float(len(arm or [])), n=10, unit="count")
        cells = [
            make_checked([make_turn("q0", "base")]),
            make_checked([make_turn("q0", "again")], CONTROL, divergences=control or []),
            make_checked(answers, NGRAM, **({"divergences": arm, "metrics": {"divergent_turns": compared}} | changes)),
        ]
        return [(lamp.level, lamp.text) for lamp in check_output(cells)]

    return check


def test_equal_answers_are_fine(said: Said) -> None:
    assert said([]) == [("ok", OK)]


def test_a_divergence_without_excuse_is_a_fault(said: Said) -> None:
    ((level, text),) = said(rows("fault", "numeric-tie", "numeric-tie"))
    assert level == "fault"
    assert text.startswith("3 answers of 10 left the baseline's (1 without excuse, 2 at a numeric tie). Speculation ")


def test_numeric_ties_are_no_fault(said: Said) -> None:
    ((level, text),) = said(rows("numeric-tie"))
    assert level == "note"
    assert text.startswith("1 answer of 10 left the baseline's (1 at a numeric tie).")


def test_what_could_not_be_measured_is_a_warning(said: Said) -> None:
    ((level, text),) = said(rows("unknown", "numeric-tie"))
    assert level == "warning"
    assert "1 for a reason not measured" in text


def test_answers_in_which_the_baseline_leaves_itself_are_not_held_against_an_arm(said: Said) -> None:
    assert [level for level, _ in said(rows("fault"), rows("fault"))] == ["warning", "note"]
    assert [level for level, _ in said(rows("unknown"), rows("unknown"))] == ["note", "note"]
    assert said(rows("fault"), rows("numeric-tie"))[1][1].endswith(
        "the baseline's second run leaves its first as well."
    )


def test_other_answers_are(said: Said) -> None:
    assert [level for level, _ in said(rows("fault", "fault"), rows("fault"))] == ["warning", "fault"]
    assert [level for level, _ in said(rows("fault", first=5), rows("fault"))] == ["warning", "fault"]
    assert [level for level, _ in said(rows("numeric-tie", first=5), rows("numeric-tie"))] == ["note", "note"]


def test_an_engine_that_does_not_repeat_itself_is_named(said: Said) -> None:
    assert "Two runs without any speculation differ in 2 answers" in said([], rows("numeric-tie", "unknown"))[0][1]


def test_answers_that_were_not_compared_prove_nothing(said: Said) -> None:
    nothing = MetricValue(value=None, n=0, unit="count", reason="no output was recorded")
    (unjudged,) = said(None)
    assert unjudged[0] == "warning"
    assert unjudged[1].startswith("So far 0 of ")
    assert unjudged[1].endswith("at the end of a run: resume it.")
    assert said([], metrics={"divergent_turns": nothing}) == [
        ("warning", "The answers were not compared with the baseline's: no output was recorded.")
    ]


def test_above_temperature_0_text_is_not_compared(said: Said) -> None:
    ((level, text),) = said(None, temperature=0.7)
    assert level == "note"
    assert text.startswith("At temperature 0.7 answers are drawn by chance")
