"""Intervals that respect how the numbers were sampled, and spreads that one outlier cannot move.

Turns and repeats of one conversation are one cluster; conversations are drawn within strata (categories); the engine
may have been started several times. Every pooled metric is a function of sums over turns, so one delete-one jackknife
on the logarithm serves them all: ratios, and ratios of ratios with both sides paired by conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.integer[Any]]
Statistic: TypeAlias = "Callable[[Floats], Floats]"
"""Maps sums of shape (K, R) to R numbers, one per replicate."""

LEVEL = 0.95
FEWEST_CLUSTERS = 8
"""Below this many conversations no interval is given."""
ROUGH_CLUSTERS = 20
"""Below this many conversations an interval is called rough."""
WHOLE_LAUNCH = 0.9
"""Share of the conversations that a launch must have answered to count as a repetition of the whole; the launches of a
resumed run share the work instead, and what differs between them is already within that between conversations."""
_SAME = 1e-9
"""Relative standard errors below this are rounding."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval with what qualifies it; without one, `notes` say why."""

    low: float | None
    high: float | None
    notes: tuple[str, ...]
    conversations: int | None = None
    """That it rests on."""


@dataclass(frozen=True, eq=False)
class Sample:
    """How observations (turns, or pairs of turns) were drawn; one entry per observation."""

    cluster: Codes
    """Conversation, as codes from 0."""
    stratum: Codes
    """Category of the conversation, as codes from 0."""
    launch: Codes
    """Start of the engine that answered."""

    @cached_property
    def cluster_stratum(self) -> Codes:
        """Stratum of each conversation, by its code; that of its first observation."""
        strata = np.zeros(int(self.cluster.max(initial=-1)) + 1, dtype=np.int64)
        strata[self.cluster[::-1]] = self.stratum[::-1]
        return strata

    @cached_property
    def whole_launches(self) -> Codes:
        """Launches that answered at least `WHOLE_LAUNCH` of the conversations, ascending."""
        names: Codes = np.unique(self.launch)
        if len(names) < 2:
            return names
        total = len(np.unique(self.cluster))
        answered = np.array([len(np.unique(self.cluster[self.launch == name])) for name in names])
        return names[answered >= WHOLE_LAUNCH * total]


def interval(
    sample: Sample,
    values: Sequence[Floats],
    statistic: Statistic,
    *,
    bounds: tuple[float | None, float | None] = (None, None),
) -> Interval:
    """Return the studentised interval of `statistic` of the sums of `values`, on the log scale.

    The variance is that of the stratified delete-one-conversation jackknife over the conversations that contribute,
    with Welch's degrees of freedom. With several whole launches, the delete-one-launch variance is added, and the t
    quantile is the mean of both quantiles weighted by the variances (Cochran): two launches have one degree of freedom.

    Args:
        sample: Cluster, stratum and launch of each observation.
        values: K arrays, each with one number per observation.
        statistic: Maps sums of shape (K, R) to R positive numbers, one per replicate; a common factor of all sums must
            not change it.
        bounds: Least and greatest value the statistic can take; the interval is cut there.
    """
    sums = _sums(values, sample.cluster, len(sample.cluster_stratum))
    used = np.any(sums != 0, axis=0)
    count = int(used.sum())
    if count < FEWEST_CLUSTERS:
        return Interval(None, None, (f"no interval: {_conversations(count)}, at least {FEWEST_CLUSTERS} are needed",))
    launches = len(sample.whole_launches)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = float(np.log(statistic(sums.sum(axis=1, keepdims=True)))[0])
        parts = [jackknife(sums[:, used], merge_single_strata(sample.cluster_stratum[used]), statistic)]
        if launches > 1:
            parts.append(_between_launches(sample, values, statistic))
        variance = sum(part.variance for part in parts)
    if not np.isfinite(centre):
        return Interval(None, None, ("no interval: a value of 0 has no spread on the scale of ratios",))
    if not np.isfinite(variance):
        return Interval(None, None, ("no interval: the value rests on a single conversation",))
    if variance < _SAME**2:
        return Interval(None, None, ("no interval: every conversation gave the same value",))
    half = sum(t_quantile(part.degrees) * part.variance for part in parts) / variance**0.5
    notes = [f"rough ({_conversations(count)})"] if count < ROUGH_CLUSTERS else []
    notes.append("prompt sampling only" if launches < 2 else f"{launches} launches")
    low, high = float(np.exp(centre - half)), float(np.exp(centre + half))
    least, greatest = bounds
    low, high = low if least is None else max(low, least), high if greatest is None else min(high, greatest)
    return Interval(low, high, tuple(notes), count)


def union(intervals: Sequence[Interval]) -> Interval:
    """Return the interval that spans all the given ones; none, with their reasons, where one of them is missing."""
    notes = tuple(dict.fromkeys(note for one in intervals for note in one.notes))
    lows = [one.low for one in intervals if one.low is not None]
    highs = [one.high for one in intervals if one.high is not None]
    if len(lows) < len(intervals) or len(highs) < len(intervals):
        return Interval(None, None, tuple(note for note in notes if note.startswith("no interval")))
    fewest = min((one.conversations for one in intervals if one.conversations is not None), default=None)
    return Interval(min(lows), max(highs), notes, fewest)


