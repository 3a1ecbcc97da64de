"""Seeded draws for generated text, made from sha256 alone so that their bytes are the same on every Python."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")


class Draws:
    """An endless stream of draws; equal seeds give equal streams."""

    def __init__(self, seed: str) -> None:
        self._seed = seed.encode()
        self._block = 0
        self._pool = b""

    def below(self, bound: int) -> int:
        """Draw a whole number from 0 to `bound` - 1; `bound` is far below 2**64, so the bias is of no weight."""
        if not self._pool:
            self._pool = hashlib.sha256(self._seed + self._block.to_bytes(8, "big")).digest()
            self._block += 1
        word, self._pool = self._pool[:8], self._pool[8:]
        return int.from_bytes(word, "big") % bound

    def between(self, low: int, high: int) -> int:
        """Draw a whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[Item]) -> Item:
        """Draw one of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in a drawn order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in items]
