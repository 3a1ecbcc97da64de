"""Connections that come all at once, say nothing, or are gone before their turn."""

import asyncio
import json
import socket
from typing import Any

import pytest

from draftmark.backends.mock import MockServer, MockSettings
from draftmark.backends.mock.connections import Connection

COUNT = 40


def request(port: int, tokens: int = 2) -> bytes:
    body = json.dumps({"model": "m", "prompt": [1, 2], "max_tokens": tokens, "stream": True}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def connected(port: int, said: bytes) -> socket.socket:
    """A connection made while the loop, and so the server, stands still."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(said)
    connection.setblocking(False)
    return connection


async def whole(connection: socket.socket) -> bytes:
    loop = asyncio.get_running_loop()
    said = b""
    while not said.endswith(b"0\r\n\r\n"):
        said += await asyncio.wait_for(loop.sock_recv(connection, 1 << 16), 20)
    connection.close()
    return said


def test_all_requests_are_read_before_the_first_is_set_about(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[tuple[str, float]] = []
    take_over = Connection.take_over

    def noted(self: Connection, transport: Any, pieces: list[bytes], read_s: float) -> None:
        events.append(("taken over", asyncio.get_running_loop().time()))
        events.append(("read", read_s))
        take_over(self, transport, pieces, read_s)

    monkeypatch.setattr(Connection, "take_over", noted)

    async def main() -> list[dict[str, Any]]:
        async with MockServer(MockSettings(ttft_s=0.01, step_s=0.001)) as server:
            port = int(server.url.rsplit(":", 1)[1])
            connections = [connected(port, request(port)) for _ in range(COUNT)]
            await asyncio.gather(*map(whole, connections))
            return server.truth.as_json()["requests"]

    told = asyncio.run(main())
    first = next(moment for what, moment in events if what == "taken over")
    read = [moment for what, moment in events if what == "read"]
    assert len(read) == COUNT
    assert max(read) <= first  # both on the clock CLOCK_MONOTONIC
    assert sorted(request["received_s"] for request in told) == sorted(read)


def test_a_request_may_come_in_pieces() -> None:
    async def main() -> None:
        async with MockServer(MockSettings(ttft_s=0.01, step_s=0.001)) as server:
            port = int(server.url.rsplit(":", 1)[1])
            said = request(port)
            connection = connected(port, said[:30])
            await asyncio.sleep(0.1)
            connection.sendall(said[30:])
            assert b"[DONE]" in await whole(connection)
            assert len(server.truth.turns) == 1

    asyncio.run(main())


@pytest.mark.parametrize("said", [b"", b"POST /v1/completions HTTP/1.1\r\n"], ids=["silent", "half a request"])
def test_a_connection_that_never_asks_keeps_no_server_alive(said: bytes) -> None:
    async def main() -> bytes:
        async with MockServer(MockSettings()) as server:
            connection = connected(int(server.url.rsplit(":", 1)[1]), said)
            await asyncio.sleep(0.05)
        try:
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(connection, 100), 10)
        except ConnectionError:
            return b""
        finally:
            connection.close()

    assert b"200" not in asyncio.run(main())


def test_one_that_is_gone_before_its_turn_leaves_the_others_alone() -> None:
    async def main() -> None:
        async with MockServer(MockSettings(ttft_s=0.01, step_s=0.001)) as server:
            port = int(server.url.rsplit(":", 1)[1])
            connected(port, request(port)).close()
            connected(port, b"").close()
            assert b"[DONE]" in await whole(connected(port, request(port)))

    asyncio.run(main())
