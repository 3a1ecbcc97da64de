"""The lamp on prompts that a prefix cache answered, by the engine's counters or by what came with each answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from draftmark.results.sanity.prefix_cache import check_prefix_cache

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell

    Share = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def share(make_checked: Callable[..., CheckedCell], make_turn: Callable[..., TurnRecord]) -> Share:
    """Levels and first words for counters over windows, and for (prompt tokens, cached ones) of each answer."""

    def check(*windows: dict[str, float], answers: tuple[tuple[int, object], ...] = ()) -> list[tuple[str, str]]:
        told = [{"session": 0, "launch": 0, "before": dict.fromkeys(one, 50.0), "after": one} for one in windows]
        turns = [
            make_turn(f"p{n}", prompt_tokens=read, details={} if held is None else {"cached_prompt_tokens": held})
            for n, (read, held) in enumerate(answers)
        ]
        cell = replace(make_checked(turns or [make_turn()]), engine={"windows": told} if told else None)
        found = list(check_prefix_cache(cell))
        assert {lamp.name for lamp in found} <= {"values"}
        return [(lamp.level, lamp.text.partition(",")[0]) for lamp in found]

    return check


def took(share: str) -> str:
    return f"The engine took {share} of the prompt tokens from its prefix cache"


def test_counters_are_added_up_over_all_windows(share: Share) -> None:
    first = {"cached_prompt_tokens": 50.0 + 30, "prompt_tokens": 50.0 + 100}
    second = {"cached_prompt_tokens": 50.0 + 80, "prompt_tokens": 50.0 + 100}
    assert share(first, second) == [("warning", took("55%"))]


@pytest.mark.parametrize(
    "windows",
    [
        [],
        [{"cached_prompt_tokens": 50.0, "prompt_tokens": 150.0}],
        [{"prompt_tokens": 150.0}],
        [{"cached_prompt_tokens": 80.0}],
    ],
)
def test_no_hit_or_no_count_says_nothing(share: Share, windows: list[dict[str, float]]) -> None:
    assert share(*windows) == []


def test_answers_tell_it_where_no_counter_does(share: Share) -> None:
    # 90 of 300 tokens; the turn that does not say is in neither sum.
    assert share(answers=((100, 0), (200, 90), (700, None))) == [("warning", took("30%"))]


def test_the_beginning_that_all_prompts_share_is_a_note(share: Share) -> None:
    assert share(answers=((100, 5), (100, 5))) == [("note", took("5%"))]
    assert share(answers=((1000, 1),)) == [("note", took("under 1%"))]


def test_a_cache_that_held_nothing_says_nothing(share: Share) -> None:
    assert share(answers=((100, 0),)) == []


def test_what_is_no_count_is_not_one(share: Share) -> None:
    assert share(answers=((100, True), (100, "9"), (100, -3))) == []
