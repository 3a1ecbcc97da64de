"""The lamp on thinking that is not as the plan says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from draftmark.results.sanity.thinking import check_thinking

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell

    Said = Callable[..., list[str]]


@pytest.fixture
def said(make_checked: Callable[..., CheckedCell], make_turn: Callable[..., TurnRecord]) -> Said:
    """What is said of answers of nine tokens that hold so many of thinking."""

    def check(mode: str | None, *thinking: int | None, tokens: int = 9) -> list[str]:
        turns = [make_turn(f"p{n}", output_tokens=tokens, thinking_tokens=told) for n, told in enumerate(thinking)]
        found = list(check_thinking(replace(make_checked(turns), thinking=mode)))
        assert {(lamp.name, lamp.level) for lamp in found} <= {("answers", "warning")}
        return [lamp.text for lamp in found]

    return check


@pytest.mark.parametrize("mode", ["on", "low", "high"])
def test_a_target_that_should_think_and_does_not_is_told(said: Said, mode: str) -> None:
    (text,) = said(mode, 0, 0)
    assert text.startswith(f"thinking is {mode}, but no answer holds any thinking")
    assert len(said(mode, 0, 4)) == 1  # two marks and two blank lines


@pytest.mark.parametrize("thinking", [(0, 5), (0, None), (None, None)], ids=["one does", "unknown", "all unknown"])
def test_nothing_is_said_where_one_thinks_or_may(said: Said, thinking: tuple[int | None, ...]) -> None:
    assert said("on", *thinking) == []


def test_answers_too_short_to_think_say_nothing(said: Said) -> None:
    assert said("on", 0, 0, tokens=4) == []


def test_a_target_that_should_not_think_and_does_is_told(said: Said) -> None:
    (text,) = said("off", 0, 9, None)
    assert text.startswith("thinking is off, but 1 of 2 answers holds thinking")
    assert said("off", 0, 4, None) == []


def test_a_plan_that_does_not_say_is_not_held_to_it(said: Said) -> None:
    assert said(None, 0, 9) == []
    assert said(None, 0, 0) == []
