"""The server: reads requests, answers them as its dialect and its lies have it, and keeps the truth.

Its own pages, whatever the dialect: `GET /truth` and `DELETE /truth`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from typing import TYPE_CHECKING, Self, cast

from aiohttp import web

from draftmark.backends.base import BackendError
from draftmark.backends.mock.asking import REQUEST_KEYS, RefusedError, read_ask, read_body
from draftmark.backends.mock.conducting import Conductor, Stream
from draftmark.backends.mock.connections import Connections
from draftmark.backends.mock.counters import Counters
from draftmark.backends.mock.dialects import dialect_of
from draftmark.backends.mock.dialects.base import Page, State, json_page
from draftmark.backends.mock.events import ID, compact
from draftmark.backends.mock.lies import LIES
from draftmark.backends.mock.script import Scripts
from draftmark.backends.mock.truth import Truth

if TYPE_CHECKING:
    from types import TracebackType

    from draftmark.backends.mock.asking import Ask, Endpoint
    from draftmark.backends.mock.connections import Connection
    from draftmark.backends.mock.events import Ending
    from draftmark.backends.mock.generating import Answer
    from draftmark.backends.mock.lies import Refusal
    from draftmark.backends.mock.settings import MockSettings
    from draftmark.backends.mock.truth import Turn

HOST = "127.0.0.1"
BACKLOG = 4096
LARGEST_REQUEST = 64 << 20
"""Bytes of a body that are taken."""
STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


class MockServer:
    """A server on the loopback: `async with MockServer(settings) as server`, then `server.url`.

    Raises:
        BackendError: When its port is taken.
    """

    def __init__(self, settings: MockSettings) -> None:
        self.settings = settings
        self.truth = Truth()
        self.url = ""
        """`http://127.0.0.1:PORT`, once it listens."""
        self.answered = asyncio.Event()
        """Set whenever an answer has ended."""
        self._state = State(settings, Counters(settings.engines, settings.draft_length))
        self._dialect = dialect_of(self._state)
        self._scripts = Scripts(self._dialect)
        self._endpoints = self._dialect.endpoints()
        self._pages = {
            **self._dialect.pages(),
            ("GET", "/truth"): lambda: json_page(self.truth.as_json()),
            ("DELETE", "/truth"): self._clear,
        }
        self._streams: set[Stream] = set()

    async def __aenter__(self) -> Self:
        self._conductor = Conductor(asyncio.get_running_loop())
        self._connections = Connections(self._handle)
        self._runner = web.ServerRunner(self._connections, handle_signals=False, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self.settings.port, backlog=BACKLOG)
        try:
            await site.start()
        except OSError as fault:
            await self._runner.cleanup()
            reason = fault.strerror or fault
            raise BackendError(f"mock server: port {self.settings.port}: {reason}; choose another, or 0") from None
        self.url = f"http://{HOST}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._conductor.close()
        for stream in self._streams:
            stream.lose()
        self._connections.close_newcomers()
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        endpoint = self._endpoints.get(request.path) if request.method == "POST" else None
        if endpoint is not None:
            return await self._generate(request, endpoint)
        page = self._pages.get((request.method, request.path))
        return _response(page()) if page is not None else self._error(404, "there is no such page", "NotFoundError")

    async def _generate(self, request: web.BaseRequest, endpoint: Endpoint) -> web.StreamResponse:
        request._client_max_size = LARGEST_REQUEST  # a low-level server has no public place
        body = await request.read()
        turn = self.truth.begin(cast("Connection", request.protocol).read_s)
        try:
            return await self._answered(request, endpoint, body, turn)
        except RefusedError as refusal:
            return self._error(refusal.status, str(refusal), refusal.kind)
        finally:
            self.truth.end(turn)
            self.answered.set()

    async def _answered(
        self, request: web.BaseRequest, endpoint: Endpoint, body: bytes, turn: Turn
    ) -> web.StreamResponse:
        if self._state.loading:
            raise RefusedError(503, "Loading model", "ServiceUnavailableError")
        data = read_body(body)
        turn.asked = {key: data[key] for key in REQUEST_KEYS if key in data}
        ask = read_ask(endpoint, data, request.headers, self.settings)
        turn.lie, turn.prompt_tokens = ",".join(ask.lies) or None, ask.prompt_tokens
        refusal = next((hook for name in ask.lies if (hook := LIES[name].refusal)), None)
        if refusal is not None:
            return self._refused(refusal(ask, request.headers.get("Authorization")))
        return await (self._stream(request, ask, turn) if ask.stream else self._whole(request, ask, turn))

    async def _stream(self, request: web.BaseRequest, ask: Ask, turn: Turn) -> web.StreamResponse:
        script = self._scripts.script(ask, turn.id)
        turn.prompt_tokens = script.given.ask.prompt_tokens
        first = next((write.at_s for write in script.writes if write.tokens), None)
        turn.first_scheduled_s = None if first is None else turn.received_s + first
        response = web.StreamResponse(headers=STREAM_HEADERS)
        response.enable_chunked_encoding()
        await response.prepare(request)
        connection = cast("Connection", request.protocol)
        transport = request.transport
        if transport is None:
            return response
        stream = connection.stream = Stream(script, turn, transport)
        self._streams.add(stream)
        self._conductor.start(stream)
        try:
            if await stream.ended:
                turn.finish_reason = script.finish_reason
                await _end(script.ending, stream, transport)
                if script.ending == "complete":
                    await response.write_eof()
        finally:
            connection.stream = None
            self._streams.discard(stream)
            self._count(turn, script.given, stream.steps)
        return response

    async def _whole(self, request: web.BaseRequest, ask: Ask, turn: Turn) -> web.StreamResponse:
        given = self._scripts.answer(ask)
        turn.prompt_tokens = given.ask.prompt_tokens
        data = compact(self._scripts.whole(given)).replace(ID, turn.id).encode()
        turn.first_scheduled_s = turn.received_s + given.end_s
        await asyncio.sleep(max(0.0, turn.first_scheduled_s - time.perf_counter()))
        response = web.Response(body=data, content_type="application/json")
        await response.prepare(request)
        await response.write_eof()
        turn.scheduled_s.append(turn.first_scheduled_s)
        turn.written_s.append(time.perf_counter())
        turn.tokens.append(given.tokens)
        turn.finish_reason = given.finish_reason
        self._count(turn, given, len(given.steps))
        return response

    def _count(self, turn: Turn, given: Answer, steps: int) -> None:
        turn.took_steps(given, steps)
        for name in given.ask.lies:
            hook = LIES[name].counted
            if hook is not None:
                hook(self._state.counters, given)
        self._state.counters.count(given, turn.output_tokens, steps)

    def _refused(self, refusal: Refusal) -> web.Response:
        response = web.Response(body=json.dumps(refusal.body).encode(), content_type="application/json")
        response.set_status(refusal.status)
        response.headers.update(refusal.headers)
        return response

    def _error(self, status: int, message: str, kind: str) -> web.Response:
        return _response(json_page(self._dialect.error(status, message, kind), status))

    def _clear(self) -> Page:
        self.truth.clear()
        return json_page({})


def _response(page: Page) -> web.Response:
    return web.Response(body=page.body, status=page.status, headers={"Content-Type": page.content_type})


async def _end(ending: Ending, stream: Stream, transport: asyncio.Transport) -> None:
    """End a stream that does not end as HTTP says."""
    if ending == "stall":
        await stream.lost
    elif ending == "close":
        transport.close()
    elif ending == "reset":
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
