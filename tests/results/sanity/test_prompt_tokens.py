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
    assert text.endswith("always one more: a second beginning-of-sequence token?")


def test_other_differences_are_other_prompts(said: Said) -> None:
    ((_, level, text),) = said((41, 42), (7, 30))
    assert level == "warning"
    assert text.endswith("it read other prompts, as by a chat template or tokenizer of its own.")


def test_what_is_unknown_is_not_compared(said: Said) -> None:
    assert said((None, 42), (7, None)) == []
    assert said((41, 42), turn_index=1) == []
    assert said((41, 42), status="failed") == []
