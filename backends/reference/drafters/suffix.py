"""Suffix decoding (arctic-inference): follow the likeliest continuation of a long match in a suffix tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from draftmark.backends.reference.drafters import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.drafters import SuffixSpec
    from draftmark.backends.reference.choosing import Chooser


class SuffixDrafter:
    """One tree per turn over prompt and answer; a tree shared by turns only where `cached_requests` is above 0."""

    def __init__(self, spec: SuffixSpec, device: torch.device) -> None:
        from arctic_inference.suffix_decoding import SuffixDecodingCache

        self._spec = spec
        self._device = device
        self._trees = SuffixDecodingCache(
            max_tree_depth=spec.max_depth,
            max_cached_requests=spec.cached_requests,
        )
        self._turn = 0
        self._known = 0

    def begin(self, prompt: Sequence[int]) -> None:
        """Build the turn's own tree over the prompt."""
        self.end()
        self._turn += 1
        self._trees.start_request(self._turn, np.asarray(prompt, dtype=np.int32))
        self._known = len(prompt)

    def propose(self, context: Sequence[int], room: int, chooser: Chooser) -> Draft:
        """Add the answer's new tokens to the tree and follow it; propose nothing where no match is likely enough."""
        self._trees.add_active_response(self._turn, np.asarray(context[self._known :], dtype=np.int32))
        self._known = len(context)
        proposed: list[int] = []
        if room > 0:  # the library documents 0 as no limit
            proposed = self._trees.speculate(
                self._turn,
                np.asarray(context[-self._spec.max_depth :], dtype=np.int32),
                max_spec_tokens=room,
                max_spec_factor=self._spec.max_spec_factor,
                min_token_prob=self._spec.min_token_probability,
            ).token_ids
        return Draft(torch.tensor(proposed, dtype=torch.int64, device=self._device))

    def rollback(self, length: int) -> None:
        """Forget nothing: only accepted tokens ever reach the trees."""

    def end(self) -> None:
        """Drop the turn's own tree."""
        if self._turn in self._trees.active_requests:
            self._trees.stop_request(self._turn)

    def settings(self) -> dict[str, Any]:
        """Return the trees' settings, `cached_requests` (0: no tree is shared by turns) among them."""
        spec = self._spec
        return {
            "max_depth": self._trees.max_tree_depth,
            "max_spec_factor": spec.max_spec_factor,
            "min_token_probability": spec.min_token_probability,
            "cached_requests": self._trees.max_cached_requests,
        }
