"""Whether sampled tokens follow the target's distribution: Pearson's chi-squared test of goodness of fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_EXPECTED = 5.0
"""Tokens expected less often than this share a bin, as the test's approximation needs."""


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """The outcome of one test."""

    passed: bool | None
    """Null where the test cannot decide; `reason` says why."""
    statistic: float | None
    """Chi-squared; null where a token of probability 0 was seen, which no statistic can outweigh, or without a test."""
    degrees: int
    limit: float | None
    """The statistic must not exceed it."""
    p_value: float | None
    total_variation: float
    """Half the summed difference of observed shares and probabilities, before any merging; 0 to 1."""
    reason: str
    """One sentence."""


def goodness_of_fit(
    counts: Sequence[int], probabilities: Sequence[float], *, significance: float = 0.001
) -> GoodnessOfFit:
    """Test whether counts (one per token, same order as the probabilities) are a sample of the distribution.

    Tokens expected fewer than 5 times are merged into one bin, with the least expected of the others if that is needed
    to reach 5. A token of probability 0 that was observed fails at once.

    Args:
        counts: How often each token was sampled.
        probabilities: The target's probabilities; they sum to 1.
        significance: Probability of failing a correct sampler.
    """
    observed, expected = _checked(counts, probabilities)
    total = observed.sum()
    variation = float(np.abs(observed / total - expected / total).sum() / 2)
    impossible = np.flatnonzero((expected == 0) & (observed > 0))
    if len(impossible):
        token = int(impossible[0])
        seen = f"token {token} has probability 0 and was sampled {int(observed[token])} times"
        return GoodnessOfFit(False, None, 0, None, 0.0, variation, seen)
    observed, expected = _merged(observed[expected > 0], expected[expected > 0])
    degrees = len(expected) - 1
    if degrees == 0:
        few = f"{int(total)} samples leave one bin of {FEWEST_EXPECTED:g} expected: nothing to compare"
        return GoodnessOfFit(None, None, 0, None, None, variation, few)
    from scipy import stats

    statistic, p_value = stats.chisquare(observed, expected)
    limit = float(stats.chi2.isf(significance, degrees))
    passed = bool(statistic <= limit)
    text = f"chi-squared {statistic:.4g} at {degrees} degrees of freedom, limit {limit:.5g} (p {significance:g})"
    return GoodnessOfFit(passed, float(statistic), degrees, limit, float(p_value), variation, text)


def _checked(counts: Sequence[int], probabilities: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    observed, shares = np.asarray(counts, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    if observed.shape != shares.shape or observed.ndim != 1:
        raise ResultsError(
            f"{observed.size} counts do not match {shares.size} probabilities; give one of each per token"
        )
    if not (np.all(shares >= 0) and abs(shares.sum() - 1) < 1e-6):
        raise ResultsError(f"the probabilities sum to {shares.sum():.8g} or hold a negative; normalise them to 1")
    if not (np.all(observed >= 0) and observed.sum() > 0):
        raise ResultsError("the counts hold a negative or no sample at all; sample before testing")
    return observed, shares / shares.sum() * observed.sum()


def _merged(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(expected, kind="stable")
    observed, expected = observed[order], expected[order]
    few = int(np.sum(expected < FEWEST_EXPECTED))
    if few == 0:
        return observed, expected
    while few < len(expected) and expected[:few].sum() < FEWEST_EXPECTED:
        few += 1
    return (
        np.concatenate([[observed[:few].sum()], observed[few:]]),
        np.concatenate([[expected[:few].sum()], expected[few:]]),
    )
