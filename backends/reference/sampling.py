"""From logits to the distribution that tokens are drawn from; one function, used for target and draft alike.

Lossless rejection sampling holds only if p and q are the distributions that tokens are really drawn from, so nothing
else in the engine turns logits into probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from draftmark.results.records import Sampling


def probabilities(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Apply temperature, then top-k, then top-p to each row.

    Args:
        logits: [n, vocabulary], any floating dtype.
        sampling: with temperature above 0.

    Returns:
        [n, vocabulary] float32, rows summing to 1. Tokens that tie with the k-th likeliest are all kept; top-p keeps
        the fewest likeliest tokens whose mass (after top-k, renormalised) reaches `top_p`, at least one.
    """
    scores = logits.float()
    scores = (scores - scores.amax(dim=-1, keepdim=True)) / sampling.temperature  # the maximum is 0: no overflow
    if 0 < sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    chances = scores.softmax(dim=-1)
    if sampling.top_p < 1.0:
        ordered, index = chances.sort(dim=-1, descending=True, stable=True)
        mass_before = ordered.cumsum(dim=-1) - ordered
        mass_before[:, 0] = 0.0  # exact, so that the likeliest token always stays
        kept = ordered.masked_fill(mass_before >= sampling.top_p, 0.0)
        chances = torch.zeros_like(chances).scatter(-1, index, kept)
        chances = chances / chances.sum(dim=-1, keepdim=True)
    return chances


def draw(chances: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Draw one token id (0-dim int64) from a row of probabilities [vocabulary]; it need not sum to 1.

    The race of exponential clocks that `torch.multinomial` runs too, without its checks, which make a GPU wait.
    """
    waits = torch.empty_like(chances).exponential_(generator=generator)
    return (chances / waits.clamp(min=torch.finfo(chances.dtype).tiny)).argmax()
