"""Prompt lookup: copy what followed the most recent earlier occurrence of the last few tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from draftmark.backends.reference.drafters import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.reference.choosing import Chooser


class NgramDrafter:
    """Looks the longest suffix up first; proposes fewer than asked where the copy reaches the context's end."""

    def __init__(self, min_match: int, max_match: int, device: torch.device) -> None:
        self._lengths = range(max_match, min_match - 1, -1)
        self._device = device
        self._follows: dict[tuple[int, ...], int] = {}
        """Each n-gram seen to the index of the token after its latest occurrence."""
        self._indexed = 0
        """Tokens with an entry for every n-gram that ends right before them."""

    def begin(self, prompt: Sequence[int]) -> None:
        """Index the prompt."""
        self.end()
        self._index(prompt)

    def _index(self, context: Sequence[int]) -> None:
        """Note, for every token not yet noted, the n-grams that end right before it."""
        for following in range(max(self._indexed, 1), len(context)):
            for length in self._lengths:
                if length <= following:
                    self._follows[tuple(context[following - length : following])] = following
        self._indexed = len(context)

    def propose(self, context: Sequence[int], room: int, chooser: Chooser) -> Draft:
        """Copy up to `room` tokens that followed the latest earlier occurrence; nothing where there is none."""
        self._index(context)
        copied: Sequence[int] = ()
        for length in self._lengths:
            start = self._follows.get(tuple(context[-length:])) if length <= len(context) else None
            if start is not None:
                copied = context[start : start + room]
                break
        return Draft(torch.tensor(copied, dtype=torch.int64, device=self._device))

    def rollback(self, length: int) -> None:
        """Forget nothing: only accepted tokens are ever indexed."""

    def end(self) -> None:
        """Forget the turn."""
        self._follows = {}
        self._indexed = 0

    def settings(self) -> dict[str, Any]:
        """Return the shortest and longest suffix looked up."""
        return {"min_match": self._lengths[-1], "max_match": self._lengths[0]}
