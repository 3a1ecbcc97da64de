"""Warm-up prompts: their own, of the measured shape, the same every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.plans.cells import expand, plan_arms
from draftmark.bench.plans.plan import load_plan
from draftmark.bench.running.warmup import shapes, warmup_prompt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.suites.prompt import Suite


def test_warm_up_turns_take_the_suites_median_shapes_longest_first_and_go_round(
    fake: Any, write_plan: Callable[..., Path], make_suite: Callable[..., Suite]
) -> None:
    plan = load_plan(write_plan(), {})
    suites = [make_suite("a", "b", "c", name="short"), make_suite("a", "b", name="long")]
    groups = expand(plan, plan_arms(plan)[0], suites)
    tokens = {("short", "q0"): 10, ("short", "q1"): 90, ("short", "q2"): 20, ("long", "q0"): 100, ("long", "q1"): 200}
    found = [(group.suite.name, length) for group, length in shapes(groups, tokens, 3)]
    assert found == [("long", 150), ("short", 20), ("long", 150)]


@pytest.mark.parametrize("tokens", [200, 1000, 5000])
def test_a_prompt_is_as_long_as_asked_to_within_a_word(fake: Any, tokens: int) -> None:
    renderer = fake.FakeRenderer()
    prompt = warmup_prompt(0, tokens, renderer)
    length = len(renderer.prompt_ids([{"role": "user", "content": prompt.turns[0]}]))
    assert tokens - 9 <= length <= tokens  # a word and its space are at most 8 characters, and a token here is one


def test_a_prompt_shorter_than_the_shortest_is_the_shortest(fake: Any) -> None:
    (text,) = warmup_prompt(0, 1, fake.FakeRenderer()).turns
    assert text.startswith("Warm-up 0: ")


def test_numbers_give_different_prompts_and_the_same_number_the_same(fake: Any) -> None:
    renderer = fake.FakeRenderer()
    assert warmup_prompt(1, 300, renderer) == warmup_prompt(1, 300, renderer)
    assert warmup_prompt(1, 300, renderer).turns != warmup_prompt(2, 300, renderer).turns


def test_the_most_at_once_are_warmed_up_first(
    fake: Any, write_plan: Callable[..., Path], make_suite: Callable[..., Suite]
) -> None:
    plan = load_plan(write_plan(backends=[{"kind": "apart"}], load={"concurrency": [1, 4]}), {})
    groups = expand(plan, plan_arms(plan)[0], [make_suite("a", name="long"), make_suite("b", name="short")])
    tokens = {("long", "q0"): 90, ("short", "q0"): 10}
    found = [(group.load.concurrency, length) for group, length in shapes(groups, tokens, 5)]
    assert found == [(4, 90), (4, 10), (1, 90), (1, 10), (4, 90)]
