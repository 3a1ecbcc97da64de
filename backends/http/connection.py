"""One connection: hands a request to the socket and keeps every read of the answer with its stamp.

The stamp is taken first thing when the loop hands over what it read; then the framing (chunks, lengths) is taken off
by llhttp, and nothing else is looked at while the answer lasts. Over TLS it follows decryption, and one stamp may stand
for several records.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

import httptools

if TYPE_CHECKING:
    from draftmark.backends.http.exchange import Ending, Exchange

LONGEST_HEAD = 1 << 18
"""Bytes in a row that are no part of a body (headers, trailers, what stands around chunks), beyond which a server is
taken for one that never comes to the point."""
LONGEST_BODY = 1 << 30
"""Bytes of one answer, beyond which it is taken for one without end."""
_GRACE_S = 0.02
"""A timeout is looked at once more after so long: a loop that was held up finds what has arrived meanwhile."""


class Connection(asyncio.Protocol):
    """A connection that answers one request at a time; every failure is an ending of the exchange, no exception."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, tls: bool) -> None:
        self._loop = loop
        self._tls = tls
        self.transport: asyncio.Transport | None = None
        self.lost: asyncio.Future[None] = loop.create_future()
        """Done when the connection is no more."""
        self.reusable = False
        """The answer is whole, the server keeps the connection open, and nothing else has come."""
        self.promised_s: float | None = None
        """For how long the server said that it keeps an idle connection."""
        self.exchange: Exchange | None = None
        """The one that is under way."""
        self._uses = 0

    async def answer(
        self, exchange: Exchange, request: bytes, *, idle_timeout_s: float, total_timeout_s: float | None
    ) -> None:
        """Send a request and wait until the exchange has ended, however it ends.

        Who stops waiting closes the connection.
        """
        self.exchange = exchange
        self.reusable = False
        self._uses += 1
        self._idle_s, self._total_s = idle_timeout_s, total_timeout_s
        self._in_body = self._whole = self._framed = self._extra = self._interim = self._doubted = False
        self._silent_bytes = self._body_bytes = 0
        self._pairs: list[tuple[bytes, bytes]] = []
        self._reads, self._read_s = exchange.reads, exchange.read_s
        self.on_body = self._reads.append
        self._parser = httptools.HttpResponseParser(self)
        self._feed = self._parser.feed_data
        self._ended = self._loop.create_future()
        self._now = exchange.sent_s = time.perf_counter()
        first_s = idle_timeout_s if total_timeout_s is None else min(idle_timeout_s, total_timeout_s)
        self._timer = self._loop.call_later(first_s, self._check)
        self._send(exchange, request)
        try:
            await self._ended
        except asyncio.CancelledError:
            self.abort("the request was given up")
            raise

    def abort(self, problem: str) -> None:
        """Close the connection at once; an exchange that is under way ends as cut."""
        self.reusable = False
        self._end("cut", problem)
        if self.transport is not None:
            self.transport.abort()

    def _send(self, exchange: Exchange, request: bytes) -> None:
        """Hand the request to the socket itself: a transport may wait until the loop has come round.

        The stamp is taken just before, since a server on the same core may go to work before the call returns.
        """
        transport = self.transport
        if transport is None or self.lost.done():
            self._hang_up(None)
            return
        exchange.sent_s = time.perf_counter()
        sent = 0
        if not self._tls:
            try:
                sent = os.write(transport.get_extra_info("socket").fileno(), request)
            except BlockingIOError:
                pass
            except OSError:  # the server has closed; what it said before is still to be read, and then the end
                return
        if sent < len(request):
            transport.set_write_buffer_limits(0)
            transport.write(request[sent:])

    # What the loop calls ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = transport  # type: ignore[assignment]

    def resume_writing(self) -> None:
        """Note that the rest of a request that the socket could not take at once has gone.

        TLS may only say so once it has the answer, which is then no news.
        """
        if self.exchange is not None and self.exchange.first_byte_s is None:
            self.exchange.sent_s = time.perf_counter()

    def data_received(self, data: bytes) -> None:
        """Stamp a read and take the framing off; all the work there is while time runs."""
        now = time.perf_counter()
        if self.exchange is None:  # whatever comes unasked, this connection is of no more use
            self.abort("")
            return
        self._now = now
        reads = self._reads
        before = len(reads)
        problem = None
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            problem = "it changes the protocol"
        except httptools.HttpParserError as fault:
            problem = str(fault)
        if self._whole:
            del reads[self._kept :]
        pieces = len(reads) - before
        if pieces:
            if pieces > 1:
                reads[before:] = [b"".join(reads[before:])]
            self._read_s.append(now)
            self._silent_bytes = 0
            self._body_bytes += len(data)
        else:
            self._silent_bytes += len(data)
            if self.exchange.first_byte_s is None and not self._interim:
                self.exchange.first_byte_s = now
        if self._whole:
            self._extra = self._extra or problem is not None
            self._complete(self.exchange)
        elif problem is not None:
            self._fail(problem)
        elif self._silent_bytes > LONGEST_HEAD:
            self._fail(f"more than {LONGEST_HEAD:,} bytes came without any of a body")
        elif self._body_bytes > LONGEST_BODY:
            self._end("cut", f"the answer was longer than {LONGEST_BODY:,} bytes")

    def eof_received(self) -> None:
        """End the answer; whether it is whole then depends on how the server frames it."""
        self.reusable = False
        self._hang_up(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer, where it has not ended yet."""
        self.reusable = False
        self._hang_up(exc)
        if not self.lost.done():
            self.lost.set_result(None)

    # What llhttp calls -----------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin an answer, or the one that follows an interim one."""
        if self._whole:
            self._extra = True
        elif self.exchange is not None:
            self.exchange.first_byte_s = self._now
            self._interim = False
            self._pairs = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; trailers, which follow a body, are passed over."""
        if not self._in_body:
            self._pairs.append((name, value))

    def on_headers_complete(self) -> None:
        """Take status and headers."""
        status = self._parser.get_status_code()
        if self._whole or self.exchange is None:
            return
        if 100 <= status < 200:
            self._interim = True
            return
        self.exchange.status = status
        headers = self.exchange.headers
        for raw_name, raw_value in self._pairs:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        coding = headers.get("transfer-encoding")
        last = None if coding is None else coding.lower().rsplit(",", 1)[-1].strip()
        self._framed = last == "chunked" or (coding is None and "content-length" in headers)
        self._in_body = True

    def on_message_complete(self) -> None:
        """Note that the answer is whole, unless it is an interim one."""
        if self._interim and self.exchange is not None:
            self.exchange.first_byte_s = None
        elif not self._whole:
            self._whole = True
            self._kept = len(self._reads)
            self._stays = self._framed and self._parser.should_keep_alive()  # it knows only here

    # Endings ---------------------------------------------------------------------------------------------------------

    def _complete(self, exchange: Exchange) -> None:
        self.reusable = self._stays and not self._extra
        self.promised_s = _promised_s(exchange.headers)
        self._end("complete", None)

    def _hang_up(self, fault: Exception | None) -> None:
        """End the exchange with the connection: whole where the server frames it by just that."""
        exchange = self.exchange
        if exchange is None:
            return
        if self._in_body and not self._framed and fault is None:
            self._now = time.perf_counter()
            self._end("complete", None)
            return
        how = "reset" if isinstance(fault, ConnectionResetError) else "closed" if fault is None else "lost"
        which = "connection" if self._uses == 1 else "connection, which had been used before,"
        if self._in_body:
            when = "before the answer had ended"
        elif exchange.first_byte_s is None:
            when = "before an answer came"
        else:
            when = "within the header of the answer"
        self._end("cut", f"the {which} was {how} {when}")

    def _fail(self, why: str) -> None:
        self._end("protocol", f"the server's answer is not HTTP/1.1 as it should be: {why}")

    def _end(self, ending: Ending, problem: str | None) -> None:
        """End the exchange under way, and the connection with it unless it can be used again."""
        exchange, self.exchange = self.exchange, None
        if exchange is None:
            return
        exchange.ending, exchange.problem = ending, problem
        exchange.done_s = self._now if ending == "complete" else time.perf_counter()
        self._timer.cancel()
        if self.transport is not None and not self.reusable:
            self.transport.close() if ending == "complete" else self.transport.abort()
        if not self._ended.done():
            self._ended.set_result(None)

    def _check(self) -> None:
        """Look whether the exchange takes too long; there is one timer an exchange, whatever arrives."""
        exchange = self.exchange
        if exchange is None:
            return
        now = time.perf_counter()
        idle_left_s = max(self._now, exchange.sent_s) + self._idle_s - now
        total_left_s = float("inf") if self._total_s is None else exchange.sent_s + self._total_s - now
        left_s = min(idle_left_s, total_left_s)
        if left_s > 0:
            self._doubted = False
            self._timer = self._loop.call_later(left_s + 0.001, self._check)
        elif not self._doubted:
            self._doubted = True
            self._timer = self._loop.call_later(_GRACE_S, self._check)
        elif total_left_s <= 0:
            self._end("timeout", f"the answer had not ended {self._total_s:g} seconds after the request")
        else:
            self._end("timeout", f"nothing came for {self._idle_s:g} seconds")


def _promised_s(headers: dict[str, str]) -> float | None:
    for part in headers.get("keep-alive", "").split(","):
        name, _, value = part.partition("=")
        if name.strip().lower() == "timeout" and value.strip().isdecimal():
            return float(value)
    return None
