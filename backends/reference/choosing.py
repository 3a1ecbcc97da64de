"""How the tokens of one turn are chosen, greedily or sampled: the same rule drafts, verifies and picks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

import torch

from draftmark.backends.reference.acceptance import Verdict, accept_greedy, accept_sampled
from draftmark.backends.reference.sampling import draw, probabilities

if TYPE_CHECKING:
    from draftmark.backends.reference.drafters import Draft
    from draftmark.results.records import Sampling


class Chooser(Protocol):
    """One turn's rule. Logits of the draft model go through `pick`, those of the target through `pick` or `verify`."""

    def pick(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Choose the token after one row [1, vocabulary].

        Returns its id (0-dim) and the row of probabilities it was drawn from, [1, vocabulary]; None when greedy.
        """
        ...

    def verify(self, logits: torch.Tensor, draft: Draft) -> Verdict:
        """Judge k drafts by the target's k + 1 rows."""
        ...


class Greedy:
    """Temperature 0: always the likeliest token, the lowest id among equals."""

    def pick(self, logits: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Choose the likeliest token."""
        return logits[0].argmax(), None

    def verify(self, logits: torch.Tensor, draft: Draft) -> Verdict:
        """Accept drafts while they are the target's likeliest tokens."""
        return accept_greedy(logits, draft.tokens)


class Sampled:
    """Temperature above 0: tokens drawn with the turn's own generator, so that a seed repeats the turn."""

    def __init__(self, sampling: Sampling, seed: int, device: torch.device) -> None:
        self._sampling = sampling
        self._generator = torch.Generator(device=device).manual_seed(_balanced(seed))

    def pick(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a token; return it with the distribution it came from."""
        row = probabilities(logits, self._sampling)
        return draw(row[0], self._generator), row

    def verify(self, logits: torch.Tensor, draft: Draft) -> Verdict:
        """Accept by lossless rejection sampling."""
        chances = probabilities(logits, self._sampling)
        return accept_sampled(chances, draft.tokens, draft.probabilities, self._generator)


def _balanced(seed: int) -> int:
    """Spread a seed over 63 bits: torch's generators start alike from small seeds that lie close together."""
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:8], "big") >> 1


def chooser(sampling: Sampling, seed: int, device: torch.device) -> Chooser:
    """Return the rule that a turn's sampling asks for."""
    return Greedy() if sampling.temperature == 0 else Sampled(sampling, seed, device)
