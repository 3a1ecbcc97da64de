"""The lamp on a steady window that contradicts the whole run, or is a small part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.sanity.throughput import check_throughput

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell
    from draftmark.results.summary import MetricValue

    Said = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def said(
    make_checked: Callable[..., CheckedCell],
    make_turn: Callable[..., TurnRecord],
    make_metric: Callable[..., MetricValue],
) -> Said:
    """Lamps of a cell of two streams: `spans` are sent and done of its turns, the speeds whatever is claimed."""

    def check(
        steady: float | None, whole: float | None, *spans: tuple[float, float], **changes: object
    ) -> list[tuple[str, str]]:
        turns = [make_turn(f"p{n}", output_tokens=8, sent_s=sent, done_s=done) for n, (sent, done) in enumerate(spans)]
        metrics = {"output_tps": make_metric(steady), "output_tps_whole_run": make_metric(whole)}
        cell = make_checked(turns, metrics=metrics, **({"concurrency": 2} | changes))
        return [(lamp.level, lamp.text) for lamp in check_throughput(cell)]

    return check


FULL = ((0.0, 10.0), (0.0, 10.0))


def test_a_window_that_is_slower_than_the_whole_run_is_doubted(said: Said) -> None:
    ((level, text),) = said(144.6, 334.0, *FULL)
    assert level == "warning"
    assert text.startswith("The steady window gives 144.6 tokens/s and the whole run 334")
    assert said(95.0, 100.0, *FULL) == []


def test_a_window_that_is_faster_is_what_ramps_explain(said: Said) -> None:
    assert said(150.0, 100.0, *FULL) == []


def test_a_window_of_less_than_half_the_time_is_noted(said: Said) -> None:
    # Both in flight from 6 to 10 of 0 to 10; then from 4 to 10.
    ((level, text),) = said(150.0, 100.0, (0.0, 10.0), (6.0, 10.0))
    assert level == "note"
    assert text.startswith("Only in 40% of the time were there the 2 requests in flight that were asked for")
    assert said(150.0, 100.0, (0.0, 10.0), (4.0, 10.0)) == []


def test_other_loads_and_unknown_numbers_are_not_judged(said: Said) -> None:
    assert said(10.0, 100.0, *FULL, concurrency=1) == []
    assert said(10.0, 100.0, *FULL, concurrency=None, open_load="poisson 2/s") == []
    assert said(None, 100.0, *FULL) == []
    assert said(10.0, None, *FULL) == []
