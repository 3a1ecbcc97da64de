"""vLLM's counters and the names that the backend protocol gives them; one series per engine, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.counter_names import CACHED

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTERS: Mapping[str, str] = {
    "vllm:generation_tokens": "output_tokens",
    "vllm:spec_decode_num_drafts": "drafting_steps",
    "vllm:spec_decode_num_draft_tokens": "drafted_tokens",
    "vllm:spec_decode_num_accepted_tokens": "accepted_tokens",
    "vllm:spec_decode_num_accepted_tokens_per_pos": "accepted_tokens",
    "vllm:prompt_tokens": "prompt_tokens",
    "vllm:prefix_cache_hits": CACHED,
    "vllm:num_preemptions": "vllm:num_preemptions",
}
"""Prometheus adds `_total` to each (vllm/v1/metrics/loggers.py, vllm/v1/spec_decode/metrics.py)."""
