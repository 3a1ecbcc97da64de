"""The events of a stream before they are bytes, and the bytes before they are on the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

ID = "mock-00000000"
"""Stands for a request's id until its bytes are written, so that equal answers share their bytes."""

DONE = "[DONE]"

Ending: TypeAlias = Literal["complete", "close", "reset", "stall"]
"""How a stream ends: as HTTP says; the connection closed without that, or reset; or never."""


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    at_s: float
    """After the request was received, seconds."""
    payload: dict[str, Any] | str
    """JSON, or the text that is no JSON."""
    tokens: int = 0
    steps: int = 0
    """How many steps were done when it is sent."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes that go to the socket at once."""

    at_s: float
    data: bytes
    tokens: int = 0
    """Tokens whose last byte is among these."""
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Style:
    """How events are written."""

    newline: str = "\n"
    space: str = " "
    bom: bool = False
    comments: bool = False
    """Whether a comment comes before each event."""
    lines: int = 1
    """Over how many `data` lines each JSON is spread."""
    final_newlines: bool = True


def written(events: Sequence[Event], style: Style) -> list[Write]:
    """Return the bytes of events; those of one moment go to the socket together."""
    writes: list[Write] = []
    for index, event in enumerate(events):
        data = _encoded(event, style, last=index == len(events) - 1)
        if style.bom and index == 0:
            data = b"\xef\xbb\xbf" + data
        before = writes[-1] if writes else None
        if before is not None and before.at_s == event.at_s:
            writes[-1] = joined(before, Write(event.at_s, data, event.tokens, event.steps))
        else:
            writes.append(Write(event.at_s, data, event.tokens, event.steps))
    return writes


def joined(before: Write, after: Write) -> Write:
    """Return two writes as one, at the moment of the later."""
    return Write(after.at_s, before.data + after.data, before.tokens + after.tokens, max(before.steps, after.steps))


def _encoded(event: Event, style: Style, *, last: bool) -> bytes:
    text = event.payload if isinstance(event.payload, str) else compact(event.payload)
    parts = [text]
    if style.lines > 1 and isinstance(event.payload, dict):
        parts = json.dumps(event.payload, ensure_ascii=False, indent=0).split("\n")
    comment = f": a comment{style.newline}" if style.comments else ""
    lines = style.newline.join(f"data:{style.space}{part}" for part in parts)
    ending = "" if last and not style.final_newlines else 2 * style.newline
    return f"{comment}{lines}{ending}".encode()


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact(data: Any) -> str:
    """Return plain data as JSON without spaces, its characters as they are."""
    return _ENCODER.encode(data)