def ratio(sums: Floats) -> Floats:
    """Statistic of two sums: numerator / denominator; NaN where the denominator is 0."""
    quotient: Floats = np.divide(sums[0], sums[1], out=np.full(sums.shape[1], np.nan), where=sums[1] != 0)
    return quotient


def ratio_of_ratios(sums: Floats) -> Floats:
    """Statistic of four sums: (first / second) / (third / fourth); NaN where a denominator is 0."""
    return ratio(np.stack([ratio(sums[:2]), ratio(sums[2:])]))


@dataclass(frozen=True, slots=True)
class Percentile:
    """An observed value that at least a share p of the observations do not exceed."""

    value: float
    n: int
    """Observations."""
    flagged: bool
    """n < 1 / (1 - p): too few for this percentile to be more than the maximum or close to it."""


def percentile(values: Floats, share: float, weights: Codes | None = None) -> Percentile | None:
    """Return the smallest observed value whose share of observations (of weight) reaches `share`; null without any.

    Being an observed value, it never lies above the maximum.
    """
    if len(values) == 0:
        return None
    exact = 1 - 1e-12  # 0.07 * 100 must not ask for an eighth observation
    if weights is None:
        place = max(int(np.ceil(share * len(values) * exact)) - 1, 0)
        value = np.partition(values, place)[place]
    else:
        value = _reaching(values, weights, share * float(weights.sum()) * exact)
    return Percentile(float(value), len(values), len(values) * (1 - share) < 1 - 1e-9)


def _reaching(values: Floats, weights: Codes, target: float) -> float:
    """Return the smallest value up to which the weights add up to `target`.

    The range in which it lies is halved until one value is left: sorting a million answers' gaps would take several
    copies of them.
    """
    low, high = float(values.min()), float(values.max())
    while low < high:
        middle = low + (high - low) / 2
        within = values <= (middle if middle < high else low)
        if np.sum(weights, where=within) >= target:
            high = float(np.max(values, where=within, initial=low))
        else:
            low = float(np.min(values, where=~within, initial=high))
    return high


def coefficient_of_variation(values: Floats) -> float | None:
    """Return the standard deviation (n - 1) over the mean; null below 2 values or for a mean of 0."""
    if len(values) < 2 or np.mean(values) == 0:
        return None
    return float(np.std(values, ddof=1) / np.mean(values))


def merge_single_strata(strata: Codes) -> Codes:
    """Return one stratum code from 0 per cluster, with strata of one merged; a lone one joins the smallest other."""
    sizes = np.bincount(strata)
    single, larger = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)
    merged = np.arange(len(sizes))
    if len(single) > 1:
        merged[single] = single[0]
    elif len(single) == 1 and len(larger):
        merged[single] = larger[np.argmin(sizes[larger])]
    merged[sizes > 0] = np.unique(merged[sizes > 0], return_inverse=True)[1]
    return merged[strata]


@dataclass(frozen=True, slots=True)
class Spread:
    """A jackknife variance of log(statistic), and what its degrees of freedom follow from."""

    variance: float
    fourth: float
    """Sum over strata of variance squared / (clusters + 1)."""
    fewest: float
    most: float

    @property
    def degrees(self) -> float:
        """Welch's degrees of freedom, between those of the smallest stratum and those of all together."""
        welch = self.variance**2 / self.fourth - 2 if self.fourth > 0 else self.most
        return min(max(welch, self.fewest), self.most)


def jackknife(sums: Floats, strata: Codes, statistic: Statistic) -> Spread:
    """Jackknife sums of shape (K, clusters), leaving out one cluster at a time; each stratum holds two or more.

    A deleted cluster's weight goes to the others of its stratum, so that the strata keep theirs.
    """
    sizes = np.bincount(strata)
    within = _sums(list(sums), strata, len(sizes))
    size = sizes[strata]
    replicates = within.sum(axis=1, keepdims=True) - within[:, strata]
    replicates += (within[:, strata] - sums) * (size / (size - 1))
    logs = np.log(statistic(replicates))
    centres = np.bincount(strata, weights=logs) / sizes
    parts = np.bincount(strata, weights=(logs - centres[strata]) ** 2) * (sizes - 1) / sizes
    return Spread(
        variance=float(parts.sum()),
        fourth=float((parts**2 / (sizes + 1)).sum()),
        fewest=float(sizes.min() - 1),
        most=float(len(strata) - len(sizes)),
    )


def _between_launches(sample: Sample, values: Sequence[Floats], statistic: Statistic) -> Spread:
    whole = np.isin(sample.launch, sample.whole_launches)
    code = np.searchsorted(sample.whole_launches, sample.launch[whole])
    sums = _sums([column[whole] for column in values], code, len(sample.whole_launches))
    return jackknife(sums, np.zeros(sums.shape[1], dtype=np.int64), statistic)


def _sums(values: Sequence[Floats], groups: Codes, count: int) -> Floats:
    return np.stack([np.bincount(groups, weights=column, minlength=count) for column in values])


def t_quantile(degrees: float, probability: float = 0.5 + LEVEL / 2) -> float:
    """Return the t below which a share `probability` of Student's distribution lies."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def _conversations(count: int) -> str:
    return f"{count} conversation" if count == 1 else f"{count} conversations"
