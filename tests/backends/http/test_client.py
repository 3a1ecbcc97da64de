"""The client against a server that answers well: framing, stamps, what a request says, connections."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.http.client import Client
from draftmark.backends.http.request import ClientSettings
from draftmark.backends.http.sse import events_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from draftmark.backends.http.exchange import Exchange

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

BODY = b'{"stream": true}'


def ask(http: Any, run: Run, script: Any, **changed: Any) -> Exchange:
    """One POST to a script."""

    async def go() -> Exchange:
        async with http.serving(script) as server:
            client = http.client(server.port, **changed)
            try:
                return await client.post("/chat/completions", BODY)  # type: ignore[no-any-return]
            finally:
                await client.close()

    exchange: Exchange = run(go())
    assert len(exchange.read_s) == len(exchange.reads)
    assert exchange.read_s == sorted(exchange.read_s)
    assert exchange.done_s is not None
    return exchange


def answers(*pieces: bytes, after_s: float = 0.02) -> Any:
    """A script: read the request, then write each piece in a packet of its own."""

    async def script(peer: Any) -> None:
        await peer.request()
        for piece in pieces:
            await peer.send(piece, after_s=after_s)

    return script


def test_each_read_of_a_chunked_body_is_kept_with_its_stamp(http: Any, run: Run) -> None:
    sent_s: list[float] = []

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(http.STREAM)
        for text in (b"data: a\n\n", b"data: b\n\n", b"data: c\n\n"):
            await asyncio.sleep(0.05)
            sent_s.append(time.perf_counter())
            await peer.send(http.chunk(text))
        await peer.send(http.chunk(b""), after_s=0.05)

    exchange = ask(http, run, script)
    assert (exchange.ending, exchange.problem, exchange.status) == ("complete", None, 200)
    assert exchange.headers["content-type"] == "text/event-stream"
    assert exchange.reads == [b"data: a\n\n", b"data: b\n\n", b"data: c\n\n"]
    assert exchange.first_byte_s is not None
    assert exchange.done_s is not None
    assert exchange.connect_s is not None
    assert exchange.sent_s < exchange.first_byte_s < exchange.read_s[0]
    assert exchange.read_s[-1] < exchange.done_s
    assert all(sent <= read for sent, read in zip(sent_s, exchange.read_s, strict=True))
    assert all(read < after for read, after in zip(exchange.read_s, sent_s[1:], strict=False))


def test_pieces_that_came_in_one_read_have_one_stamp(http: Any, run: Run) -> None:
    whole = http.STREAM + http.chunk(b"data: a\n\n") + http.chunk(b"data: b\n\n") + http.chunk(b"")
    exchange = ask(http, run, answers(whole))
    assert exchange.reads == [b"data: a\n\ndata: b\n\n"]
    assert exchange.first_byte_s == exchange.read_s[0] == exchange.done_s
    assert [(index, event.data) for index, event in events_of(exchange.reads)] == [(0, "a"), (0, "b")]


def test_a_chunk_may_be_cut_anywhere(http: Any, run: Run) -> None:
    stream = http.chunk("data: 中\n\n".encode()) + http.chunk(b"data: b\n\n") + http.chunk(b"")
    exchange = ask(http, run, answers(http.STREAM, *(bytes([byte]) for byte in stream), after_s=0.002))
    assert exchange.ending == "complete"
    assert exchange.body == "data: 中\n\ndata: b\n\n".encode()
    assert [event.data for _, event in events_of(exchange.reads)] == ["中", "b"]


def test_a_body_of_known_length(http: Any, run: Run) -> None:
    exchange = ask(http, run, answers(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n", b"ab", b"cd"))
    assert (exchange.status, exchange.ending, exchange.reads) == (404, "complete", [b"ab", b"cd"])


def test_a_body_that_ends_with_the_connection(http: Any, run: Run) -> None:
    exchange = ask(http, run, answers(b"HTTP/1.0 200 OK\r\n\r\n", b"ab", b"cd"))
    assert (exchange.status, exchange.ending, exchange.reads) == (200, "complete", [b"ab", b"cd"])


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified", b"200 OK\r\nContent-Length: 0"])
def test_an_answer_without_a_body(http: Any, run: Run, status: bytes) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 " + status + b"\r\n\r\n")
        await asyncio.sleep(20)

    exchange = ask(http, run, script)
    assert (exchange.status, exchange.ending, exchange.reads) == (int(status[:3]), "complete", [])


def test_headers_that_come_slowly_and_twice(http: Any, run: Run) -> None:
    head = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nSet-Cookie: a\r\nx-a:2\r\nX-Empty:\r\nContent-Length: 1\r\n\r\nx"
    exchange = ask(http, run, answers(*(bytes([byte]) for byte in head), after_s=0.001))
    assert exchange.headers == {"x-a": "1, 2", "set-cookie": "a", "x-empty": "", "content-length": "1"}
    assert exchange.first_byte_s is not None
    assert exchange.first_byte_s < exchange.read_s[0]


def test_an_interim_answer_is_not_the_answer(http: Any, run: Run) -> None:
    interim = b"HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    told: list[float] = []

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(interim)
        await asyncio.sleep(0.1)
        told.append(time.perf_counter())
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    exchange = ask(http, run, script)
    assert (exchange.status, exchange.headers, exchange.body) == (200, {"content-length": "2"}, b"ok")
    assert exchange.first_byte_s is not None
    assert exchange.first_byte_s > told[0]


def test_an_interim_answer_in_the_same_read_as_the_answer(http: Any, run: Run) -> None:
    whole = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    exchange = ask(http, run, answers(whole))
    assert (exchange.status, exchange.body) == (200, b"ok")
    assert exchange.first_byte_s == exchange.read_s[0]


def test_trailers_are_no_headers_and_extensions_no_body(http: Any, run: Run) -> None:
    tail = b"2;name=value\r\nok\r\n0\r\nX-Late: 1\r\nContent-Type: x\r\n\r\n"
    exchange = ask(http, run, answers(http.STREAM, tail))
    assert (exchange.ending, exchange.body) == ("complete", b"ok")
    assert "x-late" not in exchange.headers
    assert exchange.headers["content-type"] == "text/event-stream"


def test_a_second_answer_that_nobody_asked_for_is_left_out(http: Any, run: Run) -> None:
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
    exchange = ask(http, run, answers(first + first.replace(b"200 OK", b"500 No")), reuse=True)
    assert (exchange.status, exchange.reads, exchange.ending) == (200, [b"a"], "complete")


def test_a_redirect_is_returned_and_not_followed(http: Any, run: Run) -> None:
    exchange = ask(http, run, answers(b"HTTP/1.1 307 Go\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"))
    assert (exchange.status, exchange.headers["location"]) == (307, "/there")


def test_a_line_of_a_megabyte(http: Any, run: Run) -> None:
    text = "x" * 1_000_000

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(http.STREAM + http.chunk(f"data: {text}\n\n".encode()) + http.chunk(b""))

    exchange = ask(http, run, script)
    assert [event.data for _, event in events_of(exchange.reads)] == [text]


# What a request says -------------------------------------------------------------------------------------------------


def heard(http: Any, run: Run, url: str, method: str = "post", path: str = "/chat/completions", **changed: Any) -> Any:
    """Return the first line, headers and body that a server hears; `PORT` in the URL is its port."""
    got: list[Any] = []

    async def script(peer: Any) -> None:
        got.append(await peer.request())
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def go() -> Exchange:
        given = changed.pop("own", None)
        async with http.serving(script) as server:
            client = http.client(0, base_url=url.replace("PORT", str(server.port)), **changed)
            arguments = (path,) if method == "get" else (path, BODY)
            exchange: Exchange = await getattr(client, method)(*arguments, headers=given)
            await client.close()
        return exchange

    assert run(go()).status == 200
    return got[0]


def test_what_a_post_says(http: Any, run: Run) -> None:
    line, headers, body = heard(
        http, run, "http://127.0.0.1:PORT/v1", headers={"Authorization": "Bearer k", "X-Team": "é"}
    )
    assert line == "POST /v1/chat/completions HTTP/1.1"
    assert body == BODY
    assert headers.pop("host").startswith("127.0.0.1:")
    assert headers == {
        "accept": "*/*",
        "accept-encoding": "identity",
        "authorization": "Bearer k",
        "connection": "close",
        "content-length": str(len(BODY)),
        "content-type": "application/json",
        "user-agent": "draftmark",
        "x-team": "é",
    }


def test_headers_of_one_request_win(http: Any, run: Run) -> None:
    _, headers, _ = heard(
        http, run, "http://127.0.0.1:PORT", headers={"X-A": "1"}, own={"x-a": "2", "Content-Type": "text/plain"}
    )
    assert headers["x-a"] == "2"
    assert headers["content-type"] == "text/plain"


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("http://127.0.0.1:PORT", "/metrics", "/metrics"),
        ("http://127.0.0.1:PORT/", "metrics", "/metrics"),
        ("http://127.0.0.1:PORT/v1/", "/models?limit=1", "/v1/models?limit=1"),
        ("http://127.0.0.1:PORT/a/v1?key=k", "/models?limit=1", "/a/v1/models?key=k&limit=1"),
    ],
)
def test_paths_follow_the_base(http: Any, run: Run, base: str, path: str, target: str) -> None:
    line, headers, _ = heard(http, run, base, "get", path)
    assert line == f"GET {target} HTTP/1.1"
    assert "content-length" not in headers


def test_user_information_becomes_a_header(http: Any, run: Run) -> None:
    line, headers, _ = heard(http, run, "http://me:p%40ss@127.0.0.1:PORT/v1")
    assert headers["authorization"] == "Basic " + base64.b64encode(b"me:p@ss").decode()
    assert "me" not in headers["host"]
    assert line == "POST /v1/chat/completions HTTP/1.1"


def test_no_proxy_is_taken_from_the_environment(http: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert heard(http, run, "http://localhost:PORT/v1")[2] == BODY


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://CANARY@h/v1", "http://", "http://CANARY:x@h:port/v1", "http://h/a b?CANARY"]
)
def test_a_url_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(BackendError, match="base_url") as caught:
        Client(ClientSettings(base_url=url, connect_timeout_s=1, idle_timeout_s=1, total_timeout_s=None))
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("headers", [{"X-A": "CANARY\r\nX-B: 1"}, {"X-A": "CANARY\u4e2d"}, {"X A": "CANARY"}])
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(BackendError, match=r"X.A") as caught:
        Client(
            ClientSettings(
                base_url="http://h", headers=headers, connect_timeout_s=1, idle_timeout_s=1, total_timeout_s=None
            )
        )
    assert "CANARY" not in str(caught.value)


def test_a_large_request_counts_as_sent_when_the_socket_has_taken_all_of_it(http: Any, run: Run) -> None:
    began_s: list[float] = []
    body = json.dumps(["x" * 1_000] * 16_000).encode()

    async def script(peer: Any) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.3)
        began_s.append(time.perf_counter())
        assert await peer.reader.readexactly(len(body)) == body
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def go() -> Exchange:
        async with http.serving(script) as server:
            client = http.client(server.port)
            exchange: Exchange = await client.post("/x", body)
            await client.close()
        return exchange

    exchange = run(go())
    assert exchange.ending == "complete"
    assert exchange.first_byte_s is not None
    assert began_s[0] < exchange.sent_s < exchange.first_byte_s


# Connections ---------------------------------------------------------------------------------------------------------


def test_all_requests_are_in_flight_at_once(http: Any, run: Run) -> None:
    all_here = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        if server_of[0].in_flight == 256:
            all_here.set()
        await asyncio.wait_for(all_here.wait(), 20)
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    server_of: list[Any] = []

    async def go() -> list[Exchange]:
        async with http.serving(script) as server:
            server_of.append(server)
            client = http.client(server.port)
            exchanges: list[Exchange] = await asyncio.gather(*(client.post("/x", BODY) for _ in range(256)))
            assert client.in_flight == 0
            assert client.reads == 256
            await client.close()
        return exchanges

    assert [exchange.body for exchange in run(go())] == [b"ok"] * 256
    assert server_of[0].most_in_flight == 256


def in_turn(http: Any, run: Run, script: Any, *, reuse: bool, pause_s: float = 0.0) -> tuple[list[Exchange], int]:
    """Two requests one after the other; returns what came of them and how many connections there were."""

    async def go() -> tuple[list[Exchange], int]:
        async with http.serving(script) as server:
            client = http.client(server.port, reuse=reuse)
            first = await client.post("/x", BODY)
            await asyncio.sleep(pause_s)
            second = await client.post("/x", BODY)
            await client.close()
            return [first, second], server.connections

    result: tuple[list[Exchange], int] = run(go())
    return result


async def keeps_open(peer: Any) -> None:
    while True:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def test_each_request_has_a_connection_of_its_own_unless_asked(http: Any, run: Run) -> None:
    exchanges, connections = in_turn(http, run, keeps_open, reuse=False)
    assert connections == 2
    assert [exchange.body for exchange in exchanges] == [b"ok", b"ok"]


def test_a_connection_is_used_again_where_asked(http: Any, run: Run) -> None:
    exchanges, connections = in_turn(http, run, keeps_open, reuse=True)
    assert connections == 1
    assert [exchange.body for exchange in exchanges] == [b"ok", b"ok"]
    assert exchanges[0].connect_s is not None
    assert exchanges[1].connect_s is None


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=0\r\n\r\nok",
    ],
)
def test_no_connection_is_used_again_that_the_server_gives_up(http: Any, run: Run, answer: bytes) -> None:
    async def script(peer: Any) -> None:
        while True:
            await peer.request()
            await peer.send(answer)

    exchanges, connections = in_turn(http, run, script, reuse=True)
    assert connections == 2
    assert [exchange.body for exchange in exchanges] == [b"ok", b"ok"]


def test_an_idle_connection_that_was_closed_is_seen_and_not_used(http: Any, run: Run) -> None:
    exchanges, connections = in_turn(
        http, run, answers(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), reuse=True, pause_s=0.2
    )
    assert connections == 2
    assert [exchange.ending for exchange in exchanges] == ["complete", "complete"]


def test_a_request_lost_on_a_used_connection_is_said_and_not_sent_again(http: Any, run: Run) -> None:
    requests = []

    async def script(peer: Any) -> None:
        requests.append(await peer.request())
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        requests.append(await peer.request())

    exchanges, connections = in_turn(http, run, script, reuse=True)
    assert connections == 1
    assert len(requests) == 2
    assert exchanges[1].ending == "cut"
    assert exchanges[1].problem == "the connection, which had been used before, was closed before an answer came"


def test_one_client_lives_through_several_loops(http: Any, run: Run) -> None:
    client: list[Client] = []

    async def go() -> Exchange:
        async with http.serving(keeps_open) as server:
            if not client:
                client.append(http.client(server.port, reuse=True))
            return await client[0].post("/x", BODY)

    assert run(go()).ending == "complete"
    assert run(go()).ending == "refused"  # the first server is gone
