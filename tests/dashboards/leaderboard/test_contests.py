"""The paired ratio of two entries' speed-ups, on laps whose ratios are plain to see."""

from __future__ import annotations

import numpy as np
import pytest

from draftmark.dashboards.leaderboard.contests import Lap, Laps, contest

EVEN = (0.02, -0.02) * 5
ODD = (0.03, -0.01, -0.02) * 4


def lap(seconds: list[float], *, base: float = 10.0, names: str = "abcdefghij", launches: int = 1) -> Lap:
    """One pair of a hundred tokens per conversation and launch: `base` seconds without speculation, `seconds` with."""
    count = len(seconds) * launches
    return Lap(
        question=np.array(list(names[: len(seconds)]) * launches),
        stratum=np.full(count, "all"),
        launch=np.repeat(np.arange(launches), len(seconds)),
        launches=launches,
        times=np.stack(
            [np.full(count, base), np.full(count, 100.0), np.tile(seconds, launches), np.full(count, 100.0)]
        ),
    )


def jittered(seconds: float, jitter: tuple[float, ...] = EVEN, count: int = 10) -> list[float]:
    return [seconds * (1 + share) for share in jitter[:count]]


def laps(run: str, *rounds: Lap) -> Laps:
    return Laps((run, "group"), rounds)


def test_twice_the_speed_is_a_ratio_of_2_and_one_half_the_other_way() -> None:
    fast, slow = laps("one", lap(jittered(4.0))), laps("one", lap(jittered(8.0, ODD)))
    found, back = contest(fast, slow), contest(slow, fast)
    assert 1.9 < found.low < 2.0 < found.high < 2.1
    assert (back.low, back.high) == pytest.approx((1 / found.high, 1 / found.low))


def test_arms_of_one_run_share_its_baseline_so_that_its_drift_cancels() -> None:
    first, second = jittered(4.0), jittered(5.0, ODD)
    steady = contest(laps("one", lap(first)), laps("one", lap(second)))
    drifting = contest(laps("one", lap(first), lap(first, base=13.0)), laps("one", lap(second), lap(second, base=13.0)))
    assert (drifting.low, drifting.high) == pytest.approx((steady.low, steady.high))


def test_between_runs_the_drift_of_a_baseline_widens_the_interval() -> None:
    first, second = jittered(4.0), jittered(5.0, ODD)
    # Against its first round the ratio is 5 / 4, against its second, 30% slower, 1.3 times that.
    found = contest(laps("one", lap(first), lap(first, base=13.0)), laps("two", lap(second)))
    assert 1.2 < found.low < 1.25
    assert 1.625 < found.high < 1.7


def test_a_slow_baseline_makes_an_arm_of_another_run_look_fast_by_just_that() -> None:
    same = jittered(5.0)
    found = contest(laps("one", lap(same, base=20.0)), laps("two", lap(jittered(5.0, ODD), base=10.0)))
    assert 1.9 < found.low < 2.0 < found.high < 2.1


def test_only_conversations_that_both_were_asked_count() -> None:
    # The last two, which the second lacks, would make the first three times as slow.
    long = lap([*jittered(4.0), 100.0, 100.0], names="abcdefghijkl")
    found = contest(laps("one", long), laps("two", lap(jittered(8.0, ODD))))
    assert 1.9 < found.low < 2.0 < found.high < 2.1


@pytest.mark.parametrize(("names", "told"), [("klmnopqrst", "no conversation"), ("defghijklm", "7 conversations")])
def test_too_few_shared_conversations_give_no_interval(names: str, told: str) -> None:
    found = contest(laps("one", lap(jittered(4.0))), laps("two", lap(jittered(8.0, ODD), names=names)))
    assert (found.low, found.high) == (None, None)
    assert told in found.notes[0]


def test_what_differs_between_launches_is_in_the_interval() -> None:
    first, second = lap(jittered(4.0), launches=2), lap(jittered(5.0, ODD), launches=2)
    first.times[2, 10:] *= 1.2  # the second launch is slower throughout
    found = contest(laps("one", first), laps("one", second))
    once = contest(laps("one", lap(jittered(4.4))), laps("one", lap(jittered(5.0, ODD))))
    assert "2 launches" in found.notes
    assert found.low < once.low < once.high < found.high
