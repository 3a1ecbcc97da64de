"""Scaled dot-product attention that does not copy the cache for models whose query heads share key heads.

transformers' `sdpa` repeats all keys and values once per query head as soon as a mask is given, that is at every
verified block; at 1,000 positions this copying took a third of such a step. Here the query heads of a group become
rows of one head instead: the same sums, no copy. Registered through transformers' public interface.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "draftmark_grouped_sdpa"
"""What `attn_implementation` is called."""


def grouped_attention(  # noqa: PLR0917  transformers passes these by position
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attend as `sdpa` does; queries [1, groups * heads, n, d], keys and values [1, heads, length, d].

    Returns [1, n, groups * heads, d]. Anything but a masked block or a single token is left to `sdpa`.
    """
    heads, count = key.shape[1], query.shape[2]
    groups = query.shape[1] // heads
    plain = count == 1 if attention_mask is None else attention_mask.shape[:2] == (1, 1)
    if groups == 1 or not plain or query.shape[0] != 1 or options.get("position_bias") is not None:
        found, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)
        return found, None
    if attention_mask is not None:
        attention_mask = attention_mask.expand(1, groups, -1, -1).flatten(1, 2).unsqueeze(1)
    found = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(1, heads, groups * count, -1), key, value, attn_mask=attention_mask, scale=scaling
    )
    return found.reshape(1, heads * groups, count, -1).transpose(1, 2).contiguous(), None


def register() -> str:
    """Make the attention known to transformers; return its name for `attn_implementation`."""
    AttentionInterface.register(NAME, grouped_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return NAME
