"""A proposer for vLLM's method `custom_class` whose acceptance is known: it replays answers that it was given.

It reads prompts and answers from the JSON file that REPLAYED_ANSWERS names (`[[prompt ids, answer ids], ...]`, the
target's own greedy answers). Of three drafts the first is right, the second is right in half of the steps, and the
third is wrong: 1 + 1 + 0.5 = 2.5 tokens a step. Which steps these are is drawn with a fixed seed.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any


class Replay:
    """What vLLM asks of such a class: a constructor that takes its configuration, and `propose`."""

    def __init__(self, vllm_config: Any) -> None:
        assert vllm_config.speculative_config.num_speculative_tokens == 3
        self._known: list[list[int]] = []
        self._random = random.Random(20261130)

    def load_model(self, target: object) -> None:
        """Load nothing; vLLM's runner for CPUs calls this of every proposer."""

    def propose(
        self, sampled: list[list[int]], lengths: Any, tokens: Any, slot_mappings: object = None
    ) -> list[list[int]]:
        """Return three drafts per request that has sampled something and whose answer is known."""
        if not self._known:
            known = json.loads(Path(os.environ["REPLAYED_ANSWERS"]).read_text(encoding="utf-8"))
            self._known = [[*prompt, *answer] for prompt, answer in known]
        drafts = []
        for index, new in enumerate(sampled):
            length = int(lengths[index])
            so_far = tokens[index, :length].tolist()
            right = next((text[length : length + 3] for text in self._known if text[:length] == so_far), [])
            drafts.append(self._draft(right) if new and len(right) == 3 else [])
        return drafts

    def _draft(self, right: list[int]) -> list[int]:
        second = right[1] if self._random.random() < 0.5 else right[1] + 1
        return [right[0], second, right[2] + 1]
