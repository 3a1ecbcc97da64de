"""Intervals that hold what they promise, and spreads by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.results.statistics import (
    Interval,
    Sample,
    coefficient_of_variation,
    interval,
    merge_single_strata,
    percentile,
    ratio,
    ratio_of_ratios,
    union,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sample(clusters: int, per_cluster: int = 1, strata: int = 1, launches: int = 1) -> Sample:
    """Each cluster observed `per_cluster` times in each launch, strata by turns."""
    cluster = np.repeat(np.arange(clusters), per_cluster * launches)
    launch = np.tile(np.repeat(np.arange(launches), per_cluster), clusters)
    return Sample(cluster, cluster % strata, launch)


def mean_interval(values: list[float], drawn: Sample) -> Interval:
    column = np.array(values, dtype=float)
    return interval(drawn, [column, np.ones(len(column))], ratio)


class TestInterval:
    def test_for_a_small_spread_it_is_the_t_interval_of_the_mean(self) -> None:
        # 99 and 101 four times each: s = sqrt(8 / 7), t(0.975, 7) = 2.3646, half width 2.3646 s / sqrt(8) = 0.8937.
        found = mean_interval([99, 101] * 4, sample(8))
        assert found.low == pytest.approx(100 - 0.894, abs=0.01)
        assert found.high == pytest.approx(100 + 0.894, abs=0.01)
        assert found.notes == ("rough (8 conversations)", "prompt sampling only")

    def test_repeats_of_a_conversation_add_no_certainty(self) -> None:
        once = mean_interval([99, 101] * 4, sample(8))
        thrice = mean_interval([99, 99, 99, 101, 101, 101] * 4, sample(8, per_cluster=3))
        assert thrice.low == pytest.approx(once.low)
        assert thrice.high == pytest.approx(once.high)

    def test_differences_between_categories_are_no_uncertainty(self) -> None:
        # Two categories around 10 and 1000: within, the values hardly differ.
        values = [10.0, 1000.0, 10.1, 1001.0] * 4
        stratified = mean_interval(values, sample(16, strata=2))
        pooled = mean_interval(values, sample(16))
        assert stratified.low is not None
        assert stratified.high is not None
        assert pooled.low is not None
        assert pooled.high is not None
        assert stratified.high / stratified.low < 1.001
        assert pooled.high / pooled.low > 2

    def test_pairing_cancels_what_both_sides_share(self) -> None:
        size = np.arange(1.0, 13.0)
        noise = np.array([0.99, 1.01] * 6)
        found = interval(sample(12), [2 * size, size, size * noise, size], ratio_of_ratios)
        assert found.low is not None
        assert found.high is not None
        assert 1.97 < found.low < 2 < found.high < 2.03

    @pytest.mark.parametrize(
        ("clusters", "note"),
        [
            (7, "no interval: 7 conversations, at least 8 are needed"),
            (1, "no interval: 1 conversation, at least 8 are needed"),
            (19, "rough (19 conversations)"),
        ],
    )
    def test_few_conversations_are_said(self, clusters: int, note: str) -> None:
        found = mean_interval([float(i % 3 + 1) for i in range(clusters)], sample(clusters))
        assert note in found.notes
        assert (found.low is None) == (clusters < 8)

    def test_from_twenty_on_it_is_not_rough(self) -> None:
        found = mean_interval([float(i % 3 + 1) for i in range(20)], sample(20))
        assert found.notes == ("prompt sampling only",)

    def test_a_category_of_two_that_holds_all_the_spread_has_one_degree_of_freedom(self) -> None:
        # Leaving out either of 99 and 101 moves the mean of 20 by 0.1: standard error 0.1, t(0.975, 1) = 12.706.
        values = [99.0, 101.0] + [100.0, 100.0001] * 9
        drawn = Sample(np.arange(20), np.array([0, 0] + [1] * 18), np.zeros(20, dtype=int))
        found = mean_interval(values, drawn)
        assert found.low == pytest.approx(100 - 1.27, abs=0.02)
        assert found.high == pytest.approx(100 + 1.28, abs=0.02)

    def test_conversations_that_contribute_nothing_do_not_count(self) -> None:
        counted = np.array([1.0] * 7 + [0.0] * 20)
        found = interval(sample(27), [counted * 3, counted], ratio)
        assert found.notes == ("no interval: 7 conversations, at least 8 are needed",)

    def test_it_is_cut_at_the_range_of_the_metric(self) -> None:
        accepted = np.array([10.0] * 9 + [5.0])
        found = interval(sample(10), [accepted, np.full(10, 10.0)], ratio, bounds=(0.0, 1.0))
        assert found.high == 1.0
        assert found.low is not None
        assert 0 < found.low < 0.95

    @pytest.mark.parametrize(
        ("values", "note"),
        [
            ([4.0] * 10, "no interval: every conversation gave the same value"),
            ([0.0] * 10, "no interval: a value of 0 has no spread on the scale of ratios"),
            ([0.0] * 9 + [5.0], "no interval: the value rests on a single conversation"),
        ],
    )
    def test_where_there_is_no_spread_to_speak_of_none_is_invented(self, values: list[float], note: str) -> None:
        assert mean_interval(values, sample(10)) == Interval(None, None, (note,))

    def test_it_covers_the_truth_as_often_as_it_says(self) -> None:
        # Skewed conversations of unequal weight in three categories: 1,000 experiments of 12 conversations.
        random = np.random.default_rng(7)
        drawn, hits = sample(12, strata=3), 0
        level = np.array([1.0, 1.5, 3.0])[np.arange(12) % 3]
        for _ in range(1000):
            weight = random.integers(20, 64, 12).astype(float)
            found = interval(drawn, [weight * level * random.gamma(8, 1 / 8, 12), weight], ratio)
            assert found.low is not None
            assert found.high is not None
            hits += found.low <= level.mean() <= found.high
        assert 0.92 <= hits / 1000 <= 0.98


class TestLaunches:
    def values(self, launch_effects: list[float]) -> list[float]:
        return [effect * (1 + 0.01 * (cluster % 2)) for cluster in range(24) for effect in launch_effects]

    def test_what_differs_between_launches_widens_the_interval(self) -> None:
        steady = mean_interval(self.values([1.0, 1.0, 1.0]), sample(24, launches=3))
        shaky = mean_interval(self.values([0.9, 1.0, 1.1]), sample(24, launches=3))
        assert steady.low is not None
        assert steady.high is not None
        assert shaky.low is not None
        assert shaky.high is not None
        assert steady.high / steady.low < 1.01
        # Three launches 0.1 apart: t(0.975, 2) = 4.303 times 0.1 / sqrt(3) either way.
        assert np.log(shaky.high / shaky.low) == pytest.approx(2 * 4.303 * 0.1 / 3**0.5, rel=0.05)
        assert shaky.notes == ("3 launches",)

    def test_launches_that_share_the_work_are_one(self) -> None:
        # A resumed run: the first launch answered half of the conversations, the second the others.
        resumed = Sample(np.arange(24), np.zeros(24, dtype=int), np.arange(24) // 12)
        assert mean_interval([1.0, 1.1] * 12, resumed).notes == ("prompt sampling only",)

    def test_it_covers_the_truth_when_launches_differ(self) -> None:
        random = np.random.default_rng(11)
        drawn, hits = sample(16, launches=3), 0
        for _ in range(500):
            logs = random.normal(0, 0.1, (16, 1)) + random.normal(0, 0.1, (1, 3)) + random.normal(0, 0.03, (16, 3))
            found = mean_interval(np.exp(logs).ravel().tolist(), drawn)
            assert found.low is not None
            assert found.high is not None
            hits += found.low <= np.exp(0.5 * (0.01 + 0.01 + 0.0009)) <= found.high
        assert 0.92 <= hits / 500 <= 0.99


class TestUnion:
    def test_a_union_rests_on_the_fewest_conversations(self) -> None:
        assert union([Interval(1.0, 2.0, (), 22), Interval(1.5, 2.5, (), 9)]).conversations == 9
        assert union([Interval(1.0, 2.0, (), 22), Interval(None, None, ("no interval: why",))]).conversations is None

    def test_it_spans_all_rounds(self) -> None:
        found = union([Interval(1.0, 2.0, ("a",)), Interval(1.5, 2.5, ("a", "b"))])
        assert found == Interval(1.0, 2.5, ("a", "b"))

    def test_a_missing_round_leaves_none(self) -> None:
        found = union([Interval(1.0, 2.0, ("a",)), Interval(None, None, ("no interval: why",))])
        assert found == Interval(None, None, ("no interval: why",))


@pytest.mark.parametrize(
    ("strata", "merged"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1]),
        ([0, 0, 1, 2], [0, 0, 1, 1]),  # two singles join each other
        ([0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 1]),  # a lone one joins the smallest
        ([0, 1, 2], [0, 0, 0]),
        ([5, 5, 9, 9], [0, 0, 1, 1]),
        ([3], [0]),
    ],
)
def test_strata_of_one_conversation_are_merged(strata: list[int], merged: list[int]) -> None:
    assert merge_single_strata(np.array(strata)).tolist() == merged


class TestPercentile:
    def test_it_is_an_observed_value_and_never_above_the_maximum(self) -> None:
        values = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
        shares = {share: percentile(values, share) for share in (0.2, 0.21, 0.5, 0.99, 1.0)}
        assert {share: found.value for share, found in shares.items() if found} == {
            0.2: 1.0,
            0.21: 2.0,
            0.5: 3.0,
            0.99: 5.0,
            1.0: 5.0,
        }

    @pytest.mark.parametrize(
        ("n", "share", "flagged"), [(99, 0.99, True), (100, 0.99, False), (9, 0.9, True), (10, 0.9, False)]
    )
    def test_it_is_flagged_below_one_over_one_minus_p(self, n: int, share: float, flagged: bool) -> None:
        found = percentile(np.arange(n, dtype=float), share)
        assert found is not None
        assert (found.n, found.flagged) == (n, flagged)

    def test_rounding_asks_for_no_further_observation(self) -> None:
        # 0.07 * 100 is 7.000000000000001 in floating point.
        found = percentile(np.arange(1, 101, dtype=float), 0.07)
        assert found is not None
        assert found.value == 7

    def test_weights_count_as_that_many_observations(self) -> None:
        values: NDArray[np.float64] = np.array([3.0, 1.0, 2.0])
        weights = np.array([1, 1, 8])
        for share in (0.1, 0.11, 0.5, 0.9, 0.91):
            weighted = percentile(values, share, weights)
            repeated = percentile(np.repeat(values, weights), share)
            assert weighted is not None
            assert repeated is not None
            assert weighted.value == repeated.value

    @settings(deadline=None)
    @given(
        st.lists(
            st.tuples(st.floats(-1e6, 1e6) | st.sampled_from([0.1, np.nextafter(0.1, 1), 5e-324]), st.integers(1, 9)),
            min_size=1,
            max_size=40,
        ),
        st.floats(0.001, 1.0),
    )
    def test_so_they_do_for_any_values(self, pairs: list[tuple[float, int]], share: float) -> None:
        values, weights = np.array([value for value, _ in pairs]), np.array([weight for _, weight in pairs])
        weighted, repeated = percentile(values, share, weights), percentile(np.repeat(values, weights), share)
        assert weighted is not None
        assert repeated is not None
        assert weighted.value == repeated.value

    def test_of_nothing_there_is_none(self) -> None:
        assert percentile(np.array([]), 0.5) is None


class TestSpread:
    def test_coefficient_of_variation(self) -> None:
        # Mean 20, squared deviations 100, 0, 100 over 2: standard deviation 10.
        assert coefficient_of_variation(np.array([10.0, 20, 30])) == pytest.approx(0.5)

    def test_one_value_has_no_spread(self) -> None:
        assert coefficient_of_variation(np.array([1.0])) is None
        assert coefficient_of_variation(np.array([-1.0, 1.0])) is None
