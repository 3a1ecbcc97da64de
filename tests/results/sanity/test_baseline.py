"""The lamp "baseline sane": it is there, speculates not, repeats itself, and does not drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.records import Arm
from draftmark.results.sanity.baseline import DRIFT_UNJUDGED, OK, baseline_drift, check_baseline

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import StepColumns, TurnRecord
    from draftmark.results.sanity import CheckedCell
    from draftmark.results.summary import MetricValue

    MakeChecked = Callable[..., CheckedCell]
    Group = Callable[..., list[CheckedCell]]
    MakeTurn = Callable[..., TurnRecord]
    MakeMetric = Callable[..., MetricValue]

CONTROL = Arm(drafter="none", draft_length=0, control=True)
NGRAM = Arm(drafter="ngram", draft_length=3)


@pytest.fixture
def group(make_checked: MakeChecked, make_turn: MakeTurn) -> Callable[..., list[CheckedCell]]:
    def build(speedup: MetricValue | None) -> list[CheckedCell]:
        metrics = {} if speedup is None else {"speedup": speedup}
        return [
            make_checked([make_turn("p1", "base")]),
            make_checked([make_turn("p1", "again")], CONTROL, metrics=metrics),
            make_checked([make_turn("p1", "ngram")], NGRAM),
        ]

    return build


@pytest.mark.parametrize(
    ("ratio", "level", "text"),
    [
        ((1.01, 0.98, 1.04), "unjudged", OK),
        (
            (1.015, 1.01, 1.02),
            "note",
            "took 1.5% less time per token than the first (95% interval -2.0% to -1.0%): more",
        ),
        (
            (0.90, 0.85, 0.95),
            "warning",
            "took 11.1% more time per token than the first (95% interval +5.3% to +17.6%): some",
        ),
        ((1.04, None, None), "note", "took 3.8% less time per token than the first, and too few conversations"),
        ((1.25, None, None), "warning", "took 20.0% less time per token than the first, and too few conv"),
        ((None, None, None), "note", "could not be compared: why"),
    ],
)
def test_the_baseline_is_held_against_its_second_run(
    group: Group, make_metric: MakeMetric, ratio: tuple[float | None, ...], level: str, text: str
) -> None:
    (lamp,) = check_baseline(group(make_metric(*ratio)))
    assert (lamp.name, lamp.level, lamp.cells) == ("baseline", level, ["again"])
    assert text in lamp.text


def test_a_baseline_that_ran_once_is_noted(group: Group) -> None:
    base, _, ngram = group(None)
    (lamp,) = check_baseline([base, ngram])
    assert (lamp.level, lamp.cells) == ("note", ["base"])
    assert "ran once only" in lamp.text


def test_without_a_baseline_there_is_no_speed_up(group: Group) -> None:
    _, _, ngram = group(None)
    (lamp,) = check_baseline([ngram])
    assert (lamp.level, lamp.cells) == ("note", ["ngram"])
    assert "nothing to compare with" in lamp.text


def test_a_baseline_that_only_failed_is_none(group: Group, make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    _, _, ngram = group(None)
    (lamp,) = check_baseline([make_checked([make_turn("p1", "base", status="failed")]), ngram])
    assert lamp.level == "warning"


def test_nothing_is_said_of_a_group_without_answers(make_checked: MakeChecked) -> None:
    assert list(check_baseline([make_checked([]), make_checked([], NGRAM)])) == []


def test_a_baseline_that_drafts_is_none(
    make_checked: MakeChecked, make_turn: MakeTurn, make_steps: Callable[..., StepColumns]
) -> None:
    cell = make_checked([make_turn(steps=make_steps((3, 0), (0, 0)))])
    assert [lamp.level for lamp in check_baseline([cell])] == ["fault", "note"]


def answered(make_turn: MakeTurn, seconds_per_token: dict[int, list[float]]) -> CellColumns:
    """Turns of five tokens each: per repeat, the time per token of questions q0, q1, ..."""
    return CellColumns.from_turns(
        make_turn(f"q{n}", repeat=repeat, output_tokens=5, first_token_s=10.0, last_token_s=10.0 + 4 * each)
        for repeat, times in seconds_per_token.items()
        for n, each in enumerate(times)
    )


def test_drift_is_the_last_repeat_over_the_first(make_turn: MakeTurn) -> None:
    columns = answered(make_turn, {0: [0.1, 0.2, 0.1], 1: [9.0, 9.0, 9.0], 2: [0.1, 0.3, 0.2]})
    assert baseline_drift(columns) == pytest.approx(0.6 / 0.4)


def test_drift_compares_the_same_prompts_only(make_turn: MakeTurn) -> None:
    columns = answered(make_turn, {0: [0.1, 0.1, 0.1, 5.0], 1: [0.2, 0.2, 0.2]})
    assert baseline_drift(columns) == pytest.approx(2.0)


@pytest.mark.parametrize("times", [{0: [0.1, 0.1, 0.1]}, {0: [0.1, 0.1], 1: [0.2, 0.2]}, {}])
def test_drift_needs_three_prompts_answered_twice(make_turn: MakeTurn, times: dict[int, list[float]]) -> None:
    assert baseline_drift(answered(make_turn, times)) is None


def test_a_drifting_baseline_is_a_warning(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    def turns(factor: float) -> list[TurnRecord]:
        return [
            make_turn(f"q{n}", repeat=repeat, output_tokens=2, first_token_s=0.0, last_token_s=0.1 * slow)
            for repeat, slow in enumerate((1.0, factor))
            for n in range(3)
        ]

    slower = list(check_baseline([make_checked(turns(1.2))]))
    assert [lamp.level for lamp in slower] == ["warning", "note"]
    assert "took 20.0% more time per token than in its first" in slower[0].text
    assert [lamp.level for lamp in check_baseline([make_checked(turns(1.05))])] == ["note"]


def test_tokens_of_the_first_chunk_take_no_decode_time(make_turn: MakeTurn) -> None:
    # 6 of 10 tokens come with the first chunk, and later 2 of 10: 0.4 s for 4 tokens, then 0.8 s for 8.
    columns = CellColumns.from_turns(
        make_turn(
            f"q{n}",
            repeat=repeat,
            output_tokens=10,
            first_token_s=1.0,
            last_token_s=1.0 + 0.1 * (10 - first),
            chunk_s=[1.0, 1.0 + 0.1 * (10 - first)],
            chunk_tokens=[first, 10 - first],
        )
        for repeat, first in enumerate((6, 2))
        for n in range(3)
    )
    assert baseline_drift(columns) == pytest.approx(1.0)


def test_where_drift_cannot_be_judged_the_lamp_says_so(
    group: Group, make_checked: MakeChecked, make_metric: MakeMetric, make_turn: MakeTurn
) -> None:
    base, control, _ = group(make_metric(1.01, 0.98, 1.04))
    twice = make_checked(
        [
            make_turn(f"q{n}", repeat=repeat, output_tokens=2, first_token_s=0.0, last_token_s=0.1)
            for repeat in (0, 1)
            for n in range(3)
        ]
    )
    found = [(lamp.level, lamp.text) for cells in ([base, control], [twice, control]) for lamp in check_baseline(cells)]
    assert found == [("unjudged", f"{OK} {DRIFT_UNJUDGED}"), ("ok", OK)]
    assert "fewer than 3 prompts were answered in two repeats; set repeats: 2." in DRIFT_UNJUDGED
