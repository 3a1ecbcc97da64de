"""Server-sent events out of bytes, cut anywhere, by the rules of the WHATWG's event streams.

Lines end by LF, CR or CRLF and by nothing else; text is decoded once an event is whole, so that neither a character
split over two reads nor U+2028 inside a line does harm.
https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_LF = 0x0A
_COLON = 0x3A


@dataclass(slots=True)
class Event:
    """One event; text that is no UTF-8 holds U+FFFD in its place."""

    data: str
    """The data lines, joined by LF."""
    event: str = "message"
    """Its type."""
    id: str = ""
    """The last id that the stream has named so far."""
    unfinished: bool = False
    """The stream ended before the blank line that ends an event: its data may be cut anywhere."""


class SseParser:
    """Takes the bytes of one stream in pieces; linear in the number of bytes, however they are cut."""

    __slots__ = ("_data", "_ended_in", "_id", "_line", "_read", "_skips_lf", "_started", "_type")

    def __init__(self) -> None:
        self._line = bytearray()
        self._skips_lf = False
        self._started = False
        self._data: list[bytes] = []
        self._type = b""
        self._id = ""
        self._read = -1
        self._ended_in = 0

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that these bytes complete."""
        self._read += 1
        return [event for _, event in self._take(data)]

    def close(self) -> list[Event]:
        """Return the event that the stream left unfinished, where there is one; nothing may be fed afterwards."""
        return [event for _, event in self._end()]

    def _take(self, data: bytes) -> list[tuple[int, Event]]:
        """Return the completed events, each with the number of the read in which its last data line ended."""
        if not data:
            return []
        start = 0
        if self._skips_lf:
            self._skips_lf = False
            start = data[0] == _LF
        found: list[tuple[int, Event]] = []
        for end in _LINE_END.finditer(data, start):
            line = data[start : end.start()]
            if self._line:
                self._line += line
                line = bytes(self._line)
                self._line.clear()
            start = end.end()
            line = self._without_bom(line)
            if line:
                self._field(line)
            else:
                event = self._dispatch(unfinished=False)
                if event is not None:
                    found.append((self._ended_in, event))
        self._skips_lf = data[-1] == 0x0D
        self._line += data[start:]
        return found

    def _without_bom(self, line: bytes) -> bytes:
        """Return the line less the mark that may open a stream; further on it is a character like others."""
        if self._started:
            return line
        self._started = True
        return line.removeprefix(_BOM)

    def _field(self, line: bytes) -> None:
        if line[0] == _COLON:
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._ended_in = self._read
        elif name == b"event":
            self._type = value
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")

    def _dispatch(self, *, unfinished: bool) -> Event | None:
        data, self._data, kind, self._type = self._data, [], self._type, b""
        if not data:
            return None
        text = (data[0] if len(data) == 1 else b"\n".join(data)).decode("utf-8", "replace")
        return Event(text, kind.decode("utf-8", "replace") if kind else "message", self._id, unfinished)

    def _end(self) -> list[tuple[int, Event]]:
        line = self._without_bom(bytes(self._line))
        if line:
            self._field(line)
        event = self._dispatch(unfinished=True)
        return [] if event is None else [(self._ended_in, event)]

    def _starts_events(self) -> bool:
        """Whether the next byte begins an event, and the last id is all that is remembered."""
        return not (self._line or self._data or self._type)

    def _pass_over(self) -> None:
        """Take note of bytes that are nothing but whole events and were read elsewhere."""
        self._started, self._skips_lf = True, False


def events_of(reads: Sequence[bytes]) -> list[tuple[int, Event]]:
    """Return the events of a whole stream, each with the index of the read that brought the end of its last data line.

    The blank line that completes an event may come in a later read; what the event says was there by then. An event
    that the stream left unfinished inside a line counts to the last read.

    Reads that are nothing but whole events of one data line, which is what servers send, are taken at a fraction of the
    cost of the parser.
    """
    parser = SseParser()
    found: list[tuple[int, Event]] = []
    fresh = True
    for index, data in enumerate(reads):
        if fresh and data[:6] == b"data: " and data[-2:] == b"\n\n" and b"\r" not in data:
            texts = [data[6:-2]] if data.count(b"\n") == 2 else _split(data)
            if texts:
                found += [(index, Event(str(text, "utf-8", "replace"), "message", parser._id)) for text in texts]
                parser._pass_over()
                continue
        parser._read = index
        found += parser._take(data)
        fresh = parser._starts_events()
    parser._read = len(reads) - 1
    return found + parser._end()


def _split(data: bytes) -> list[bytes]:
    """Return the data of each event; none where there is anything but events of one data line each."""
    texts = data[6:-2].split(b"\n\ndata: ")
    return texts if data.count(b"\n") == 2 * len(texts) else []
