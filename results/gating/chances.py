"""When a loss counts: chance held down over all cells together, and the smallest loss that a cell would have shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from draftmark.results.statistics import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.comparing.changes import LogRatio, MetricChange

POWER = 0.8
"""Chance with which the smallest visible loss is seen."""


def losses(change: MetricChange) -> list[LogRatio]:
    """Return the metric's log ratios turned so that growth is loss, by the declared direction."""
    return [one.inverse() if change.better == "higher" else one for one in change.against]


def chance_of_loss(found: Sequence[LogRatio]) -> float:
    """Return how likely a loss this large is where nothing changed: one-sided, the largest of all rounds."""
    return max(one.chance_of_more() for one in found)


def holm(chances: Sequence[float], level: float) -> list[bool]:
    """Say which of several findings stand where the chance that any of them is false is to stay below `level`.

    Holm's procedure: the smallest of m against level / m, the next against level / (m - 1), until one fails. It holds
    whatever the dependence, and cells of one night share their machine.
    """
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    stands = [False] * len(chances)
    for rank, place in enumerate(order):
        if chances[place] >= level / (len(chances) - rank):
            break
        stands[place] = True
    return stands


def smallest_loss(found: Sequence[LogRatio], level: float) -> float:
    """Return the smallest loss, on the log scale, that is seen with `POWER` where the test is made at `level`."""
    return max(
        (t_quantile(one.degrees, 1 - level) + t_quantile(one.degrees, POWER)) * one.error if one.error else 0.0
        for one in found
    )


def largest_loss(found: Sequence[LogRatio]) -> float:
    """Return the upper end of the 95% interval of the loss, on the log scale, over all rounds."""
    return max(one.value + one.half_width() for one in found)


def as_share(loss: float, better: str | None) -> float:
    """Return a loss on the log scale as a share of the baseline's value; negative for a gain."""
    loss = min(max(loss, -700.0), 700.0)
    return -math.expm1(-loss) if better == "higher" else math.expm1(loss)
