"""A proposer for vLLM's method `custom_class`: the last token again, as often as a draft is long."""

from __future__ import annotations

from typing import Any


class RepeatLast:
    """What vLLM asks of such a class: a constructor that takes its configuration, and `propose`."""

    def __init__(self, vllm_config: Any) -> None:
        self.draft_length: int = vllm_config.speculative_config.num_speculative_tokens

    def propose(
        self, sampled: list[list[int]], lengths: Any, tokens: Any, slot_mappings: object = None
    ) -> list[list[int]]:
        """Return a draft per request; none for one whose prompt is not done yet, which has sampled nothing."""
        return [[new[-1]] * self.draft_length if new else [] for new in sampled]

    def load_model(self, target: object) -> None:
        """Load nothing; vLLM's runner for CPUs calls this of every proposer."""
