"""What the engines count since their start; each request is one engine's. Counted when its answer ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draftmark.backends.mock.generating import Answer, Step


@dataclass(slots=True)
class EngineCounts:
    """Of one engine; tokens, steps, requests and seconds."""

    created: float
    """Unix time of its start."""
    drafts: int = 0
    """Steps that had a draft."""
    draft_tokens: int = 0
    accepted_tokens: int = 0
    accepted_per_position: list[int] = field(default_factory=list)
    steps: int = 0
    """All steps after a first token, with a draft or without."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generation_tokens: int = 0
    requests: int = 0
    prompt_s: float = 0.0
    decode_s: float = 0.0
    last_interval: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Of the last request: steps, tokens, draft tokens and accepted tokens; what a gauge would show."""


@dataclass(slots=True)
class Iteration:
    """One pass of an engine, for those that list them."""

    number: int
    context_requests: int
    step: Step | None
    """Null for the pass that reads the prompt."""
    context_tokens: int
    seconds: float


class Counters:
    """The counters of all engines of a server."""

    def __init__(self, engines: int, draft_length: int) -> None:
        self._draft_length = draft_length
        self._next = 0
        self._iteration = 0
        self.iterations: list[Iteration] = []
        """Passes since they were last read."""
        self.engines: list[EngineCounts] = []
        self.restart(engines)

    def restart(self, engines: int | None = None) -> None:
        """Begin anew, as engines do when they are restarted."""
        count = len(self.engines) if engines is None else engines
        self.engines = [
            EngineCounts(created=time.time(), accepted_per_position=[0] * self._draft_length) for _ in range(count)
        ]

    def count(self, given: Answer, tokens: int, steps: int) -> None:
        """Count an answer as far as it went: so many tokens, so many steps."""
        engine = self.engines[self._next % len(self.engines)]
        self._next += 1
        engine.requests += 1
        engine.prompt_tokens += given.ask.prompt_tokens
        engine.cached_tokens += given.ask.cached_tokens
        engine.generation_tokens += tokens
        engine.prompt_s += given.ttft_s
        engine.decode_s += steps * given.step_s
        for step in given.steps[:steps]:
            self._count_step(engine, step.counted_drafted, step.counted_accepted)
        done = given.steps[:steps]
        drafted, accepted = (sum(step.counted_drafted for step in done), sum(step.counted_accepted for step in done))
        engine.last_interval = (steps, tokens, drafted, accepted)
        self._list_iterations(given, steps)

    def _count_step(self, engine: EngineCounts, drafted: int, accepted: int) -> None:
        engine.steps += 1
        if drafted:
            engine.drafts += 1
            engine.draft_tokens += drafted
            engine.accepted_tokens += accepted
            for position in range(accepted):
                engine.accepted_per_position[position] += 1

    def _list_iterations(self, given: Answer, steps: int) -> None:
        self._iteration += 1
        self.iterations.append(Iteration(self._iteration, 1, None, given.ask.prompt_tokens, given.ttft_s))
        for step in given.steps[:steps]:
            self._iteration += 1
            self.iterations.append(Iteration(self._iteration, 0, step, 0, given.step_s))
