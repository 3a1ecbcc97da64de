"""A small language model of the target's vocabulary, run once per drafted token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from draftmark.backends.reference.drafters import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.reference.choosing import Chooser
    from draftmark.backends.reference.model import Reader


class DraftModelDrafter:
    """Keeps a KV cache of its own, always a prefix of the context.

    After a step whose drafts were all accepted the last of them was never read, so two tokens are read before the next
    draft; otherwise one. Where the model's own context limit comes first it proposes fewer tokens, and then none.
    """

    def __init__(self, reader: Reader, vocabulary: int, settings: dict[str, Any]) -> None:
        self.reader = reader
        self._vocabulary = vocabulary
        """Ids below this may be proposed: those that both models know."""
        self._settings = settings
        self._device = reader.model.device
        self._nothing = Draft(torch.empty(0, dtype=torch.int64, device=self._device))

    def begin(self, prompt: Sequence[int]) -> None:
        """Read the prompt, where it fits into the draft model's context."""
        self.reader.restart(len(prompt))
        if len(prompt) <= self.reader.model.context_limit:
            self.reader.extend(torch.tensor(prompt, device=self._device), keep=1)

    def propose(self, context: Sequence[int], room: int, chooser: Chooser) -> Draft:
        """Read what is new in the context, then draft one token after another."""
        count = min(room, self.reader.model.context_limit - len(context) + 1)
        if count <= 0:
            return self._nothing
        fed = torch.tensor(context[self.reader.length :], device=self._device)
        drafted: list[torch.Tensor] = []
        rows: list[torch.Tensor] = []
        for _ in range(count):
            logits = self.reader.extend(fed, keep=1)[:, : self._vocabulary]
            token, row = chooser.pick(logits)
            drafted.append(token)
            if row is not None:
                rows.append(row)
            fed = token.reshape(1)
        return Draft(torch.stack(drafted), torch.cat(rows) if rows else None)

    def rollback(self, length: int) -> None:
        """Forget the rejected drafts."""
        self.reader.rollback(length)

    def end(self) -> None:
        """Forget the turn."""
        self.reader.rollback(0)

    def settings(self) -> dict[str, Any]:
        """Return which model drafts, and its size, layers and context limit."""
        return self._settings
