"""One HTTP exchange as it happened: what was sent, and every read of the answer with its stamp, not yet understood.

The client writes it while time runs; everything else reads it afterwards, so that understanding an answer costs no
time of any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Ending: TypeAlias = Literal["complete", "cut", "refused", "timeout", "protocol"]
"""`complete`: the message ended as HTTP says. `cut`: the connection ended before. `refused`: no connection could be
made. `timeout`: nothing came for too long. `protocol`: what came is no HTTP."""


@dataclass(slots=True)
class Exchange:
    """One request and the answer to it; stamps are `time.perf_counter()` seconds."""

    sent_s: float
    """When the last byte of the request was handed to the socket; where it never was, when that was begun."""
    connect_s: float | None = None
    """Seconds that opening the connection took, TLS included, before `sent_s`; null where none was opened."""
    status: int | None = None
    """HTTP status; null where no answer began."""
    headers: dict[str, str] = field(default_factory=dict)
    """Of the answer; names in lower case."""
    read_s: list[float] = field(default_factory=list)
    """When each read of the body returned from the socket, before it was looked at."""
    reads: list[bytes] = field(default_factory=list)
    """The body bytes of each read, transfer encoding removed; as long as `read_s`."""
    first_byte_s: float | None = None
    """When the first byte of the answer arrived, its header included."""
    done_s: float | None = None
    """When the answer, or the connection, ended."""
    ending: Ending = "complete"
    problem: str | None = None
    """In words, where the ending is not `complete`; without addresses or keys."""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.reads)
