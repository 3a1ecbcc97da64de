"""Temperature, top-k and top-p on rows of logits, worked out by hand and against transformers' own warpers."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from draftmark.backends.reference.sampling import draw, probabilities
from draftmark.results.records import Sampling

HALVES = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()


def chances(logits: torch.Tensor, **sampling: float) -> list[float]:
    return [round(value, 6) for value in probabilities(logits, Sampling(**{"temperature": 1.0} | sampling))[0].tolist()]


def test_temperature_one_is_the_softmax() -> None:
    assert chances(HALVES) == [0.5, 0.25, 0.125, 0.125]


def test_temperature_one_half_squares_the_ratios() -> None:
    """0.25, 0.0625, 0.015625, 0.015625 over their sum 0.34375."""
    assert chances(HALVES, temperature=0.5) == [0.727273, 0.181818, 0.045455, 0.045455]


def test_the_smallest_temperature_neither_overflows_nor_divides_by_zero() -> None:
    assert chances(torch.tensor([[80.0, -80.0, 79.0]]), temperature=0.001) == [1.0, 0.0, 0.0]


def test_top_k_renormalises_over_the_k_likeliest() -> None:
    assert chances(HALVES, top_k=2) == [0.666667, 0.333333, 0.0, 0.0]


def test_top_k_keeps_what_ties_with_the_kth() -> None:
    assert chances(HALVES, top_k=3) == [0.5, 0.25, 0.125, 0.125]


def test_top_k_beyond_the_vocabulary_changes_nothing() -> None:
    assert chances(HALVES, top_k=9) == [0.5, 0.25, 0.125, 0.125]


def test_top_p_keeps_the_fewest_tokens_that_reach_it() -> None:
    assert chances(HALVES, top_p=0.6) == [0.666667, 0.333333, 0.0, 0.0]
    assert chances(HALVES, top_p=0.5) == [1.0, 0.0, 0.0, 0.0]


def test_the_smallest_top_p_still_keeps_the_likeliest() -> None:
    assert chances(HALVES, top_p=1e-9) == [1.0, 0.0, 0.0, 0.0]


def test_top_p_counts_the_mass_left_by_top_k() -> None:
    """After top-k 2 the likeliest holds 0.667 of the mass, which reaches 0.6 alone."""
    assert chances(HALVES, top_k=2, top_p=0.6) == [1.0, 0.0, 0.0, 0.0]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    temperature=st.sampled_from([0.3, 0.7, 1.0, 1.7]),
    top_k=st.sampled_from([0, 1, 4, 30]),
    top_p=st.sampled_from([0.2, 0.85, 1.0]),
)
def test_the_same_distribution_as_transformers_generate(
    seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    logits = torch.randn(3, 25, generator=torch.Generator().manual_seed(seed)) * 3
    scores = TemperatureLogitsWarper(temperature)(None, logits)
    if top_k:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    ours = probabilities(logits, Sampling(temperature=temperature, top_k=top_k, top_p=top_p))
    torch.testing.assert_close(ours, scores.softmax(-1), atol=1e-6, rtol=1e-4)


def test_rows_are_independent_and_sum_to_one() -> None:
    logits = torch.randn(4, 50, generator=torch.Generator().manual_seed(1))
    sampling = Sampling(temperature=0.8, top_k=20, top_p=0.9)
    together = probabilities(logits, sampling)
    alone = torch.cat([probabilities(row[None], sampling) for row in logits])
    torch.testing.assert_close(together, alone, atol=0, rtol=0)
    torch.testing.assert_close(together.sum(-1), torch.ones(4))


def test_half_precision_logits_give_float32_probabilities() -> None:
    assert probabilities(HALVES.bfloat16(), Sampling(temperature=1.0)).dtype == torch.float32


def test_a_seed_repeats_the_draws() -> None:
    row = torch.tensor([0.2, 0.3, 0.5])
    runs = [[int(draw(row, torch.Generator().manual_seed(7))) for _ in range(2)] for _ in range(2)]
    assert runs[0] == runs[1]


def test_what_has_no_chance_is_never_drawn() -> None:
    generator = torch.Generator().manual_seed(3)
    row = torch.tensor([0.0, 1.0, 0.0, 1e-3])
    assert {int(draw(row, generator)) for _ in range(300)} <= {1, 3}


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_top_p_of_equals_keeps_whole_tokens(temperature: float) -> None:
    """Ten equal tokens: 0.35 needs four of them, whatever the temperature."""
    kept = probabilities(torch.zeros(1, 10), Sampling(temperature=temperature, top_p=0.35))[0]
    assert int((kept > 0).sum()) == 4
    assert math.isclose(float(kept.max()), 0.25, rel_tol=1e-6)
