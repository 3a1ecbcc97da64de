from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.dashboards.charts.axes import MOST_TICKS, counts_axis, ratio_axis, spread_out, thinned, thinning_note

numbers = st.floats(allow_nan=False, allow_infinity=False)


def test_short_series_are_drawn_whole() -> None:
    assert thinned([3.0, None, 1.0], limit=3) == [0, 1, 2]


@given(st.lists(st.none() | numbers, max_size=400), st.integers(2, 60))
def test_thinning_keeps_the_extremes_the_order_and_the_limit(values: list[float | None], limit: int) -> None:
    kept = thinned(values, limit)
    known = [value for value in values if value is not None]
    drawn = [values[index] for index in kept if values[index] is not None]
    assert kept == sorted(set(kept))
    assert len(kept) <= limit
    if known:
        assert (max(drawn), min(drawn)) == (max(known), min(known))


def test_one_outlier_among_fifty_thousand_points_stays() -> None:
    values = [1.0 + 0.001 * (i % 7) for i in range(50_000)]
    values[31_415] = 40.0
    kept = thinned(values)
    assert 31_415 in kept
    assert len(kept) <= 5000
    assert thinning_note(len(values), len(kept)).startswith(f"{len(kept):,} of 50,000 points drawn")


def test_nothing_is_said_where_everything_is_drawn() -> None:
    assert thinning_note(12, 12) is None


def test_ratios_get_a_log_axis_that_shows_one() -> None:
    axis = ratio_axis("speed-up", [1.4, None, 2.2])
    low, high = (10**end for end in axis["range"])
    assert axis["type"] == "log"
    assert low < 1
    assert high > 2.2


def test_a_zero_or_negative_value_turns_the_axis_linear_instead_of_vanishing() -> None:
    for lowest in (0.0, -0.2):
        axis = ratio_axis("speed-up", [lowest, 1.5])
        assert axis["type"] == "linear"
        assert axis["range"][0] < lowest


@given(st.lists(st.none() | st.floats(-1e12, 1e12) | st.sampled_from([math.nan, math.inf, -math.inf]), max_size=30))
def test_the_range_of_an_axis_is_finite_whatever_it_is_given(values: list[float | None]) -> None:
    assert all(math.isfinite(end) for end in ratio_axis("speed-up", values)["range"])


@pytest.mark.parametrize(
    ("ends", "labels"),
    [
        ([0.35, 3.9], ["0.5", "1", "2", "4"]),
        ([0.93, 1.12], ["0.9", "1", "1.1"]),
        ([0.02, 40.0], ["0.1", "1", "10", "50"]),
        ([0.5, 8.0], ["0.5", "1", "2", "4"]),
    ],
)
def test_ratios_are_labelled_by_few_round_numbers(ends: list[float], labels: list[str]) -> None:
    assert ratio_axis("speed-up", ends)["ticktext"] == labels


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=20))
def test_labels_of_ratios_stand_apart_whatever_the_range(values: list[float]) -> None:
    axis = ratio_axis("speed-up", values)
    low, high = axis["range"]
    places = [math.log10(tick) for tick in axis["tickvals"]]
    assert 0.0 in [round(place, 9) for place in places]
    assert all(after - before >= (high - low) / MOST_TICKS - 1e-9 for before, after in pairwise(places))


def test_values_stand_off_the_ends_of_the_axis() -> None:
    low, high = (10**end for end in ratio_axis("speed-up", [0.33, 3.9])["range"])
    assert low < 0.33 / 1.1
    assert high > 3.9 * 1.1


def test_labels_are_chosen_in_the_order_wanted() -> None:
    assert spread_out([5, 0, 10, 4, 2.5], 0, 10, most=4) == [0, 2.5, 5, 10]
    assert spread_out([11, 3], 0, 10) == [3]


def test_whole_numbers_are_labelled_first_and_last_and_where_there_is_room() -> None:
    axis = counts_axis("k", range(1, 33), low=0.6, high=32.4)
    ticks = axis["tickvals"]
    assert (ticks[0], ticks[-1]) == (1, 32)
    assert all(after - before >= 31.8 / (2 * MOST_TICKS) for before, after in pairwise(ticks))
    assert counts_axis("D", [3, 8], low=0, high=8.8)["tickvals"] == [3, 8]
