"""Order, rotation and seeds."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from draftmark.bench.plans.cells import expand, plan_arms
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.running.schedule import rotation, turn_seed, visits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.suites.prompt import Suite


def test_three_arms_rotate_and_then_mirror() -> None:
    assert [rotation(index, 3) for index in range(6)] == [
        [0, 1, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
        [0, 2, 1],
        [1, 0, 2],
    ]


@given(arms=st.integers(1, 12), rounds=st.integers(0, 5))
def test_over_a_round_every_arm_takes_every_place_once(arms: int, rounds: int) -> None:
    rows = [rotation(rounds * arms + index, arms) for index in range(arms)]
    assert all(sorted(row) == list(range(arms)) for row in rows)
    places = Counter((arm, place) for row in rows for place, arm in enumerate(row))
    assert set(places.values()) == {1}
    assert len(places) == arms * arms


@given(arms=st.integers(2, 12))
def test_over_two_rounds_every_arm_follows_every_other_equally_often(arms: int) -> None:
    rows = [rotation(index, arms) for index in range(2 * arms)]
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert set(follows.values()) == {2}
    assert len(follows) == arms * (arms - 1)


def test_visits_go_repeat_by_repeat_suite_by_suite_turn_by_turn(
    fake: Any, write_plan: Callable[..., Path], make_suite: Callable[..., Suite]
) -> None:
    plan = load_plan(write_plan(), {})
    groups = expand(plan, plan_arms(plan)[0], [make_suite(["a", "b"], "c", name="talk"), make_suite("d", name="code")])
    found = [
        (visit.index, visit.repeat, visit.group.suite.name, visit.prompt.question_id, visit.turn_index)
        for visit in visits(groups, range(2))
    ]
    once = [("talk", "q0", 0), ("talk", "q0", 1), ("talk", "q1", 0), ("code", "q0", 0)]
    assert found == [(4 * repeat + n, repeat, *once[n]) for repeat in (0, 1) for n in range(4)]


def test_a_seed_is_the_same_on_every_machine_and_another_for_every_turn() -> None:
    # printf '[0,"coding","q1",0,0]' | sha256sum begins so
    assert f"{turn_seed(0, 'coding', 'q1', 0, 0):013x}" == "d635e20efcbb7"
    seeds = [
        turn_seed(root, suite, question, turn, repeat)
        for root in (0, 1)
        for suite in ("coding", "talk")
        for question in ("q1", "q11")
        for turn in (0, 1)
        for repeat in (0, 1)
    ]
    assert len(set(seeds)) == 32


@given(st.integers(0, 2**63 - 1), st.text(max_size=20), st.text(max_size=20))
def test_every_seed_fits_what_engines_and_json_readers_hold_exactly(root: int, suite: str, question: str) -> None:
    assert 0 <= turn_seed(root, suite, question, 0, 0) < 2**53
