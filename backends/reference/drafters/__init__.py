"""Who proposes tokens, as the reference engine sees it; one module per drafter beside this contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.reference.choosing import Chooser


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens proposed to follow the context, and what they were drawn from."""

    tokens: torch.Tensor
    """[k] int64 on the target's device; k may be 0."""
    probabilities: torch.Tensor | None = None
    """[k, at most vocabulary]: the distribution each token was drawn from; None if each was certain."""


class Drafter(Protocol):
    """One drafter working on one turn at a time; nothing of one turn may reach the next unless its options say so."""

    def begin(self, prompt: Sequence[int]) -> None:
        """Start a turn: read the prompt, before the first token is known."""
        ...

    def propose(self, context: Sequence[int], room: int, chooser: Chooser) -> Draft:
        """Propose at most `room` (0 or more) tokens to follow the context, which is prompt and answer so far."""
        ...

    def rollback(self, length: int) -> None:
        """Forget what was read beyond the first `length` tokens: drafts from there on were rejected."""
        ...

    def end(self) -> None:
        """End the turn; safe to call without a turn."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return effective settings as flat names to plain JSON values."""
        ...


class NoDrafter:
    """The baseline: never proposes anything."""

    def __init__(self, device: torch.device) -> None:
        self._nothing = Draft(torch.empty(0, dtype=torch.int64, device=device))

    def begin(self, prompt: Sequence[int]) -> None:
        """Read nothing."""

    def propose(self, context: Sequence[int], room: int, chooser: Chooser) -> Draft:
        """Propose nothing."""
        return self._nothing

    def rollback(self, length: int) -> None:
        """Hold nothing to forget."""

    def end(self) -> None:
        """Hold nothing to end."""

    def settings(self) -> dict[str, Any]:
        """Return no settings."""
        return {}
