"""The lamp on prompts that the engine read otherwise than they were sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from draftmark.results.sanity.prompt_tokens import check_prompt_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell

    Said = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def said(make_checked: Callable[..., CheckedCell], make_turn: Callable[..., TurnRecord]) -> Said:
    """Lamps where `p0`, `p1`, ... were sent with the first number of tokens, and counted with the second."""

    def check(*pairs: tuple[int | None, int | None], **changes: object) -> list[tuple[str, str, str]]:
        turns = [make_turn(f"p{n}", prompt_tokens=told, **changes) for n, (_, told) in enumerate(pairs)]
        sent = {(f"p{n}", 0): count for n, (count, _) in enumerate(pairs) if count is not None}
        cell = replace(make_checked(turns), sent_tokens=sent)
        return [(lamp.name, lamp.level, lamp.text) for lamp in check_prompt_tokens(cell)]

    return check


def test_equal_counts_say_nothing(said: Said) -> None:
    assert said((41, 41), (7, 7)) == []


def test_one_more_everywhere_is_a_second_beginning(said: Said) -> None:
    ((name, level, text),) = said((41, 42), (7, 8))
    assert (name, level) == ("prompts", "warning")
    assert "In 2 turns" in text
    assert "first in question p0: 42 where 41 tokens went out" in text
    assert text.endswith("always one more: a second beginning-of-sequence token? Have the server add none.")


def test_other_differences_are_other_prompts(said: Said) -> None:
    ((_, level, text),) = said((41, 42), (7, 30))
    assert level == "warning"
    assert text.endswith(
        "it read other prompts, as by a chat template or tokenizer of its own. Name the target that it serves."
    )


def test_what_is_unknown_is_not_compared(said: Said) -> None:
    assert said((None, 42), (7, None)) == []
    assert said((41, 42), turn_index=1) == []
    assert said((41, 42), status="failed") == []


def test_which_way_they_differ_is_told(said: Said) -> None:
    ((_, _, text),) = said((41, 30), (7, 9), (8, 1), (5, 5))
    assert "went out), 2 shorter and 1 longer: it read other prompts" in text


def test_prompts_that_all_end_at_one_length_were_cut_there(said: Said) -> None:
    ((_, level, text),) = said((4100, 4096), (9000, 4096), (12, 12))
    assert level == "warning"
    assert text.endswith(
        "always 4,096 where more went out: it cuts prompts there, and answers what is left. Raise its limit."
    )


def test_prompts_of_one_length_show_no_limit(said: Said) -> None:
    for lengths in [(4100, 4096)], [(4100, 4096), (4100, 4096)]:
        ((_, _, text),) = said(*lengths, (12, 12))
        assert "went out), shorter: it read other prompts" in text


def test_later_turns_are_held_against_what_they_were_asked_with(said: Said) -> None:
    ((_, level, text),) = said((None, 900), turn_index=1, asked_tokens=1000)
    assert level == "warning"
    assert "first in question p0, turn 2: 900 where 1,000 tokens went out" in text
    assert said((None, 1000), turn_index=1, asked_tokens=1000) == []


class TestUnknownLengths:
    """Of prompts whose tokens nobody else counted, a limit still shows where the longest ones end."""

    @pytest.fixture
    def told(self, make_checked: Callable[..., CheckedCell], make_turn: Callable[..., TurnRecord]) -> Said:
        """Lamps where prompts, all different, have so many tokens by the engine's count."""

        def check(*counts: int, alike: bool = False) -> list[tuple[str, str, str]]:
            turns = [
                make_turn(f"p{n}", prompt_tokens=count, prompt_hash=f"{0 if alike else n:064x}")
                for n, count in enumerate(counts)
            ]
            return [(lamp.name, lamp.level, lamp.text) for lamp in check_prompt_tokens(make_checked(turns))]

        return check

    def test_three_that_end_at_one_length(self, told: Said) -> None:
        ((name, level, text),) = told(512, 512, 512, 90)
        assert (name, level) == ("prompts", "warning")
        assert text.startswith("The longest prompts all have 512 tokens by the engine's count, though they differ")

    def test_two_may_be_chance(self, told: Said) -> None:
        assert told(512, 512, 90) == []

    def test_one_prompt_asked_often_is_no_limit(self, told: Said) -> None:
        assert told(512, 512, 512, 90, alike=True) == []

    def test_a_suite_of_one_length_is_no_limit(self, told: Said) -> None:
        assert told(512, 512, 512) == []

    def test_short_prompts_agree_by_chance(self, told: Said) -> None:
        assert told(20, 20, 20, 9) == []
