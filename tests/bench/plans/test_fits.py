"""Prompts that do not fit into a context are named before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from draftmark.bench.plans.fits import overflow_problems, overflow_warnings
from draftmark.bench.plans.materials import FirstPrompts
from draftmark.bench.plans.plan import Plan, load_plan
from draftmark.suites.prompt import Prompt, RequestSampling, Suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Asked: TypeAlias = tuple[Plan, list[Suite], FirstPrompts]

LIMIT = 128


@pytest.fixture
def asked(fake: Any, write_plan: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """A plan whose answers may have 9 tokens, one suite `s`, and its first turns of such lengths."""

    def given(*lengths: int | None, limit: int | None = LIMIT) -> Asked:
        plan = load_plan(write_plan(), {})
        monkeypatch.setattr(type(plan.backends[0]), "context_limit", lambda self, target: limit)
        prompts = tuple(Prompt(question_id=f"q{n}", turns=("x",)) for n, _ in enumerate(lengths))
        first = {("s", f"q{n}"): None if length is None else (7,) * length for n, length in enumerate(lengths)}
        return plan, [Suite(name="s", prompts=prompts)], first

    return given


@pytest.fixture
def warned(asked: Callable[..., Asked]) -> Callable[..., list[str]]:
    return lambda *lengths, **limit: list(overflow_warnings(*asked(*lengths, **limit)))


@pytest.fixture
def refused(asked: Callable[..., Asked]) -> Callable[..., list[str]]:
    return lambda *lengths, **limit: [problem.text for problem in overflow_problems(*asked(*lengths, **limit))]


def test_a_suite_of_which_nothing_fits_is_refused(refused: Callable[..., list[str]]) -> None:
    (sentence,) = refused(152, LIMIT)
    assert "every prompt of s fills the 128 tokens of fake's context (the shortest has 128)" in sentence


@pytest.mark.parametrize("lengths", [(152, LIMIT - 1), (1,), (None,), ()])
def test_a_suite_of_which_something_may_fit_is_not(
    lengths: tuple[int | None, ...], refused: Callable[..., list[str]]
) -> None:
    assert refused(*lengths) == []


def test_nothing_is_refused_where_the_limit_is_unknown(refused: Callable[..., list[str]]) -> None:
    assert refused(500, limit=None) == []


def test_what_leaves_room_is_not_mentioned(warned: Callable[..., list[str]]) -> None:
    assert warned(1, LIMIT - 9) == []  # 119 and 9 make 128


def test_what_fills_the_context_will_fail_and_what_comes_close_may_be_cut(warned: Callable[..., list[str]]) -> None:
    assert warned(112, LIMIT, LIMIT - 8, 152) == [
        "s: 2 of 4 first turns fill the 128 tokens of fake's context and will fail: q1, q3",
        "s: 1 of 4 first turns come close to the 128 tokens of fake's context and may be cut before max_tokens: q2",
    ]


def test_of_many_some_are_named(warned: Callable[..., list[str]]) -> None:
    (sentence,) = warned(*[200] * 5)
    assert sentence.endswith("q0, q1, q2 and 2 more")


def test_nothing_is_said_where_nothing_is_known(warned: Callable[..., list[str]]) -> None:
    assert warned(500, limit=None) == []
    assert warned(None) == []


def test_a_requests_own_max_tokens_counts_where_it_is_replayed(asked: Callable[..., Asked]) -> None:
    plan, (suite,), first = asked(100, 100)
    long, short = suite.prompts
    own = long.model_copy(update={"sampling": RequestSampling(max_tokens=64)})
    suites = [suite.model_copy(update={"prompts": (own, short)})]
    assert list(overflow_warnings(plan, suites, first)) == []
    replayed = plan.model_copy(update={"request_sampling": "recorded"})
    (sentence,) = overflow_warnings(replayed, suites, first)
    assert "1 of 2 first turns come close to the 128 tokens" in sentence
    assert sentence.endswith("q0")
