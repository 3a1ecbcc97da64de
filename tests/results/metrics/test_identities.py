"""Identities: a turn that adds up breaks none; one that does not is told apart by its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import broken_identities

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord

    Build = Callable[..., TurnRecord]


def broken(*turns: TurnRecord, drafter: str = "ngram", draft_length: int = 3, **facts: Any) -> list[str]:
    return broken_identities(CellColumns.from_turns(turns), drafter=drafter, draft_length=draft_length, **facts)


def test_turns_that_add_up_break_none(stepped_turn: Build, make_turn: Build) -> None:
    assert broken(stepped_turn((3, 3), (0, 0), (3, 1)), stepped_turn((3, 3), (3, 3), cut=2, question_id="b")) == []
    assert broken(make_turn(output_tokens=0), make_turn("b", output_tokens=1)) == []
    assert broken(stepped_turn(output_tokens=0), stepped_turn(question_id="b")) == []
    assert broken(stepped_turn((0, 0), (0, 0)), drafter="none", draft_length=0) == []


def test_tokens_must_be_those_of_prefill_and_steps(stepped_turn: Build) -> None:
    # 2 accepted and one more from a step, one from prefill: 4, not 5.
    (sentence,) = broken(stepped_turn((3, 2), output_tokens=5, turn_index=2, repeat=1))
    assert sentence == (
        "question p1, turn 2, repeat 1: the engine counted 5 tokens, but prefill and the steps delivered 4"
    )


def test_tokens_must_be_as_many_as_ids(make_turn: Build) -> None:
    (sentence,) = broken(make_turn(output_tokens=3, output_ids=[1, 2]))
    assert "counted 3 tokens, but gave 2 ids" in sentence


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            {"drafted": [3, 3], "accepted": [3, 0], "delivered": [2, 1]},
            "it is cut short before its last step, in 1 step",
        ),
        ({"drafted": [3], "accepted": [1], "delivered": [3]}, "1 step delivered more than their accepted tokens"),
        ({"drafted": [3], "accepted": [1], "delivered": [0]}, "1 step delivered nothing"),
        ({"drafted": [1], "accepted": [2], "delivered": [3]}, "1 step accepted more than was drafted"),
        ({"drafted": [4], "accepted": [1], "delivered": [2]}, "1 step drafted more than D = 3"),
        ({"drafted": [5], "accepted": [4], "delivered": [5]}, "acceptance length 5.000 lies outside 1 to 4"),
        ({"drafted": [1], "accepted": [2], "delivered": [3]}, "2 tokens were accepted of 1 drafted"),
        (
            {"drafted": [3], "accepted": [1], "delivered": [2], "draft_s": [-0.1]},
            "1 step took a negative time",
        ),
    ],
)
def test_each_broken_identity_is_said(make_turn: Build, steps: dict[str, Any], said: str) -> None:
    found = broken(make_turn(output_tokens=1 + sum(steps["delivered"]), steps=steps))
    assert any(said in sentence for sentence in found)


def test_an_arm_without_a_drafter_must_not_draft(stepped_turn: Build) -> None:
    found = broken(stepped_turn((2, 0)), drafter="none", draft_length=0)
    assert any("has no drafter, but 2 tokens were drafted" in sentence for sentence in found)


def test_failed_turns_are_not_checked(stepped_turn: Build) -> None:
    assert broken(stepped_turn((3, 2), output_tokens=99, status="failed")) == []


def test_many_are_summed_up(stepped_turn: Build) -> None:
    turns = [stepped_turn((3, 2), output_tokens=9, question_id=f"q{i}") for i in range(5)]
    found = broken(*turns, limit=2)
    assert len(found) == 3
    assert found[-1] == "3 more of this kind"
