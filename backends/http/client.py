"""A streaming client whose stamps are taken at the read of the socket, and which reads nothing while time runs.

An `Exchange` comes back from everything that can go wrong: refusals, resets, silence, answers that are no HTTP. There
are no retries, no redirects, no proxies and no limit to how many requests are in flight. Opening a connection comes
before `sent_s` and is kept apart, as `connect_s`: time to first token runs from the sending.

Each request opens a connection of its own unless `reuse` is asked for. A connection that is used again may just have
been closed by the server; the request is then lost and is not sent a second time behind the measurement's back. Where
connections are used again, only those are that ended cleanly and have been idle for less than two seconds, or half of
what the server promised; a request that still meets a closed one ends as `cut`, and its problem says so.
"""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
import ssl
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from draftmark.backends.http.connection import Connection
from draftmark.backends.http.exchange import Exchange
from draftmark.backends.http.request import ClientSettings, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.exchange import Ending

IDLE_S = 2.0
"""For how long an idle connection may be used again: servers close them after five seconds and more."""
_CLOSING_S = 1.0
_CLOSED = "the client was closed"


class Client:
    """Requests to one server, on whatever event loop is running; no call raises for the fault of a server.

    A cancelled call closes its connection and raises `CancelledError`; `close` ends what is in flight as cut and
    returns it to those who wait for it.
    """

    def __init__(self, settings: ClientSettings) -> None:
        """Nothing is opened yet; raises `BackendError` where the URL or a header cannot be used."""
        self._origin = Origin(settings.base_url, settings.headers, keeps_alive=settings.reuse)
        self._settings = settings
        self._tls: ssl.SSLContext | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._naming = asyncio.Lock()
        self._addresses: list[tuple[int, str]] = []
        self._open: set[Connection] = set()
        self._idle: list[tuple[float, Connection]] = []
        self._closed = False
        self._reads_ended = 0
        self.in_flight = 0
        """Requests that have begun and not ended, connecting included."""

    @property
    def reads(self) -> int:
        """How many reads brought a part of a body so far, in all exchanges."""
        under_way = (connection.exchange for connection in self._open)
        return self._reads_ended + sum(len(exchange.read_s) for exchange in under_way if exchange is not None)

    async def post(self, path: str, body: bytes, *, headers: Mapping[str, str] | None = None) -> Exchange:
        """Send a body, JSON unless a header says otherwise, and return what came of it.

        Raises:
            BackendError: the path or a header cannot be sent.
        """
        return await self._exchange(self._origin.request("POST", path, body, headers))

    async def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> Exchange:
        """Ask for a path and return what came of it; raises as `post` does."""
        return await self._exchange(self._origin.request("GET", path, b"", headers))

    async def close(self) -> None:
        """Close all connections; what is in flight ends as cut. Safe to call twice; no request is sent afterwards."""
        self._closed = True
        self._idle.clear()
        gone = [connection.lost for connection in self._open if self._loop is asyncio.get_running_loop()]
        for connection in list(self._open):
            connection.abort(_CLOSED)
        if gone:
            await asyncio.wait(gone, timeout=_CLOSING_S)

    async def _exchange(self, request: bytes) -> Exchange:
        exchange = Exchange(sent_s=time.perf_counter())
        self.in_flight += 1
        try:
            connection = self._idle_connection()
            if connection is None:
                try:
                    connection = await self._connect()
                except _CannotConnect as fault:
                    return _ended(exchange, fault.ending, fault.problem)
                exchange.connect_s = time.perf_counter() - exchange.sent_s
            if self._closed:
                connection.abort(_CLOSED)
                return _ended(exchange, "cut", _CLOSED)
            await connection.answer(
                exchange,
                request,
                idle_timeout_s=self._settings.idle_timeout_s,
                total_timeout_s=self._settings.total_timeout_s,
            )
            if connection.reusable:
                self._keep(connection)
            return exchange
        finally:
            self.in_flight -= 1
            self._reads_ended += len(exchange.read_s)

    # Idle connections ------------------------------------------------------------------------------------------------

    def _keep(self, connection: Connection) -> None:
        promised_s = connection.promised_s
        lasts_s = IDLE_S if promised_s is None else min(IDLE_S, promised_s / 2)
        if self._settings.reuse and not self._closed:
            self._idle.append((time.monotonic() + lasts_s, connection))
        else:
            connection.abort("")

    def _idle_connection(self) -> Connection | None:
        """Return the one that was used last and can be used again."""
        if self._loop is not asyncio.get_running_loop():
            return None
        while self._idle:
            until_s, connection = self._idle.pop()
            if connection.reusable and time.monotonic() < until_s:
                return connection
            connection.abort("")
        return None

    # New connections -------------------------------------------------------------------------------------------------

    async def _connect(self) -> Connection:
        """Open a connection; raises `_CannotConnect`."""
        if self._closed:
            raise _CannotConnect("cut", _CLOSED)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._naming = loop, asyncio.Lock()
            self._open.clear()
            self._idle.clear()
        try:
            async with asyncio.timeout(self._settings.connect_timeout_s):
                return await self._reach(loop)
        except TimeoutError:
            problem = f"no connection could be made within {self._settings.connect_timeout_s:g} seconds"
            raise _CannotConnect("timeout", problem) from None
        except UnicodeError:  # a host with a label that no name can have
            raise _CannotConnect("refused", _reason(socket.gaierror())) from None
        except OSError as fault:
            raise _CannotConnect("refused", _reason(fault)) from None

    async def _reach(self, loop: asyncio.AbstractEventLoop) -> Connection:
        """Try every address of the host, the one that answered last time first."""
        origin = self._origin
        if origin.tls and self._tls is None:
            self._tls = _tls_context(verify=self._settings.verify_tls)
        last: OSError = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        for family, address in await self._named(loop):
            connection = Connection(loop, tls=origin.tls)
            try:
                await loop.create_connection(
                    lambda made=connection: made,
                    address,
                    origin.port,
                    family=family,
                    ssl=self._tls,
                    server_hostname=origin.host if origin.tls else None,
                )
            except OSError as fault:
                last = fault
                continue
            self._addresses.sort(key=lambda known: known[1] != address)
            self._open.add(connection)
            connection.lost.add_done_callback(lambda _, gone=connection: self._open.discard(gone))  # type: ignore[misc]
            return connection
        raise last

    async def _named(self, loop: asyncio.AbstractEventLoop) -> list[tuple[int, str]]:
        """Return the host's addresses, asked for once."""
        if not self._addresses:
            async with self._naming:
                if not self._addresses:
                    found = await loop.getaddrinfo(self._origin.host, self._origin.port, type=socket.SOCK_STREAM)
                    self._addresses = list(dict.fromkeys((entry[0], str(entry[4][0])) for entry in found))
        return list(self._addresses)


def allow_open_files() -> None:
    """Raise this process's limit of open files as far as it may be: each request in flight is one."""
    with suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _CannotConnect(Exception):
    def __init__(self, ending: Ending, problem: str) -> None:
        super().__init__(problem)
        self.ending: Ending = ending
        self.problem = problem


def _ended(exchange: Exchange, ending: Ending, problem: str) -> Exchange:
    exchange.ending, exchange.problem, exchange.done_s = ending, problem, time.perf_counter()
    return exchange


def _tls_context(*, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reason(fault: OSError) -> str:
    """Say why no connection could be made; what the fault itself says may hold addresses."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"no connection: the server's certificate is not valid ({fault.verify_message.split(',')[0]})"
    if isinstance(fault, ssl.SSLError):
        return f"no connection: TLS failed ({(fault.reason or 'unknown').replace('_', ' ').lower()})"
    if isinstance(fault, socket.gaierror):
        return "no connection: the host's name is not known"
    if fault.errno in (errno.EMFILE, errno.ENFILE):
        return "no connection: too many open files on this machine; raise the limit (ulimit -n)"
    known = fault.errno is not None and fault.errno > 0
    return f"no connection: {os.strerror(fault.errno).lower() if known and fault.errno else 'it failed'}"
