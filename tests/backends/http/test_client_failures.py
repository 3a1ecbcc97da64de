"""What goes wrong on the way: every failure is an exchange that ends with a reason, in time, connection closed."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.http import connection
from draftmark.backends.http.sse import events_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from draftmark.backends.http.exchange import Exchange

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def ask(http: Any, run: Run, script: Any, **changed: Any) -> Exchange:
    """One POST to a script; the connection must be closed from this side, unless the server closed it."""
    closed: list[bool] = []

    async def until_closed(peer: Any) -> None:
        try:
            await script(peer)
            await asyncio.wait_for(peer.reader.read(), 20)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        closed.append(True)

    async def go() -> Exchange:
        async with http.serving(until_closed) as server:
            client = http.client(server.port, **changed)
            exchange: Exchange = await client.post("/chat/completions", b"{}")
            while len(closed) < server.connections:
                await asyncio.sleep(0.01)
            await client.close()
        return exchange

    exchange: Exchange = run(go())
    assert len(exchange.read_s) == len(exchange.reads)
    assert exchange.done_s is not None
    assert (exchange.problem is None) == (exchange.ending == "complete")
    assert "127.0.0.1" not in (exchange.problem or "")
    return exchange


def sends(*pieces: bytes, then: str = "wait") -> Any:
    async def script(peer: Any) -> None:
        await peer.request()
        for piece in pieces:
            await peer.send(piece, after_s=0.02)
        await asyncio.sleep(0.02)
        if then == "close":
            peer.writer.close()
        elif then == "reset":
            peer.reset()

    return script


EVENT = b'data: {"text": "a"}\n\n'


@pytest.mark.parametrize(("then", "how"), [("close", "closed"), ("reset", "reset")])
def test_a_stream_that_is_cut_keeps_what_came(http: Any, run: Run, then: str, how: str) -> None:
    exchange = ask(http, run, sends(http.STREAM, http.chunk(EVENT), http.chunk(b'data: {"te'), then=then))
    assert exchange.ending == "cut"
    assert exchange.problem == f"the connection was {how} before the answer had ended"
    assert exchange.reads == [EVENT, b'data: {"te']
    assert [event.unfinished for _, event in events_of(exchange.reads)] == [False, True]


def test_a_stream_without_its_last_chunk_is_cut_even_after_a_whole_event(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(http.STREAM, http.chunk(EVENT), then="close"))
    assert (exchange.ending, exchange.reads) == ("cut", [EVENT])


def test_a_body_shorter_than_its_length_is_cut(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", then="close"))
    assert (exchange.ending, exchange.body) == ("cut", b"short")


def test_a_reset_is_no_end_of_a_body_that_ends_with_the_connection(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(b"HTTP/1.1 200 OK\r\n\r\nabc", then="reset"))
    assert (exchange.ending, exchange.body) == ("cut", b"abc")


@pytest.mark.parametrize(("then", "how"), [("close", "closed"), ("reset", "reset")])
def test_no_answer_at_all(http: Any, run: Run, then: str, how: str) -> None:
    exchange = ask(http, run, sends(then=then))
    assert (exchange.ending, exchange.status, exchange.first_byte_s) == ("cut", None, None)
    assert exchange.problem == f"the connection was {how} before an answer came"


def test_an_answer_that_ends_within_its_header(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(b"HTTP/1.1 200 OK\r\nContent-", then="close"))
    assert (exchange.ending, exchange.status) == ("cut", None)
    assert exchange.problem == "the connection was closed within the header of the answer"


def test_only_an_interim_answer_is_none(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(b"HTTP/1.1 100 Continue\r\n\r\n", then="close"))
    assert (exchange.ending, exchange.status, exchange.first_byte_s) == ("cut", None, None)


def test_what_a_server_said_before_it_closed_on_a_request_is_kept(http: Any, run: Run) -> None:
    async def script(peer: Any) -> None:
        await peer.send(b"HTTP/1.1 503 Full\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfull")

    exchange = ask(http, run, script)
    assert (exchange.ending, exchange.status, exchange.body) == ("complete", 503, b"full")


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"<html>502 Bad Gateway</html>\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02F",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x01a",
    ],
)
def test_what_is_no_http(http: Any, run: Run, answer: bytes) -> None:
    exchange = ask(http, run, sends(answer))
    assert exchange.ending == "protocol"
    assert exchange.reads == []


def test_a_chunk_without_a_size(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(http.STREAM, http.chunk(EVENT) + b"zz\r\nhello\r\n"))
    assert (exchange.ending, exchange.reads) == ("protocol", [EVENT])


@pytest.mark.parametrize("place", ["headers", "one header", "trailers", "extension", "interim answers"])
def test_a_head_without_end(http: Any, run: Run, place: str) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        begun, more = {
            "headers": (b"HTTP/1.1 200 OK\r\n", b"X-%d: 1\r\n" % 7 * 1_000),
            "one header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 10_000),
            "trailers": (http.STREAM + b"0\r\n", b"X-Late: 1\r\n" * 1_000),
            "extension": (http.STREAM + b"5;x=", b"y" * 10_000),
            "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
        }[place]
        await peer.send(begun)
        for _ in range(10 * connection.LONGEST_HEAD // len(more)):
            await peer.send(more)

    exchange = ask(http, run, script)
    assert (exchange.ending, exchange.reads) == ("protocol", [])
    assert "262,144 bytes" in (exchange.problem or "")


def test_a_body_without_end(http: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LONGEST_BODY", 100_000)

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(http.STREAM)
        for _ in range(100_000):
            await peer.send(http.chunk(b"x" * 1_000))

    exchange = ask(http, run, script)
    assert exchange.ending == "cut"
    assert exchange.problem == "the answer was longer than 100,000 bytes"


def test_a_server_that_says_nothing(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(), idle_timeout_s=0.1)
    assert (exchange.ending, exchange.problem) == ("timeout", "nothing came for 0.1 seconds")
    assert exchange.done_s is not None
    assert exchange.done_s - exchange.sent_s >= 0.1


def test_a_stream_that_falls_silent(http: Any, run: Run) -> None:
    exchange = ask(http, run, sends(http.STREAM, http.chunk(EVENT)), idle_timeout_s=0.2)
    assert (exchange.ending, exchange.status, exchange.reads) == ("timeout", 200, [EVENT])
    assert exchange.done_s is not None
    assert exchange.done_s - exchange.read_s[-1] >= 0.2


def test_a_stream_that_goes_on_does_not_count_as_silent(http: Any, run: Run) -> None:
    pieces = [http.chunk(EVENT)] * 20
    exchange = ask(http, run, sends(http.STREAM, *pieces, http.chunk(b"")), idle_timeout_s=0.3)  # 0.4 s altogether
    assert (exchange.ending, exchange.reads) == ("complete", [EVENT] * 20)


def test_an_answer_that_takes_too_long_altogether(http: Any, run: Run) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(http.STREAM)
        while not peer.writer.is_closing():
            await peer.send(http.chunk(EVENT), after_s=0.02)

    exchange = ask(http, run, script, total_timeout_s=0.3)
    assert (exchange.ending, exchange.status) == ("timeout", 200)
    assert exchange.problem == "the answer had not ended 0.3 seconds after the request"
    assert exchange.done_s is not None
    assert 0.3 <= exchange.done_s - exchange.sent_s < 10  # and not the 20 s of silence
    assert set(exchange.reads) == {EVENT}


def test_a_loop_that_was_held_up_does_not_call_the_server_silent(http: Any, run: Run) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        time.sleep(0.5)
        peer.writer.write(OK)

    assert ask(http, run, script, idle_timeout_s=0.2).ending == "complete"


# No connection -------------------------------------------------------------------------------------------------------


def without_connection(http: Any, run: Run, **changed: Any) -> Exchange:
    async def go() -> Exchange:
        client = http.client(0, **changed)
        exchange: Exchange = await client.post("/x", b"{}")
        await client.close()
        return exchange

    exchange: Exchange = run(go())
    assert (exchange.status, exchange.connect_s, exchange.reads) == (None, None, [])
    assert exchange.done_s is not None
    assert exchange.sent_s <= exchange.done_s
    assert "CANARY" not in (exchange.problem or "")
    return exchange


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_nobody_listens(http: Any, run: Run) -> None:
    exchange = without_connection(http, run, base_url=f"http://me:CANARY@127.0.0.1:{free_port()}/v1?key=CANARY")
    assert (exchange.ending, exchange.problem) == ("refused", "no connection: connection refused")


@pytest.mark.parametrize("host", ["canary.invalid", "a" * 70 + ".invalid"])
def test_an_unknown_name(http: Any, run: Run, host: str) -> None:
    exchange = without_connection(http, run, base_url=f"http://{host}:80/v1")
    assert (exchange.ending, exchange.problem) == ("refused", "no connection: the host's name is not known")


def test_a_server_that_does_not_take_the_connection(http: Any, run: Run) -> None:
    with socket.socket() as listener, socket.socket() as first:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        first.connect(listener.getsockname())  # fills the queue
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        exchange = without_connection(http, run, base_url=url, connect_timeout_s=0.2)
    assert (exchange.ending, exchange.problem) == ("timeout", "no connection could be made within 0.2 seconds")


def test_tls_to_a_server_that_speaks_none(http: Any, run: Run) -> None:
    async def script(peer: Any) -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def go() -> Exchange:
        async with http.serving(script) as server:
            client = http.client(0, base_url=f"https://127.0.0.1:{server.port}")
            exchange: Exchange = await client.post("/x", b"{}")
            await client.close()
        return exchange

    exchange = run(go())
    assert exchange.ending == "refused"
    assert (exchange.problem or "").startswith("no connection: TLS failed (")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that nobody vouches for, with its key."""
    place = tmp_path_factory.mktemp("tls") / "both.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(place), "-out", str(place) + ".crt"]
    try:
        subprocess.run(made, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return place


def over_tls(http: Any, run: Run, place: Path, script: Any, **changed: Any) -> Exchange:
    async def go() -> Exchange:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(str(place) + ".crt", place)
        async with http.serving(script, context) as server:
            client = http.client(0, base_url=f"https://localhost:{server.port}/v1", **changed)
            exchange: Exchange = await client.post("/x", b"x" * 300_000)
            await client.close()
        return exchange

    exchange: Exchange = run(go())
    return exchange


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_certificate_that_nobody_vouches_for_is_refused(http: Any, run: Run, certificate: Path) -> None:
    exchange = over_tls(http, run, certificate, sends(OK))
    assert exchange.ending == "refused"
    assert exchange.problem == "no connection: the server's certificate is not valid (self-signed certificate)"


def test_a_stream_over_tls(http: Any, run: Run, certificate: Path) -> None:
    bodies: list[bytes] = []

    async def script(peer: Any) -> None:
        bodies.append((await peer.request())[2])
        for piece in (http.STREAM, http.chunk(EVENT), http.chunk(EVENT), http.chunk(b"")):
            await peer.send(piece, after_s=0.02)

    exchange = over_tls(http, run, certificate, script, verify_tls=False)
    assert (exchange.ending, exchange.reads) == ("complete", [EVENT, EVENT])
    assert exchange.sent_s < exchange.read_s[0]
    assert bodies == [b"x" * 300_000]


# Given up ------------------------------------------------------------------------------------------------------------


def test_a_cancelled_request_closes_its_connection(http: Any, run: Run) -> None:
    heard = asyncio.Event()
    closed = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        heard.set()
        await peer.reader.read()
        closed.set()

    async def go() -> None:
        async with http.serving(script) as server:
            client = http.client(server.port)
            asked = asyncio.create_task(client.post("/x", b"{}"))
            await heard.wait()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await asyncio.wait_for(closed.wait(), 20)
            assert client.in_flight == 0
            await client.close()

    run(go())


def test_closing_the_client_ends_what_is_in_flight_and_keeps_what_came(http: Any, run: Run) -> None:
    heard = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(http.STREAM + http.chunk(EVENT))
        heard.set()
        await peer.reader.read()

    async def go() -> tuple[Exchange, Exchange]:
        async with http.serving(script) as server:
            client = http.client(server.port)
            asked = asyncio.create_task(client.post("/x", b"{}"))
            await heard.wait()
            while not client.reads:
                await asyncio.sleep(0.01)
            await client.close()
            await client.close()
            return await asked, await client.post("/x", b"{}")

    first, later = run(go())
    assert (first.ending, first.problem, first.reads) == ("cut", "the client was closed", [EVENT])
    assert (later.ending, later.problem, later.connect_s) == ("cut", "the client was closed", None)


def test_a_server_that_dies_under_many_streams_leaves_none_waiting(http: Any, run: Run) -> None:
    peers: list[Any] = []

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(http.STREAM + http.chunk(EVENT))
        peers.append(peer)
        await peer.reader.read()

    async def go() -> list[Exchange]:
        async with http.serving(script) as server:
            client = http.client(server.port)
            asked = [asyncio.create_task(client.post("/x", b"{}")) for _ in range(64)]
            while client.reads < 64:
                await asyncio.sleep(0.01)
            for number, peer in enumerate(peers):
                if number % 2:
                    peer.reset()
                else:
                    peer.writer.close()
            exchanges = await asyncio.gather(*asked)
            await client.close()
        return exchanges

    exchanges = run(go())
    assert [exchange.ending for exchange in exchanges] == ["cut"] * 64
    assert all(exchange.reads == [EVENT] for exchange in exchanges)
