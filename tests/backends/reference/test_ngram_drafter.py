"""Prompt lookup copies what followed the most recent earlier occurrence of the longest suffix."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from draftmark.backends.reference.choosing import Greedy
from draftmark.backends.reference.drafters.ngram import NgramDrafter


def lookup(prompt: list[int], answer: list[int], room: int = 4, min_match: int = 1, max_match: int = 3) -> list[int]:
    drafter = NgramDrafter(min_match, max_match, torch.device("cpu"))
    drafter.begin(prompt)
    return drafter.propose(prompt + answer, room, Greedy()).tokens.tolist()


@pytest.mark.parametrize(
    ("prompt", "answer", "proposed"),
    [
        ([1, 2, 3, 4, 5, 6, 7], [2, 3], [4, 5, 6, 7]),
        ([1, 2, 3, 9, 2, 3, 8], [2, 3], [8, 2, 3]),  # the later of two occurrences
        ([5, 1, 2, 3, 9, 2, 3, 8], [1, 2, 3], [9, 2, 3, 8]),  # three tokens matched before two
        ([1, 2, 3], [7], []),  # never seen before
        ([1, 2, 3, 4], [3], [4, 3]),  # the copy ends where the context ends
        ([4], [4], [4]),
        ([1], [2], []),
        ([6, 6, 6], [6], [6]),  # the most recent occurrence is one token back
    ],
)
def test_what_is_copied(prompt: list[int], answer: list[int], proposed: list[int]) -> None:
    assert lookup(prompt, answer) == proposed


def test_a_suffix_shorter_than_the_least_match_is_not_looked_up() -> None:
    assert lookup([1, 2, 3, 4], [9, 2], min_match=2) == []
    assert lookup([9, 2, 3, 4], [9, 2], min_match=2) == [3, 4, 9, 2]


def test_a_prompt_shorter_than_the_match_proposes_nothing() -> None:
    assert lookup([1], [1], min_match=3, max_match=5) == []


def test_no_room_means_no_draft() -> None:
    assert lookup([1, 2, 3, 1], [2], room=0) == []


def test_one_turn_leaves_nothing_for_the_next() -> None:
    drafter = NgramDrafter(1, 3, torch.device("cpu"))
    drafter.begin([1, 2, 3, 4])
    drafter.propose([1, 2, 3, 4, 2], 3, Greedy())
    drafter.end()
    drafter.begin([2])
    assert drafter.propose([2, 3], 3, Greedy()).tokens.tolist() == []


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 5))
def test_a_draft_repeats_a_place_whose_suffix_matches(context: list[int], room: int) -> None:
    """Growing step by step or given at once, the proposal is what followed an equal last token, at most D of it."""
    at_once = lookup(context[:1], context[1:], room)
    drafter = NgramDrafter(1, 3, torch.device("cpu"))
    drafter.begin(context[:1])
    grown: list[int] = []
    for end in range(1, len(context) + 1):
        grown = drafter.propose(context[:end], room, Greedy()).tokens.tolist()
    assert grown == at_once
    assert len(grown) <= room
    places = [place for place in range(1, len(context)) if context[place - 1] == context[-1]]
    assert bool(grown) == bool(places)
    assert not grown or any(context[place : place + len(grown)] == grown for place in places)
