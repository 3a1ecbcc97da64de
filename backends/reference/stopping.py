"""Where an answer ends: EOS, stop strings, max_tokens or the context limit, each possibly inside an accepted block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FinishReason = Literal["eos", "stop", "length", "context"]


@dataclass(frozen=True, slots=True)
class StopRules:
    """The rules of one turn."""

    eos: frozenset[int]
    """Tokens that end the answer and belong to it; empty where EOS is to be ignored."""
    stop: tuple[str, ...]
    """The answer ends with the token whose text completes one of these."""
    max_tokens: int
    context_room: int
    """Tokens that fit between the prompt and the context limit."""
    decode: Callable[[Sequence[int]], str]
    """Answer tokens to the text that stop strings are looked for in (special tokens are not part of it)."""

    def cut(self, answer: Sequence[int], block: Sequence[int]) -> tuple[int, FinishReason | None]:
        """Say how many tokens of a block that follows `answer` are delivered, and why the answer ends there, if so.

        The earliest end wins; at one token EOS goes before a stop string, that before max_tokens, that before the
        context limit.
        """
        ends: list[tuple[int, FinishReason]] = [
            (count, "eos") for count, token in enumerate(block, start=1) if token in self.eos
        ][:1]
        if (stopped := self._completed_stop(answer, block)) is not None:
            ends.append((stopped, "stop"))
        ends += [(self.max_tokens - len(answer), "length"), (self.context_room - len(answer), "context")]
        count, reason = min(ends, key=lambda end: end[0])
        return (count, reason) if count <= len(block) else (len(block), None)

    def _completed_stop(self, answer: Sequence[int], block: Sequence[int]) -> int | None:
        """Return the number of block tokens after which the text first holds a stop string; null if it never does.

        The whole text is decoded anew: characters may span tokens, and a stop string may span steps.
        """
        if not self.stop or not self._holds_stop([*answer, *block]):
            return None
        counts = range(1, len(block) + 1)
        return next((count for count in counts if self._holds_stop([*answer, *block[:count]])), None)

    def _holds_stop(self, tokens: Sequence[int]) -> bool:
        text = self.decode(tokens)
        return any(stop in text for stop in self.stop)
