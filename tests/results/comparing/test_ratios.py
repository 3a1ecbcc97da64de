"""Ratios over what both runs were asked: values worked out by hand, and what must hold of any two runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.results.comparing.changes import LogRatio
from draftmark.results.comparing.pairing import paired
from draftmark.results.comparing.quantities import Measured, together
from draftmark.results.comparing.uncertainty import (
    between_rounds,
    by_launch,
    log_ratio,
    over_conversations,
    over_rounds,
    with_launches,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from draftmark.results.comparing import Comparison, MetricChange


def turns(
    rows: Sequence[tuple[str, int, float, float]], *, prompt: int = 7, launch: Sequence[int] | None = None
) -> Measured:
    """One side from (question, round, numerator, denominator); every question is one turn in one category."""
    count = len(rows)
    return Measured(
        question=[row[0] for row in rows],
        stratum=["c"] * count,
        turn_index=np.zeros(count, dtype=np.int32),
        prompt=np.full(count, prompt, dtype=np.int64),
        round=np.array([row[1] for row in rows], dtype=np.int64),
        launch=np.zeros(count, dtype=np.int64) if launch is None else np.array(launch, dtype=np.int64),
        sums=np.array([[row[2] for row in rows], [row[3] for row in rows]], dtype=np.float64),
    )


def ratio(before: Measured, after: Measured) -> float:
    pairs = paired([before, after])
    sums = np.concatenate([pairs.sums[1], pairs.sums[0]])
    return float(np.exp(log_ratio(sums.sum(axis=1, keepdims=True)))[0])


class TestPairing:
    def test_repeats_are_averaged_so_that_a_question_asked_twice_counts_once(self) -> None:
        # q0: 10 and 20 s average to 15 s, q1: 5 s; per token (15 + 5) / (10 + 10) = 1. After: (30 + 10) / 20 = 2.
        before = turns([("q0", 0, 10, 10), ("q0", 1, 20, 10), ("q1", 0, 5, 10)])
        after = turns([("q0", 0, 30, 10), ("q1", 0, 10, 10)])
        assert ratio(before, after) == pytest.approx(2.0)

    def test_only_what_both_were_asked_counts(self) -> None:
        before = turns([("q0", 0, 10, 10), ("q1", 0, 999, 1)])
        after = turns([("q0", 0, 12, 10), ("q2", 0, 1, 999)])
        pairs = paired([before, after])
        assert (len(pairs), pairs.left_out) == (1, 2)
        assert ratio(before, after) == pytest.approx(1.2)

    def test_a_question_in_other_words_is_another_prompt(self) -> None:
        pairs = paired([turns([("q0", 0, 1, 1)]), turns([("q0", 0, 1, 1)], prompt=8)])
        assert (len(pairs), pairs.left_out) == (0, 1)

    def test_several_baselines_are_further_rounds_of_one(self) -> None:
        one, other = turns([("q0", 0, 10, 10)]), turns([("q0", 1, 20, 10)])
        assert ratio(together([one, other]), turns([("q0", 0, 30, 10)])) == pytest.approx(2.0)


class TestConversations:
    def test_the_error_is_that_between_conversations(self) -> None:
        # Equal denominators of 1 and a baseline of 1 throughout: the statistic is the mean of eight numbers, whose
        # jackknife variance on the log scale is close to s^2 / n / mean^2 = 6 / 8 / 100^2 for 100 + {-3,-1,1,3} twice.
        numbers = [97, 99, 101, 103, 97, 99, 101, 103]
        before = turns([(f"q{place}", 0, 1, 1) for place in range(8)])
        after = turns([(f"q{place}", 0, number, 1) for place, number in enumerate(numbers)])
        pairs = paired([before, after])
        found = over_conversations(pairs, np.concatenate([pairs.sums[1], pairs.sums[0]]))
        assert isinstance(found, LogRatio)
        assert found.value == pytest.approx(math.log(100))
        variance = sum((number - 100) ** 2 for number in numbers) / 7
        assert found.error == pytest.approx((variance / 8) ** 0.5 / 100, rel=1e-3)
        assert found.degrees == 7

    def test_below_eight_conversations_there_is_none(self) -> None:
        pairs = paired([turns([("q0", 0, 1, 1)]), turns([("q0", 0, 2, 1)])])
        assert over_conversations(pairs, np.concatenate(pairs.sums)) == (
            "no interval: 1 conversation in both runs, at least 8 are needed"
        )

    def test_a_factor_common_to_all_turns_has_no_error(self) -> None:
        before = turns([(f"q{place}", 0, 10 + place, 10) for place in range(9)])
        after = turns([(f"q{place}", 0, 2 * (10 + place), 10) for place in range(9)])
        pairs = paired([before, after])
        found = over_conversations(pairs, np.concatenate([pairs.sums[1], pairs.sums[0]]))
        assert isinstance(found, LogRatio)
        assert (math.exp(found.value), found.error) == (pytest.approx(2), 0)


class TestLaunches:
    def test_their_variance_is_pooled_over_both_sides_and_added(self) -> None:
        # One side's logs 0 and 0.02 (s^2 = 2e-4), the other's 0.01 alone: 2e-4 * (1/2 + 1) = 3e-4, beside 1e-4.
        found = with_launches(LogRatio(value=0.1, error=0.01, degrees=23), [np.array([0.0, 0.02]), np.array([0.01])])
        assert found.error == pytest.approx(math.sqrt(4e-4))
        assert found.degrees == pytest.approx((4e-4) ** 2 / ((1e-4) ** 2 / 23 + (3e-4) ** 2 / 1))

    def test_one_launch_on_either_side_says_nothing(self) -> None:
        alone = LogRatio(value=0.1, error=0.01, degrees=23)
        assert with_launches(alone, [np.array([0.0]), np.array([0.5])]) == alone

    def test_each_launch_has_a_value_over_the_prompts_it_answered(self) -> None:
        rows = [("q0", 0, 10.0, 10.0), ("q1", 0, 10.0, 10.0), ("q0", 1, 20.0, 10.0), ("q1", 1, 20.0, 10.0)]
        side = turns(rows, launch=[0, 0, 1, 1])
        pairs = paired([side, side])
        assert by_launch([side], pairs.entries[:1], [1]) == pytest.approx([0.0, math.log(2)])


class TestRounds:
    def test_the_error_is_how_far_rounds_over_the_same_prompts_differ(self) -> None:
        # Ten steps in all per round; q0 gave 11 and 9 tokens of about 40, q1 always 30. Shares of the ratio: +-1/40,
        # s^2 = 2 / 1600. Two rounds against one: 2 / 1600 * (1/2 + 1).
        before = turns([("q0", 0, 11, 5), ("q0", 1, 9, 5), ("q1", 0, 30, 5), ("q1", 1, 30, 5)])
        after = turns([("q0", 0, 10, 5), ("q1", 0, 30, 5)])
        found = over_rounds(paired([before, after]), [before, after])
        assert isinstance(found, LogRatio)
        assert found.value == pytest.approx(0)
        assert found.error == pytest.approx(math.sqrt(2 / 1600 * 1.5))
        assert found.degrees == 1

    def test_equal_rounds_leave_no_doubt(self) -> None:
        before = turns([("q0", number, 10, 5) for number in range(3)])
        after = turns([("q0", 0, 9, 5)])
        found = over_rounds(paired([before, after]), [before, after])
        assert isinstance(found, LogRatio)
        assert (math.exp(found.value), found.error) == (pytest.approx(0.9), 0)

    def test_one_round_on_both_sides_tells_no_spread(self) -> None:
        side = turns([("q0", 0, 10, 5)])
        assert isinstance(over_rounds(paired([side, side]), [side, side]), str)

    def test_whole_rounds_are_compared_by_welch(self) -> None:
        found = between_rounds([math.e, math.e**1.2], [math.e**2, math.e**2.4])
        assert isinstance(found, LogRatio)
        assert found.value == pytest.approx(1.1)
        assert found.error == pytest.approx(math.sqrt(0.02 / 2 + 0.08 / 2))


sides = st.lists(
    st.tuples(st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0.5, 50)), min_size=8, max_size=20
)


@settings(deadline=None)
@given(sides)
def test_swapping_the_runs_inverts_the_ratio_and_keeps_its_error(rows: list[tuple[float, float, float, float]]) -> None:
    before = turns([(f"q{place:02d}", 0, row[0], row[1]) for place, row in enumerate(rows)])
    after = turns([(f"q{place:02d}", 0, row[2], row[3]) for place, row in enumerate(rows)])
    found = []
    for one, other in ((before, after), (after, before)):
        pairs = paired([one, other])
        found.append(over_conversations(pairs, np.concatenate([pairs.sums[1], pairs.sums[0]])))
    there, back = found
    assert isinstance(there, LogRatio)
    assert isinstance(back, LogRatio)
    assert back.value == pytest.approx(-there.value, abs=1e-9)
    assert back.error == pytest.approx(there.error, rel=1e-6, abs=1e-9)


class TestOfRuns:
    def test_of_a_run_and_itself_every_ratio_is_one(
        self, make_run: Callable[..., Path], compared: Callable[..., Comparison]
    ) -> None:
        run = make_run("a", repeats=2)
        ratios = [one.ratio for cell in compared(run, run).cells for one in cell.metrics]
        assert len(ratios) > 8
        assert ratios == pytest.approx([1.0] * len(ratios))

    def test_a_known_loss_has_its_size(
        self,
        make_run: Callable[..., Path],
        compared: Callable[..., Comparison],
        change_of: Callable[..., MetricChange],
    ) -> None:
        # Times are exact here: steps of 24 ms become 30 ms, so a token takes 1.25 times as long.
        before = make_run("a", noise=0.0)
        found = compared(before, make_run("b", noise=0.0, drafting_step_s=0.030))
        assert change_of(found, "tpot").ratio == pytest.approx(1.25)
        assert change_of(found, "speedup").ratio == pytest.approx(0.8)
        assert change_of(found, "acceptance_length").ratio == pytest.approx(1.0)
        assert change_of(found, "tpot", "none").ratio == pytest.approx(1.0)

    def test_a_slower_machine_leaves_the_speed_up_alone(
        self,
        make_run: Callable[..., Path],
        compared: Callable[..., Comparison],
        change_of: Callable[..., MetricChange],
    ) -> None:
        found = compared(make_run("a", noise=0.0), make_run("b", noise=0.0, shift=0.1))
        assert change_of(found, "speedup").ratio == pytest.approx(1.0)
        assert change_of(found, "tpot").ratio == pytest.approx(1.1)

    def test_worse_and_better_follow_the_declared_direction(
        self,
        make_run: Callable[..., Path],
        compared: Callable[..., Comparison],
        change_of: Callable[..., MetricChange],
    ) -> None:
        fast, slow = make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.03)
        there, back = compared(fast, slow), compared(slow, fast)
        for metric in ("speedup", "tpot", "output_tps", "step_time"):
            assert (change_of(there, metric).word, change_of(back, metric).word) == ("worse", "better"), metric

    def test_other_prompts_cannot_be_paired(
        self,
        make_run: Callable[..., Path],
        compared: Callable[..., Comparison],
        change_of: Callable[..., MetricChange],
    ) -> None:
        found = change_of(compared(make_run("a"), make_run("b", prompt="asked otherwise")), "tpot")
        assert (found.ratio, found.pairs) == (None, 0)
        assert found.reason == "no prompt was asked in the same words in both runs"

    def test_what_no_sum_over_turns_makes_is_compared_by_rounds(
        self,
        make_run: Callable[..., Path],
        compared: Callable[..., Comparison],
        change_of: Callable[..., MetricChange],
    ) -> None:
        found = compared(make_run("a"), make_run("b", seed=1), metrics=["ttft_p90"])
        change = change_of(found, "ttft_p90")
        assert (change.method, change.rounds) == ("whole rounds", (3, 3))
        assert change.low is not None
        assert change.low < 1 < change.high

    def test_the_prefix_cache_of_either_run_is_looked_at(
        self, make_run: Callable[..., Path], compared: Callable[..., Comparison]
    ) -> None:
        found = compared(make_run("a", cached=0.0), make_run("b", cached=0.93))
        fields = {change.field for cell in found.cells for change in cell.forbidding}
        assert fields == {"prefix_cache_hit_share"}
