"""How sure a ratio of two runs is: between conversations, between engine starts, or between rounds over one set.

Speeds vary with the clock, in common over many turns: their error is that between conversations (delete-one jackknife
over the paired log ratio), with that between engine starts added where there is more than one. What is drawn or decided
turn by turn, as acceptance is, is the same for the same prompts where nothing changed: there the error is how far
rounds over the same prompts differ, and other prompts would add nothing that both runs did not share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.comparing.changes import LogRatio
from draftmark.results.statistics import FEWEST_CLUSTERS, WHOLE_LAUNCH, jackknife, merge_single_strata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.columns import Floats, Keys
    from draftmark.results.comparing.pairing import Paired
    from draftmark.results.comparing.quantities import Measured

_SAME = 1e-9
"""Relative standard errors below this are rounding."""


_SIGNS: dict[int, Floats] = {
    4: np.array([1.0, -1.0, -1.0, 1.0]),
    8: np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0]),
}


def log_ratio(sums: Floats) -> Floats:
    """Return the log of the candidate's statistic over the baseline's: sums of shape (4 or 8, n) to (n,).

    Four rows are numerator and denominator of the candidate, then of the baseline. Eight are for a speed-up: times and
    tokens of the candidate without and with speculation, then those of the baseline.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = _SIGNS[len(sums)] @ np.log(sums)
    return found


def over_conversations(pairs: Paired, sums: Floats) -> LogRatio | str:
    """Return the log ratio with its error between conversations; or say why there is none.

    Args:
        pairs: What both were asked.
        sums: Shape (4 or 8, prompts), rows as `log_ratio` takes them.
    """
    clusters = pairs.clusters
    value = float(log_ratio(sums.sum(axis=1, keepdims=True))[0])
    if not np.isfinite(value):
        return "no ratio: one side is 0"
    if clusters < FEWEST_CLUSTERS:
        conversations = "1 conversation" if clusters == 1 else f"{clusters} conversations"
        return f"no interval: {conversations} in both runs, at least {FEWEST_CLUSTERS} are needed"
    by_cluster: Floats = np.stack([np.bincount(pairs.cluster, weights=row, minlength=clusters) for row in sums]).astype(
        np.float64
    )
    strata = np.zeros(clusters, dtype=np.int64)
    strata[pairs.cluster[::-1]] = pairs.stratum[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = jackknife(by_cluster, merge_single_strata(strata), lambda rows: np.exp(log_ratio(rows)))
    if not np.isfinite(spread.variance):
        return "no interval: the value rests on a single conversation"
    error = spread.variance**0.5
    return LogRatio(value=value, error=error if error > _SAME else 0.0, degrees=spread.degrees)


def with_launches(found: LogRatio, launches: Sequence[Floats]) -> LogRatio:
    """Return the ratio with the variance between engine starts added, where either side has more than one.

    `launches` holds per side the log of the statistic in each of its launches. Both sides are taken to vary alike, so
    that one side's launches speak for a side with a single one. Degrees of freedom follow Satterthwaite.
    """
    freedom = sum(len(side) - 1 for side in launches)
    if freedom < 1 or any(len(side) == 0 for side in launches):
        return found
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in launches)
    between = squares / freedom * sum(1 / len(side) for side in launches)
    variance = found.error**2 + between
    if variance <= 0:
        return found
    freedom_of_all = variance**2 / (found.error**4 / found.degrees + between**2 / freedom)
    return LogRatio(value=found.value, error=variance**0.5, degrees=freedom_of_all)


def by_launch(sides: Sequence[Measured], entries: Sequence[Keys], signs: Sequence[int]) -> Floats:
    """Return the log of a side's statistic in each launch that answered nearly all of the paired prompts.

    A side of several cells (the arm and its baseline) has a launch of each at a time: the first of one with the first
    of the other.
    """
    logs = []
    for side, entry in zip(sides, entries, strict=True):
        prompts = int(entry.max(initial=-1)) + 1
        found = []
        for launch in np.unique(side.launch):
            here = (side.launch == launch) & (entry >= 0)
            if len(np.unique(entry[here])) >= WHOLE_LAUNCH * prompts > 0:
                numerator, denominator = side.sums[:, here].sum(axis=1)
                found.append(float(np.log(numerator / denominator)) if numerator > 0 < denominator else np.nan)
        logs.append(found)
    most = min(map(len, logs))
    total = np.array([sign * np.array(found[:most]) for sign, found in zip(signs, logs, strict=True)]).sum(axis=0)
    return np.asarray(total[np.isfinite(total)], dtype=np.float64)


def over_rounds(pairs: Paired, sides: Sequence[Measured]) -> LogRatio | str:
    """Return the log ratio of two sides, the prompts fixed, with the error from how far rounds over them differ.

    Each conversation's share in the ratio varies from round to round; the variances of both sides are pooled by
    conversation, so that a side of one round is judged by the other's.
    """
    value = float(log_ratio(np.concatenate([pairs.sums[1], pairs.sums[0]]).sum(axis=1, keepdims=True))[0])
    if not np.isfinite(value):
        return "no ratio: one side is 0"
    squares = np.zeros(pairs.clusters)
    freedom = np.zeros(pairs.clusters)
    share = np.zeros(pairs.clusters)
    for side, entry, sums in zip(sides, pairs.entries, pairs.sums, strict=True):
        totals = sums.sum(axis=1)
        kept = entry >= 0
        weight = side.sums[0][kept] / totals[0] - side.sums[1][kept] / totals[1]
        rounds, number = np.unique(side.round[kept], return_inverse=True)
        table = np.zeros((pairs.clusters, len(rounds)))
        seen = np.zeros_like(table)
        at = pairs.cluster[entry[kept]], number.reshape(-1)
        np.add.at(table, at, weight)
        np.add.at(seen, at, 1)
        asked = seen > 0
        times = asked.sum(axis=1)
        centre = table.sum(axis=1) / np.maximum(times, 1)
        squares += np.where(asked, (table - centre[:, None]) ** 2, 0.0).sum(axis=1)
        freedom += np.maximum(times - 1, 0)
        share += 1 / np.maximum(times, 1)
    if freedom.sum() == 0:
        return "no interval: every prompt was asked once on both sides, so how far equal rounds differ is unknown"
    known = freedom > 0
    per_cluster = np.where(known, squares / np.maximum(freedom, 1), squares.sum() / freedom.sum()) * share
    variance = float(per_cluster.sum())
    if variance < _SAME**2:
        return LogRatio(value=value, error=0.0, degrees=float(freedom.sum()))
    degrees = variance**2 / float((per_cluster[known] ** 2 / freedom[known]).sum())
    return LogRatio(value=value, error=variance**0.5, degrees=max(min(degrees, float(freedom.sum())), 1.0))


def between_rounds(before: Sequence[float], after: Sequence[float]) -> LogRatio | str:
    """Return the log ratio of two means of logs over rounds, by Welch; or say why there is none."""
    if min(len(before), len(after)) < 2:
        return "no interval: a round on one side; at least 2 on either are needed, 3 to judge by"
    if min(*before, *after) <= 0:
        return "no interval: a value of 0 or less has no ratio"
    logs = [np.log(np.asarray(side, dtype=np.float64)) for side in (before, after)]
    parts = [float(side.var(ddof=1)) / len(side) for side in logs]
    value, variance = float(logs[1].mean() - logs[0].mean()), sum(parts)
    if variance < _SAME**2:
        return LogRatio(value=value, error=0.0, degrees=float(len(before) + len(after) - 2))
    freedom = variance**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, logs, strict=True))
    return LogRatio(value=value, error=variance**0.5, degrees=freedom)
