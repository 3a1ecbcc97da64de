"""Goodput: which turns meet the objectives, per second, and whether there are enough of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.records.loads import ConstantLoad, Objectives

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


@pytest.fixture
def answered(make_turn: Build) -> Build:
    """A turn sent at `sent`, of 11 tokens: the first after `ttft`, then one every `tpot` seconds."""

    def build(name: str, *, sent: float = 0.0, ttft: float = 0.2, tpot: float = 0.1, **changes: Any) -> TurnRecord:
        stamps = [sent + ttft + tpot * index for index in range(11)]
        seen = {
            "output_tokens": 11,
            "sent_s": sent,
            "first_token_s": stamps[0],
            "last_token_s": stamps[-1],
            "done_s": stamps[-1],
            "chunk_s": stamps,
            "chunk_tokens": [1] * 11,
        }
        return make_turn(name, **(seen | changes))

    return build


def test_needs_objectives(answered: Build, measured: Measure) -> None:
    found = measured(answered("a"))
    assert "no objectives" in str(found["goodput"].reason)
    assert "no objectives" in str(found["objectives_met"].reason)


def test_a_turn_has_to_meet_every_objective(answered: Build, measured: Measure) -> None:
    turns = [
        answered("good", sent=0.0),  # 1.2 s
        answered("late", sent=10.0, ttft=0.6),  # 1.6 s
        answered("slow", sent=20.0, tpot=0.3),  # 3.2 s
        answered("again", sent=30.0, ttft=0.4),  # 1.4 s
    ]
    found = measured(*turns, objectives=Objectives(ttft=0.5, tpot=0.2, percentile=50))
    assert found["goodput"].value == pytest.approx(2 / (1.2 + 1.6 + 3.2 + 1.4))
    assert found["objectives_met"].value == pytest.approx(0.5)
    assert "target of 50% met" in str(found["objectives_met"].note)
    assert "within the limit: ttft 75.0%, tpot 75.0%" in str(found["objectives_met"].note)
    missed = measured(*turns, objectives=Objectives(ttft=0.5, tpot=0.2, percentile=51))["objectives_met"]
    assert "target of 51% missed" in str(missed.note)
    assert measured(*turns, objectives=Objectives(e2e=1.45))["objectives_met"].value == pytest.approx(0.5)


def test_a_limit_may_be_reached(answered: Build, measured: Measure) -> None:
    turn = answered("a", ttft=0.5, tpot=0.25)
    assert measured(turn, objectives=Objectives(ttft=0.5, tpot=0.25, e2e=3))["objectives_met"].value == 1
    assert measured(turn, objectives=Objectives(ttft=0.49))["objectives_met"].value == 0


def test_a_failed_turn_meets_nothing_and_its_time_counts(answered: Build, measured: Measure) -> None:
    good = answered("good", sent=0.0)
    failed = answered("bad", sent=10.0, status="failed", first_token_s=10.1, done_s=14.0)
    found = measured(good, failed, objectives=Objectives(ttft=0.5))
    assert found["goodput"].value == pytest.approx(1 / (1.2 + 4.0))
    assert found["objectives_met"].value == pytest.approx(0.5)
    assert measured(failed, objectives=Objectives(ttft=0.5))["goodput"].value == 0


def test_waiting_for_one_s_turn_counts_where_there_is_a_schedule(answered: Build, measured: Measure) -> None:
    turns = [answered(f"q{i}", sent=i + 0.4, scheduled_s=float(i)) for i in range(5)]
    load = ConstantLoad(rate=1)
    found = measured(*turns, open_load=load, objectives=Objectives(ttft=0.5))
    assert found["objectives_met"].value == 0  # 0.4 s late and then 0.2 s
    assert "from when a request was due" in str(found["objectives_met"].note)
    met = measured(*turns, open_load=load, objectives=Objectives(ttft=0.7))
    assert met["goodput"].value == pytest.approx(4 / 4)  # those that began in the four seconds from 0 to 4
    assert met["objectives_met"].value == 1


def test_one_token_has_no_time_per_token_and_cannot_be_too_slow(answered: Build, measured: Measure) -> None:
    one = answered("a", output_tokens=1, chunk_s=[0.2], chunk_tokens=[1], last_token_s=0.2, done_s=0.2)
    assert measured(one, objectives=Objectives(tpot=0.05))["objectives_met"].value == 1


def test_a_time_that_is_not_known_is_not_met(answered: Build, measured: Measure) -> None:
    burst = answered("a", chunk_s=[0.2], chunk_tokens=[11], last_token_s=0.2, done_s=0.2)  # all tokens in one read
    found = measured(burst, objectives=Objectives(tpot=0.05))["objectives_met"]
    assert found.value == 0
    assert "1 turns lack a time" in str(found.note)


def test_few_turns_for_a_percentile_are_named(answered: Build, measured: Measure) -> None:
    turns = [answered(f"q{i}", sent=10.0 * i) for i in range(100)]
    assert "few for 99%" in str(measured(*turns[:99], objectives=Objectives(ttft=1))["objectives_met"].note)
    assert "few" not in str(measured(*turns, objectives=Objectives(ttft=1))["objectives_met"].note)
