"""The lamp "values plausible": numbers that their own definitions rule out are faults, whoever computed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.sanity.values import OK, check_values, impossible_metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell
    from draftmark.results.summary import MetricValue

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]
    MakeMetric = Callable[..., MetricValue]


def levels(cell: CheckedCell) -> list[tuple[str, str]]:
    return [(lamp.level, lamp.text) for lamp in check_values(cell)]


def test_plausible_turns_are_fine(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    turn = make_turn(output_tokens=3, sent_s=1.0, first_token_s=1.0, last_token_s=1.5, done_s=1.5)
    assert levels(make_checked([turn])) == [("ok", OK)]


@pytest.mark.parametrize(
    ("early", "late"),
    [("sent_s", "first_token_s"), ("first_token_s", "last_token_s"), ("sent_s", "done_s"), ("last_token_s", "done_s")],
)
def test_a_clock_that_runs_backwards_is_a_fault(
    make_checked: MakeChecked, make_turn: MakeTurn, early: str, late: str
) -> None:
    turns = [make_turn("p1", output_tokens=3, **{early: 2.0, late: 1.9}), make_turn("p2", output_tokens=3)]
    ((level, text),) = levels(make_checked(turns))
    assert level == "fault"
    assert "In 1 turn time runs backwards" in text


def test_answers_without_a_token_measure_nothing(
    make_checked: MakeChecked, make_turn: MakeTurn, make_metric: MakeMetric
) -> None:
    turns = [make_turn("p1", output_tokens=0), make_turn("p2", output_tokens=0)]
    assert levels(make_checked(turns)) == [
        ("fault", "No turn gave a single token, so nothing was measured. See what the server sends.")
    ]
    cell = make_checked(turns, metrics={"output_tps": make_metric(12.0, unit="tokens/s")})
    assert ("fault", "There is a throughput although there are no tokens.") in levels(cell)


def test_unknown_token_counts_are_a_warning(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    ((level, text),) = levels(make_checked([make_turn("p1"), make_turn("p2", output_tokens=4)]))
    assert level == "warning"
    assert "how many tokens 1 turn gave" in text


@pytest.mark.parametrize(
    ("metrics", "clause"),
    [
        ({"acceptance_rate": 1.2}, "acceptance_rate is 1.2, and a share lies between 0 and 1"),
        ({"coverage": -0.1}, "coverage is -0.1"),
        ({"conditional_acceptance[2]": 1.01}, "conditional_acceptance[2] is 1.01"),
        ({"acceptance_length": 4.5}, "acceptance_length is 4.5, and lies between 1 and D + 1 = 4"),
        ({"acceptance_length_verified": 0.9}, "acceptance_length_verified is 0.9"),
        ({"ttft_p50": 0.3, "ttft_p99": 0.2}, "ttft_p50 is 0.3, above ttft_p99 of 0.2"),
        ({"tpot_p90": 0.3, "tpot_max": 0.2, "tpot_p50": 0.1}, "tpot_p90 is 0.3, above tpot_max of 0.2"),
        ({"output_tps_mean": 50.0, "output_tps_peak": 40.0}, "output_tps_mean is 50, above output_tps_peak of 40"),
        ({"itl_p999": 0.1, "itl_p99": 0.2}, "itl_p99 is 0.2, above itl_p999 of 0.1"),
    ],
)
def test_numbers_that_cannot_be_are_named(make_metric: MakeMetric, metrics: dict[str, float], clause: str) -> None:
    (found,) = impossible_metrics({name: make_metric(value) for name, value in metrics.items()}, draft_length=3)
    assert clause in found


def test_negative_times_and_rates_are_named(make_metric: MakeMetric) -> None:
    metrics = {"tpot": make_metric(-0.012, unit="s"), "output_tps": make_metric(-1.0, unit="tokens/s")}
    assert impossible_metrics(metrics, draft_length=0) == [
        "tpot is -0.012 s, and cannot be negative",
        "output_tps is -1 tokens/s, and cannot be negative",
    ]


def test_numbers_at_their_limits_and_missing_ones_are_fine(make_metric: MakeMetric) -> None:
    metrics = {
        "acceptance_rate": make_metric(1.0),
        "coverage": make_metric(0.0),
        "acceptance_length": make_metric(4.0),
        "tpot_p50": make_metric(0.1),
        "tpot_p99": make_metric(0.1),
        "tpot_mean": make_metric(0.05),
        "joint_acceptance[9]": make_metric(None),
        "speedup": make_metric(3.0),
    }
    assert impossible_metrics(metrics, draft_length=3) == []


def test_an_impossible_metric_is_a_fault(
    make_checked: MakeChecked, make_turn: MakeTurn, make_metric: MakeMetric
) -> None:
    cell = make_checked([make_turn(output_tokens=2)], metrics={"coverage": make_metric(2.0)})
    text = "coverage is 2, and a share lies between 0 and 1: the number cannot be true. Use none of this cell."
    assert levels(cell) == [("fault", text)]


class TestImpossibleCounts:
    """A count above max_tokens is no count: the limit was the client's own."""

    def test_the_turn_is_named_as_a_fault(self, make_checked: MakeChecked, make_turn: MakeTurn) -> None:
        turns = [make_turn("p1", output_tokens=16), make_turn("p2", output_tokens=100_000)]
        ((level, text),) = levels(make_checked(turns, max_tokens=16))
        assert level == "fault"
        assert "In 1 turn the engine counted more tokens than the 16 that max_tokens allows" in text
        assert "first in question p2: 100,000" in text

    def test_the_limit_itself_can_be(self, make_checked: MakeChecked, make_turn: MakeTurn) -> None:
        assert levels(make_checked([make_turn(output_tokens=16)], max_tokens=16)) == [("ok", OK)]


def test_answers_whose_output_cannot_be_read_are_a_warning(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    silent = make_turn("p1", output_tokens=4, output_text="", sent_s=0.0, done_s=0.5)
    heard = make_turn("p2", output_tokens=4, output_text="a", sent_s=0.0, first_token_s=0.2, last_token_s=0.4)
    ((level, text),) = levels(make_checked([silent, heard]))
    assert level == "warning"
    assert text.startswith("1 turn succeeded, but no output of theirs could be read")
    assert levels(make_checked([heard])) == [("ok", OK)]
