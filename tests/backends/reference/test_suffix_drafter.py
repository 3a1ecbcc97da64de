"""Suffix decoding: local trees by default, so that one answer never speeds up the next."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from draftmark.backends.drafters import SuffixSpec
from draftmark.backends.reference.choosing import Greedy
from draftmark.results.records import Arm

pytest.importorskip(
    "arctic_inference.suffix_decoding", reason="needs arctic-inference: pip install 'draftmark[suffix]'"
)

from draftmark.backends.reference.drafters.suffix import SuffixDrafter

CPU = torch.device("cpu")
TEXT = list(range(10, 30))


def drafter(**options: Any) -> SuffixDrafter:
    return SuffixDrafter(SuffixSpec(draft_length=[8], **options), CPU)


def proposed(one: SuffixDrafter, context: list[int], room: int = 8) -> list[int]:
    return one.propose(context, room, Greedy()).tokens.tolist()


def test_a_long_match_is_followed_up_to_its_own_length() -> None:
    one = drafter()
    one.begin(TEXT)
    assert proposed(one, [*TEXT, 10, 11, 12]) == [13, 14, 15]
    assert proposed(one, [*TEXT, 10, 11, 12, 13, 14]) == [15, 16, 17, 18, 19]


def test_the_factor_lengthens_drafts_and_room_bounds_them() -> None:
    one = drafter(max_spec_factor=4.0)
    one.begin(TEXT)
    assert proposed(one, [*TEXT, 10, 11]) == [12, 13, 14, 15, 16, 17, 18, 19]
    assert proposed(one, [*TEXT, 10, 11, 12], room=2) == [13, 14]


def test_no_match_and_no_room_mean_no_draft() -> None:
    one = drafter()
    one.begin(TEXT)
    assert proposed(one, [*TEXT, 99]) == []
    assert proposed(one, [*TEXT, 99, 10, 11], room=0) == []


def test_the_answers_own_text_is_followed_too() -> None:
    one = drafter()
    one.begin([1])
    assert proposed(one, [1, 50, 51, 52, 53, 60, 50, 51]) == [52, 53]


def test_trees_are_local_by_default() -> None:
    one = drafter()
    one.begin([1])
    proposed(one, [1, *TEXT])
    one.end()
    one.begin([2])
    assert proposed(one, [2, 10, 11, 12]) == []


def test_a_shared_tree_is_used_only_where_asked_for() -> None:
    one = drafter(cached_requests=10)
    one.begin([1])
    proposed(one, [1, *TEXT])
    one.end()
    one.begin([2])
    assert proposed(one, [2, 10, 11, 12]) == [13, 14, 15]


def test_a_turn_that_was_not_ended_does_not_hinder_the_next() -> None:
    one = drafter()
    one.begin(TEXT)
    one.begin([10, 11])
    one.end()
    one.end()


@pytest.mark.parametrize("cached", [0, 7])
def test_the_shared_tree_is_shown_in_the_resolved_settings(cached: int, start: Any, target: str) -> None:
    arm = Arm(drafter="suffix", draft_length=8, options={"cached_requests": cached})
    assert start(target, arm).resolved(arm)["cached_requests"] == cached


def test_asking_twice_takes_the_same_steps(start: Any, ask: Any, target: str) -> None:
    arm = Arm(drafter="suffix", draft_length=4)
    backend = start(target, arm)
    first, second = (ask(backend, arm, [1, 2, 3, 1, 2, 3], max_tokens=60, ignore_eos=True) for _ in range(2))
    assert first.output_ids == second.output_ids
    assert first.steps.drafted == second.steps.drafted
