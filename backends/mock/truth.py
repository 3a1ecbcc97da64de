"""What really happened, whatever was told: each request's steps and tokens, and when its bytes went to the socket."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftmark.backends.mock.generating import Answer


@dataclass(slots=True)
class Turn:
    """One request. Times are `time.perf_counter()` seconds of the server's process, on Linux the whole machine's."""

    id: str
    received_s: float
    """When the read that completed the request returned from the socket."""
    first_scheduled_s: float | None = None
    """When the first chunk with tokens was due; null where none was meant to come."""
    scheduled_s: list[float] = field(default_factory=list)
    """When each chunk with tokens was due."""
    written_s: list[float] = field(default_factory=list)
    """When the last byte of each was handed to the socket."""
    tokens: list[int] = field(default_factory=list)
    """Tokens in each."""
    drafted: list[int] = field(default_factory=list)
    """Tokens drafted in each engine step after the first token; 0 for a step without a draft."""
    accepted: list[int] = field(default_factory=list)
    """Of those, accepted and in the answer."""
    prompt_tokens: int = 0
    finish_reason: str | None = None
    """As it was told; null where it never was."""
    lie: str | None = None
    """Names of the lies, parted by commas."""
    asked: dict[str, Any] = field(default_factory=dict)
    """What arrived besides the prompt, as it was sent: settings, tools, the answer's form; messages of a chat too."""
    ended: bool = False
    """Whether nothing more will come."""

    @property
    def output_tokens(self) -> int:
        """Tokens that were handed to the socket."""
        return sum(self.tokens)

    def took_steps(self, given: Answer, steps: int) -> None:
        """Note the first so many steps of an answer as done."""
        self.drafted = [step.drafted for step in given.steps[:steps]]
        self.accepted = [step.accepted for step in given.steps[:steps]]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        rows = zip(self.scheduled_s, self.written_s, self.tokens, strict=True)
        return {
            "id": self.id,
            "received_s": self.received_s,
            "first_scheduled_s": self.first_scheduled_s,
            "chunks": [{"scheduled_s": due, "written_s": wrote, "tokens": count} for due, wrote, count in rows],
            "drafted": self.drafted,
            "accepted": self.accepted,
            "output_tokens": self.output_tokens,
            "prompt_tokens": self.prompt_tokens,
            "finish_reason": self.finish_reason,
            "lie": self.lie,
            "asked": self.asked,
        }


class Truth:
    """Every request since the start, or since `clear`."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.max_in_flight = 0
        """The most requests that were in flight at once."""
        self.answered = 0
        """Requests whose answer has ended, counted through `clear`."""
        self._in_flight = 0
        self._number = 0

    def begin(self, received_s: float) -> Turn:
        """Note that a request came, and return its record."""
        self._number += 1
        turn = Turn(id=f"mock-{self._number:08d}", received_s=received_s)
        self.turns.append(turn)
        self._in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self._in_flight)
        return turn

    def end(self, turn: Turn) -> None:
        """Note that nothing more will come for a request."""
        turn.ended = True
        self._in_flight -= 1
        self.answered += 1

    def clear(self) -> None:
        """Forget the requests that have ended; those in flight stay."""
        self.turns = [turn for turn in self.turns if not turn.ended]
        self.max_in_flight = self._in_flight

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain data, requests in the order they came."""
        return {"requests": [turn.as_json() for turn in self.turns], "max_in_flight": self.max_in_flight}
