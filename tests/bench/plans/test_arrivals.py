"""When conversations begin in an open loop: the right number, in the right order, the same for every arm."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.bench.plans.arrivals import TraceRow, arrivals, times
from draftmark.bench.plans.cells import expand, plan_arms
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.running.schedule import Launch, coming
from draftmark.results.records.loads import ConstantLoad, OpenLoad, PoissonLoad, RampLoad, TraceLoad
from draftmark.suites.prompt import Prompt, Suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RATES = st.floats(0.01, 1000)
SEEDS = st.integers(0, 2**32)


def first(number: int, load: OpenLoad) -> list[float]:
    return list(islice(times(load), number))


def until(seconds: float, load: OpenLoad) -> list[float]:
    found = []
    for at_s in times(load):
        if at_s >= seconds:
            return found
        found.append(at_s)
    raise AssertionError("a schedule has no end")


def suite_of(*turns: int) -> Suite:
    """Conversations q0, q1, ... of so many turns."""
    prompts = [
        Prompt(question_id=f"q{index}", category="talk", turns=tuple(f"{index}.{turn}" for turn in range(count)))
        for index, count in enumerate(turns)
    ]
    return Suite(name="small", prompts=tuple(prompts))


class TestPoisson:
    @given(rate=RATES, seed=SEEDS)
    def test_the_mean_gap_is_one_over_the_rate(self, rate: float, seed: int) -> None:
        # 4,000 gaps: the mean's standard error is 1/63 of it, and no seed is six of them off.
        assert first(4001, PoissonLoad(rate=rate, seed=seed))[-1] / 4000 == pytest.approx(1 / rate, rel=6 / 63)

    @given(seed=SEEDS)
    def test_gaps_spread_as_much_as_they_are_long(self, seed: int) -> None:
        gaps = [after - before for before, after in pairwise(first(4001, PoissonLoad(rate=1, seed=seed)))]
        mean = sum(gaps) / len(gaps)
        assert sum((gap - mean) ** 2 for gap in gaps) / len(gaps) == pytest.approx(1, rel=0.5)
        assert sum(gap > 1 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.06)  # exp(-1)

    @given(seed=SEEDS, other=SEEDS)
    def test_another_seed_is_another_schedule_that_has_nothing_to_do_with_it(self, seed: int, other: int) -> None:
        load = PoissonLoad(rate=1, seed=seed)
        assert first(1000, load) == first(1000, load)
        if seed == other:
            return
        ours, theirs = (
            [after - before - 1 for before, after in pairwise(first(1001, PoissonLoad(rate=1, seed=number)))]
            for number in (seed, other)
        )
        assert abs(sum(a * b for a, b in zip(ours, theirs, strict=True)) / 1000) < 0.3  # nine standard errors

    @given(rate=RATES, seed=SEEDS)
    def test_twice_the_rate_is_the_same_arrivals_at_half_the_gaps(self, rate: float, seed: int) -> None:
        slow, fast = first(50, PoissonLoad(rate=rate, seed=seed)), first(50, PoissonLoad(rate=2 * rate, seed=seed))
        assert fast == pytest.approx([at_s / 2 for at_s in slow])


@given(rate=RATES)
def test_constant_arrivals_are_equally_far_apart(rate: float) -> None:
    found = first(100, ConstantLoad(rate=rate))
    assert found[0] == 0
    assert [after - before for before, after in pairwise(found)] == pytest.approx([1 / rate] * 99)


class TestRamp:
    def test_by_hand(self) -> None:
        # From 0 to 2 a second over 4 s: t^2 / 4 conversations until t, four when it ends; then two a second.
        load = RampLoad(from_rate=0, to_rate=2, over_s=4)
        assert first(7, load) == pytest.approx([0, 2, 8**0.5, 12**0.5, 4, 4.5, 5])

    def test_a_falling_one_by_hand(self) -> None:
        # From 3 to 1 a second over 2 s: 3 t - t^2 / 2 conversations until t.
        assert first(5, RampLoad(from_rate=3, to_rate=1, over_s=2)) == pytest.approx(
            [0, 3 - 7**0.5, 3 - 5**0.5, 3 - 3**0.5, 2]
        )

    @given(begin=st.floats(0, 100), end=st.floats(0.01, 100), over=st.floats(0.1, 100))
    def test_as_many_begin_as_the_rate_adds_up_to(self, begin: float, end: float, over: float) -> None:
        found = until(over, RampLoad(from_rate=begin, to_rate=end, over_s=over))
        assert abs(len(found) - (begin + end) / 2 * over) <= 1 + 1e-6

    @given(begin=st.floats(0, 100), end=st.floats(0.01, 100), over=st.floats(0.1, 100))
    def test_time_never_goes_back(self, begin: float, end: float, over: float) -> None:
        found = first(300, RampLoad(from_rate=begin, to_rate=end, over_s=over))
        assert all(before < after for before, after in pairwise(found))


class TestConversations:
    def test_every_conversation_once_in_the_suite_s_order(self) -> None:
        found = arrivals(ConstantLoad(rate=2), suite_of(1, 2, 1), (), repeats=1)
        assert [(one.at_s, one.prompt.question_id, one.turn_round) for one in found] == [
            (0.0, "q0", 0),
            (0.5, "q1", 0),
            (1.0, "q2", 0),
        ]

    def test_repeats_go_on_with_the_schedule(self) -> None:
        found = arrivals(ConstantLoad(rate=1), suite_of(1, 1), (), repeats=2)
        assert [(one.at_s, one.prompt.question_id, one.turn_round) for one in found] == [
            (0.0, "q0", 0),
            (1.0, "q1", 0),
            (2.0, "q0", 1),
            (3.0, "q1", 1),
        ]

    def test_a_count_goes_round_the_suite(self) -> None:
        found = arrivals(ConstantLoad(rate=1, count=3), suite_of(1, 1), (), repeats=1)
        assert [(one.prompt.question_id, one.turn_round) for one in found] == [("q0", 0), ("q1", 0), ("q0", 1)]

    def test_a_duration_ends_before_what_would_begin_at_its_end(self) -> None:
        assert len(arrivals(ConstantLoad(rate=2, duration_s=3), suite_of(1), (), repeats=1)) == 6

    def test_a_trace_s_rows_name_conversations_or_take_the_next(self) -> None:
        rows = [TraceRow(0, "q1"), TraceRow(0.5, None), TraceRow(0.5, "q1"), TraceRow(9, None)]
        load = TraceLoad(path="a.csv", hash="0", rows=4, span_s=9)
        found = arrivals(load, suite_of(1, 1), rows, repeats=1)
        assert [(one.at_s, one.prompt.question_id, one.turn_round) for one in found] == [
            (0, "q1", 0),
            (0.5, "q0", 0),
            (0.5, "q1", 1),
            (9, "q1", 2),
        ]
        cut = load.model_copy(update={"duration_s": 9.0})
        assert len(arrivals(cut, suite_of(1, 1), rows, repeats=1)) == 3

    @given(
        turns=st.lists(st.integers(1, 3), min_size=1, max_size=6),
        count=st.integers(1, 40),
        rate=RATES,
        seed=SEEDS,
    )
    def test_no_turn_is_planned_twice_and_all_conversations_have_all_their_turns(
        self, turns: list[int], count: int, rate: float, seed: int
    ) -> None:
        suite = suite_of(*turns)
        found = arrivals(PoissonLoad(rate=rate, seed=seed, count=count), suite, (), repeats=1)
        assert len({(one.prompt.question_id, one.turn_round) for one in found}) == len(found) == count
        assert [one.at_s for one in found] == sorted(one.at_s for one in found)


class TestOfAPlan:
    @pytest.fixture
    def groups(self, fake: Any, write_plan: Callable[..., Path]) -> Callable[..., Any]:
        def of(suite: Suite, **changes: Any) -> Any:
            plan = load_plan(write_plan(backends=[{"kind": "apart"}], **changes), {})
            return expand(plan, plan_arms(plan)[0], [suite])

        return of

    def test_every_arm_follows_the_same_schedule_in_every_launch(self, groups: Any) -> None:
        load = {"kind": "poisson", "rate": 2, "seed": 5}
        (group,) = groups(suite_of(1, 2, 1), load=load, launches=2)
        assert len(group.cells) == 3
        assert [cell.expected_turns for cell in group.cells] == [8, 8, 8]
        (again,) = groups(suite_of(1, 2, 1), load=load, launches=2)
        assert again.arrivals == group.arrivals
        planned = [
            [
                (one.at_s, [(v.prompt.question_id, v.turn_index, v.repeat) for v in one.conversation])
                for one in coming(group, Launch(number, group.cells, range(number, number + 1), 0), set())
            ]
            for number in (0, 1)
        ]
        assert [at_s for at_s, _ in planned[0]] == [at_s for at_s, _ in planned[1]]
        assert planned[0][1][1] == [("q1", 0, 0), ("q1", 1, 0)]
        assert planned[1][1][1] == [("q1", 0, 1), ("q1", 1, 1)]

    def test_each_rate_makes_cells_of_its_own(self, groups: Any) -> None:
        found = groups(suite_of(1, 1), load={"kind": "constant", "rate": [1, 2.5]})
        assert [group.load.label for group in found] == ["constant 1/s", "constant 2.5/s"]
        ids = [cell.cell_id for group in found for cell in group.cells]
        assert len(set(ids)) == 6
        assert "constant-2.5-s" in ids[3]

    def test_launches_of_a_count_do_not_share_repeats(self, groups: Any) -> None:
        (group,) = groups(suite_of(1, 1), load={"kind": "constant", "rate": 1, "count": 3}, launches=2)
        assert group.rounds == 2
        second = coming(group, Launch(1, group.cells, range(1, 2), 0), set())
        assert [(v.prompt.question_id, v.repeat) for one in second for v in one.conversation] == [
            ("q0", 2),
            ("q1", 2),
            ("q0", 3),
        ]

    def test_what_is_left_keeps_its_gaps_and_begins_at_once(self, groups: Any) -> None:
        (group,) = groups(suite_of(1, 2, 1, 1), load={"kind": "constant", "rate": 0.5})
        launch = Launch(0, group.cells, range(1), 0)
        finished = {("q0", 0, 0), ("q1", 0, 0), ("q2", 0, 0)}
        left = coming(group, launch, finished)
        assert [(one.at_s, [(v.prompt.question_id, v.turn_index) for v in one.conversation]) for one in left] == [
            (0.0, [("q1", 1)]),
            (4.0, [("q3", 0)]),
        ]
        assert coming(group, launch, finished | {("q1", 1, 0), ("q3", 0, 0)}) == []
