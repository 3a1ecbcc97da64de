"""The chi-squared test of a sampler against its target distribution."""

from __future__ import annotations

import pytest

from draftmark.results.errors import ResultsError
from draftmark.results.metrics.distribution import goodness_of_fit


def test_a_correct_sampler_passes() -> None:
    # (612 - 600)^2 / 600 + (985 - 1000)^2 / 1000 + (403 - 400)^2 / 400
    found = goodness_of_fit([612, 985, 403], [0.3, 0.5, 0.2])

    assert found.statistic == pytest.approx(0.4875)
    assert found.degrees == 2
    assert found.limit == pytest.approx(13.816, abs=1e-3)
    assert found.passed is True


def test_drafts_accepted_as_if_sampled_from_another_distribution_fail() -> None:
    # 889^2 / 600 + 489^2 / 1000 + 400^2 / 400; half of .4445 + .2445 + .2
    found = goodness_of_fit([1489, 511, 0], [0.3, 0.5, 0.2])

    assert found.statistic == pytest.approx(1956, abs=1)
    assert found.total_variation == pytest.approx(0.4445)
    assert found.passed is False


def test_a_token_of_probability_zero_fails_at_once() -> None:
    found = goodness_of_fit([600, 399, 1], [0.6, 0.4, 0.0])

    assert found.passed is False
    assert found.statistic is None
    assert found.reason == "token 2 has probability 0 and was sampled 1 times"


def test_tokens_of_probability_zero_that_were_never_seen_are_no_degree_of_freedom() -> None:
    assert goodness_of_fit([60, 40, 0, 0], [0.6, 0.4, 0.0, 0.0]).degrees == 1


def test_rare_tokens_share_a_bin() -> None:
    # Expected 50, 44, 3, 2, 1: the last three make one bin of 6, observed 6.
    found = goodness_of_fit([50, 44, 0, 0, 6], [0.5, 0.44, 0.03, 0.02, 0.01])

    assert found.degrees == 2
    assert found.statistic == pytest.approx(0)


def test_a_bin_still_too_small_takes_in_the_next() -> None:
    # Expected 60, 38, 2: the bin of 2 joins that of 38.
    assert goodness_of_fit([60, 38, 2], [0.6, 0.38, 0.02]).degrees == 1


def test_too_few_samples_decide_nothing() -> None:
    found = goodness_of_fit([2, 2], [0.5, 0.5])
    assert found.passed is None
    assert "nothing to compare" in found.reason


@pytest.mark.parametrize(
    ("counts", "probabilities", "message"),
    [
        ([1, 2], [0.5, 0.3, 0.2], "2 counts do not match 3 probabilities"),
        ([1, 2], [0.5, 0.6], "sum to 1.1"),
        ([1, 2], [1.5, -0.5], "hold a negative"),
        ([0, 0], [0.5, 0.5], "no sample"),
    ],
)
def test_wrong_input_is_refused(counts: list[int], probabilities: list[float], message: str) -> None:
    with pytest.raises(ResultsError, match=message):
        goodness_of_fit(counts, probabilities)
