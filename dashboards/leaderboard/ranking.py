"""Ranks as far as the measurements carry them: entries that cannot be told apart share a range of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from draftmark.results.statistics import Interval

    Item = TypeVar("Item")


@dataclass(frozen=True)
class RankRange:
    """The ranks that an entry may have, both included."""

    best: int
    worst: int

    @property
    def text(self) -> str:
        """`2`, or `1-3` where the entry cannot be told apart from others."""
        return str(self.best) if self.best == self.worst else f"{self.best}-{self.worst}"


def rank_ranges(items: Sequence[Item], compared: Callable[[Item, Item], Interval]) -> list[RankRange]:
    """Return the range of ranks of each item, in order.

    The best rank is one more than the number of items that are clearly faster, the worst the number of items less those
    that are clearly slower. Clearly: the whole interval of the paired ratio lies on one side of 1; without an interval
    nothing is clear.

    Args:
        items: What is ranked.
        compared: The interval of speed of the first over speed of the second.
    """
    faster, slower = [0] * len(items), [0] * len(items)
    for i, one in enumerate(items):
        for j in range(i + 1, len(items)):
            found = compared(one, items[j])
            if found.low is None or found.high is None:
                continue
            if found.low > 1:
                slower[i] += 1
                faster[j] += 1
            elif found.high < 1:
                faster[i] += 1
                slower[j] += 1
    return [RankRange(1 + ahead, len(items) - behind) for ahead, behind in zip(faster, slower, strict=True)]
