"""When tokens reach vLLM's front end: one stamp per engine output, taken where the front end takes it in.

Streaming every token to a reader of its own costs the front end a task switch per token, which on few cores slows the
engine itself; and under load a stamp taken by the reader waits for the readers before it. So answers are asked for
whole, and the arrival of each piece is noted before vLLM does anything with it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Arrivals:
    """Pieces of every answer as they arrive; vLLM's names for requests are told apart by what precedes the dash."""

    def __init__(self, processor: Any, clock: Callable[[], float] = time.perf_counter) -> None:
        """Watch a front end's output processor; see `works`."""
        self._pieces: dict[str, list[tuple[float, int]]] = {}
        self._clock = clock
        self.tokens = 0
        """Tokens that arrived so far, of all requests."""
        process: Any = getattr(processor, "process_outputs", None)
        self.works = callable(process)
        """False for a vLLM that takes outputs in elsewhere; answers must be streamed then."""
        if self.works:
            processor.process_outputs = self._around(process)

    def _around(self, process: Callable[..., Any]) -> Callable[..., Any]:
        def process_outputs(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            now = self._clock()
            for output in outputs:
                count = len(output.new_token_ids)
                if count:
                    self.note(output.request_id, now, count)
            return process(outputs, *args, **kwargs)

        return process_outputs

    def note(self, request: str, now: float, count: int) -> None:
        """Note a piece of an answer."""
        self.tokens += count
        self._pieces.setdefault(request.partition("-")[0], []).append((now, count))

    def take(self, request: str, tokens: int) -> tuple[list[float], list[int]]:
        """Hand out and forget a request's stamps and token counts, of its first `tokens` tokens.

        What arrived beyond them (behind a stop string) reached no reader.
        """
        stamps: list[float] = []
        counts: list[int] = []
        left = tokens
        for stamp, count in self._pieces.pop(request, []):
            if left <= 0:
                break
            stamps.append(stamp)
            counts.append(min(count, left))
            left -= count
        return stamps, counts
