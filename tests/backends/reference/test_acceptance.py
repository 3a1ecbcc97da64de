"""Greedy acceptance by hand, and that rejection sampling gives the target's distribution whatever was proposed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.backends.reference.acceptance import accept_greedy, accept_sampled
from draftmark.backends.reference.sampling import draw
from draftmark.results.metrics.distribution import goodness_of_fit

if TYPE_CHECKING:
    from collections.abc import Callable

P = torch.tensor([[0.3, 0.5, 0.2]])
Q = torch.tensor([[0.4, 0.35, 0.25]])


def likeliest(*tokens: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(tokens), 10).float()


@pytest.mark.parametrize(
    ("drafts", "tokens", "accepted"),
    [
        ([], [4], 0),
        ([4], [4, 5], 1),
        ([7], [4], 0),
        ([4, 5, 6], [4, 5, 6, 7], 3),
        ([4, 9, 6], [4, 5], 1),
        ([9, 5, 6], [4], 0),
    ],
)
def test_greedy_accepts_until_the_first_mismatch_and_adds_the_targets_own_token(
    drafts: list[int], tokens: list[int], accepted: int
) -> None:
    logits = likeliest(4, 5, 6, 7)[: len(drafts) + 1]
    assert accept_greedy(logits, torch.tensor(drafts, dtype=torch.int64)).read() == (tokens, accepted)


def one_token(
    propose: Callable[[torch.Generator], int], seed: int, *, certain: bool = False, n: int = 2000
) -> list[int]:
    """Count the first token after a block of one draft, n times."""
    generator, counts = torch.Generator().manual_seed(seed), [0, 0, 0]
    target = torch.cat((P, torch.tensor([[1.0, 0.0, 0.0]])))
    for _ in range(n):
        draft = torch.tensor([propose(generator)])
        tokens, _ = accept_sampled(target, draft, None if certain else Q, generator).read()
        counts[tokens[0]] += 1
    return counts


def test_drafts_drawn_from_q_leave_the_targets_distribution() -> None:
    """p = .3 .5 .2, q = .4 .35 .25."""
    counts = one_token(lambda generator: int(draw(Q[0], generator)), seed=1)
    fit = goodness_of_fit(counts, P[0].tolist())
    assert fit.passed, fit.reason


def test_certain_drafts_leave_the_targets_distribution() -> None:
    """An n-gram drafter that always proposes token 2."""
    fit = goodness_of_fit(one_token(lambda _: 2, seed=2, certain=True), P[0].tolist())
    assert fit.passed, fit.reason


def test_drafts_from_another_distribution_than_the_test_uses_are_found_out() -> None:
    """A greedy drafter that claims to have drawn from q.

    Token 0 is always proposed, kept with probability .3 / .4 = .75, else replaced from max(p - q, 0), all of it
    token 1: the output is .75 .25 0 in place of .3 .5 .2, a total variation distance of .45.
    """
    counts = one_token(lambda _: 0, seed=3)
    fit = goodness_of_fit(counts, P[0].tolist())
    assert fit.passed is False
    assert fit.total_variation == pytest.approx(0.45, abs=0.03)
    wrong = goodness_of_fit(counts, [0.75, 0.25, 0.0])
    assert wrong.passed, wrong.reason


def test_the_chi_squared_test_judges_known_counts_of_a_good_and_a_bad_sampler() -> None:
    good, bad = (goodness_of_fit(counts, P[0].tolist()) for counts in ([612, 985, 403], [1489, 511, 0]))
    assert (good.passed, bad.passed) == (True, False)
    assert good.statistic == pytest.approx(0.4875, abs=1e-4)
    assert bad.statistic == pytest.approx(1956.0, abs=0.5)


def test_a_draft_temperature_other_than_claimed_is_found_out() -> None:
    """q is claimed, but tokens come from q squared and renormalised (temperature 0.5)."""
    sharper = Q[0] ** 2 / (Q[0] ** 2).sum()
    counts = one_token(lambda generator: int(draw(sharper, generator)), seed=4, n=6000)
    assert goodness_of_fit(counts, P[0].tolist()).passed is False


def test_identical_distributions_accept_everything() -> None:
    generator = torch.Generator().manual_seed(5)
    rows = torch.softmax(torch.randn(4, 9, generator=generator), -1)
    for _ in range(50):
        drafts = torch.stack([draw(row, generator) for row in rows[:3]])
        assert accept_sampled(rows, drafts, rows[:3], generator).read()[1] == 3


def test_a_draft_that_the_target_rules_out_is_never_accepted() -> None:
    generator = torch.Generator().manual_seed(6)
    target = torch.tensor([[0.0, 0.6, 0.4], [1.0, 0.0, 0.0]])
    for _ in range(100):
        tokens, accepted = accept_sampled(target, torch.tensor([0]), None, generator).read()
        assert accepted == 0
        assert tokens[0] in {1, 2}


def test_the_token_after_a_rejected_certain_draft_is_another_one() -> None:
    generator = torch.Generator().manual_seed(8)
    target = torch.tensor([[0.5, 0.5], [0.5, 0.5]])
    for _ in range(100):
        tokens, accepted = accept_sampled(target, torch.tensor([1]), None, generator).read()
        assert tokens[0] == (1 if accepted else 0)


def test_a_narrower_proposal_is_zero_beyond_its_width() -> None:
    """The draft model knows two of three tokens; the third can still be the target's own."""
    generator, counts = torch.Generator().manual_seed(9), [0, 0, 0]
    target, q = torch.cat((P, P)), torch.tensor([[0.5, 0.5]])
    for _ in range(2000):
        tokens, _ = accept_sampled(target, draw(q[0], generator)[None], q, generator).read()
        counts[tokens[0]] += 1
    fit = goodness_of_fit(counts, P[0].tolist())
    assert fit.passed, fit.reason


def test_no_drafts_draw_from_the_target() -> None:
    generator, counts = torch.Generator().manual_seed(10), [0, 0, 0]
    for _ in range(1000):
        tokens, accepted = accept_sampled(P, torch.empty(0, dtype=torch.int64), None, generator).read()
        assert (len(tokens), accepted) == (1, 0)
        counts[tokens[0]] += 1
    fit = goodness_of_fit(counts, P[0].tolist())
    assert fit.passed, fit.reason


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(0, 5))
def test_accepted_tokens_are_the_leading_drafts(seed: int, count: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    target = torch.softmax(2 * torch.randn(count + 1, 6, generator=generator), -1)
    q = torch.softmax(2 * torch.randn(count, 6, generator=generator), -1)
    drafts = torch.stack([draw(row, generator) for row in q]) if count else torch.empty(0, dtype=torch.int64)
    tokens, accepted = accept_sampled(target, drafts, q, generator).read()
    assert 0 <= accepted <= count
    assert tokens[:accepted] == drafts[:accepted].tolist()
    assert len(tokens) == accepted + 1
    assert target[accepted, tokens[-1]] > 0
