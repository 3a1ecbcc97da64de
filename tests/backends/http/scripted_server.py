"""A server that does to a connection just what a test says: bytes, pauses, resets; and a client for it."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from draftmark.backends.http.client import Client
from draftmark.backends.http.request import ClientSettings

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One piece of a chunked body; the empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class Peer:
    """One accepted connection as a script sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> tuple[str, dict[str, str], bytes]:
        """Read one request: its first line, its headers, its body."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return head[0], headers, body

    async def send(self, data: bytes, *, after_s: float = 0.0) -> None:
        """Write, in a packet of its own."""
        await asyncio.sleep(after_s)
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Close so that the other side sees a reset."""
        found = self.writer.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Server:
    """A listening server and every connection it was given."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.in_flight = 0
        self.most_in_flight = 0


@asynccontextmanager
async def serving(
    script: Callable[[Peer], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    """Serve every connection by a script; whatever it leaves open is closed after it."""
    state = Server()
    open_now: set[asyncio.StreamWriter] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        state.connections += 1
        state.in_flight += 1
        state.most_in_flight = max(state.most_in_flight, state.in_flight)
        open_now.add(writer)
        try:
            await script(Peer(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            state.in_flight -= 1
            open_now.discard(writer)
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024, ssl=tls)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for writer in list(open_now):
            writer.transport.abort()


def client(port: int, **changed: Any) -> Client:
    settings: dict[str, Any] = {
        "base_url": f"http://127.0.0.1:{port}/v1",
        "connect_timeout_s": 20.0,
        "idle_timeout_s": 20.0,
        "total_timeout_s": None,
        **changed,
    }
    return Client(ClientSettings(**settings))
