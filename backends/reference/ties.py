"""How far apart two tokens are where two outputs part, and how far apart the target's own arithmetic lets them be.

A block of D + 1 tokens runs through other matrix kernels than a single token, so the same prefix gives slightly other
logits, also through the keys and values that earlier steps left behind. Replaying the end of a prefix in both ways
shows by how much; the last block alone would show too little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from draftmark.backends.base import TieEvidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.reference.model import Reader

REPLAYED_TOKENS = 16
"""This many tokens (at least D + 1) at the end of a prefix are replayed in steps; those before are read in one pass."""


def _logits_by_blocks(reader: Reader, tokens: torch.Tensor, start: int, width: int, offset: int) -> torch.Tensor:
    """Return the logits after all tokens [vocabulary], float32, reading those from `start` on in blocks of `width`.

    The reader holds the first `start` tokens, or more. The last token lies at `offset` (0 to width - 1) of the last
    block. Places of a block beyond the tokens it is to keep are filled up and rolled back, as rejected drafts are.
    """
    reader.rollback(start)
    last_block = max(len(tokens) - 1 - offset, start)
    ends = [*reversed(range(last_block, start, -width)), len(tokens)]
    logits = torch.empty(0)
    for end in ends:
        kept = end - reader.length
        block = torch.cat((tokens[reader.length : end], tokens[-1:].expand(width - kept)))
        logits = reader.extend(block, keep=width)[kept - 1]
        reader.rollback(end)
    return logits.float()


def likeliest_two(logits: torch.Tensor, tokens: tuple[int, int]) -> tuple[int, int]:
    """Return the two likeliest tokens in order; among exact equals (bfloat16 has many) those of `tokens` come first."""
    asked = torch.tensor(tokens, device=logits.device)
    order = torch.cat((asked, torch.arange(len(logits), device=logits.device)))
    ranked = order[logits[order].argsort(descending=True, stable=True)].tolist()
    return ranked[0], next(token for token in ranked if token != ranked[0])


@torch.inference_mode()
def tie_evidence(reader: Reader, prefix: Sequence[int], tokens: tuple[int, int], draft_length: int) -> TieEvidence:
    """Compare two tokens after a prefix (prompt and common output, at least one token) at temperature 0.

    `margin` is |logit of one - logit of the other| with the prefix's end read token by token. `numeric_difference` is
    the largest |difference| of any logit between that and blocks of D + 1 tokens, over every place in the block that
    the prefix's last token can have; blocks that would pass the context limit are left out.
    """
    width = draft_length + 1
    ids = torch.tensor(prefix, device=reader.model.device)
    start = max(len(prefix) - max(REPLAYED_TOKENS, width), 0)
    reader.restart(len(prefix) + width)
    if start:
        reader.extend(ids[:start], keep=1)
    single = _logits_by_blocks(reader, ids, start, 1, 0)
    room = reader.model.context_limit - len(prefix)
    difference = 0.0
    for offset in range(min(width, len(prefix))):
        if width - 1 - offset <= room:
            block = _logits_by_blocks(reader, ids, start, width, offset)
            difference = max(difference, float((block - single).abs().max()))
    return TieEvidence(
        top_two=likeliest_two(single, tokens),
        margin=float((single[tokens[0]] - single[tokens[1]]).abs()),
        numeric_difference=difference,
    )
