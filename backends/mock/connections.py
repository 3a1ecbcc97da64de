"""Connections to the mock server, read as soon as anything comes and answered in turn.

Where hundreds of requests come at once, the server reads them all before it sets about the first: what a client waits
for is then between the moment that is noted as the request's and its answer, and not before it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

if TYPE_CHECKING:
    from draftmark.backends.mock.conducting import Stream

LONGEST_WAIT_S = 0.05
"""How long a request may wait while others still come, seconds."""


class Connection(web.RequestHandler):
    """One connection, which knows when it was last read and which stream it carries."""

    __slots__ = ("read_s", "stream")

    def __init__(self, server: web.Server) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), tcp_keepalive=False)
        self.read_s = time.perf_counter()
        self.stream: Stream | None = None

    def take_over(self, transport: asyncio.Transport, pieces: list[bytes], read_s: float) -> None:
        """Go on with a connection of which something was read at `read_s`."""
        transport.set_protocol(self)
        self.connection_made(transport)
        self.read_s = read_s
        for piece in pieces:
            super().data_received(piece)

    def data_received(self, data: bytes) -> None:
        """Note when it was and read on."""
        if data:  # aiohttp calls it with nothing whenever it goes on reading
            self.read_s = time.perf_counter()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End the stream."""
        if self.stream is not None:
            self.stream.lose()
        super().connection_lost(exc)


class _Newcomer(asyncio.Protocol):
    """A connection that was not answered yet: keeps what is read of it, and when that was."""

    __slots__ = ("_queue", "pieces", "read_s", "transport")

    def __init__(self, queue: _Queue) -> None:
        self._queue = queue
        self.transport: asyncio.Transport | None = None
        self.pieces: list[bytes] = []
        self.read_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._queue.open.add(self)
        self._queue.came = True

    def data_received(self, data: bytes) -> None:
        self.read_s = time.perf_counter()
        if not self.pieces:
            self._queue.add(self)
        self.pieces.append(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        del exc
        self.transport = None
        self._queue.open.discard(self)


class _Queue:
    """Hands newcomers on, one for each turn of the loop, once a turn has brought no more of them."""

    def __init__(self, server: web.Server) -> None:
        self.open: set[_Newcomer] = set()
        self._server = server
        self._waiting: deque[_Newcomer] = deque()
        self.came = False
        """Whether there was a connection, or the first of what it says, since this was last looked at."""

    def add(self, newcomer: _Newcomer) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._turn)
        self._waiting.append(newcomer)
        self.came = True

    def _turn(self) -> None:
        came, self.came = self.came, False
        if not came or time.perf_counter() - self._waiting[0].read_s > LONGEST_WAIT_S:
            self._hand_on(self._waiting.popleft())
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._turn)

    def _hand_on(self, newcomer: _Newcomer) -> None:
        if newcomer.transport is not None:
            self.open.discard(newcomer)
            Connection(self._server).take_over(newcomer.transport, newcomer.pieces, newcomer.read_s)


class Connections(web.Server):
    """Makes the connections."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._queue = _Queue(self)

    def __call__(self) -> Any:
        """Return the protocol of a connection that was just made."""
        return _Newcomer(self._queue)

    def close_newcomers(self) -> None:
        """End the connections that nothing was answered on."""
        for newcomer in list(self._queue.open):
            if newcomer.transport is not None:
                newcomer.transport.abort()
