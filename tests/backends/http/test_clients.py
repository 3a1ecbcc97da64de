"""Requests from processes of their own: the same answers, comparable stamps, and nothing left running."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from array import array
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.backends.base import BackendError, EngineLost
from draftmark.backends.http.clients import Clients
from draftmark.backends.http.exchange import Exchange
from draftmark.backends.http.frames import pack_exchange, unpack_exchange
from draftmark.backends.http.lateness import Lateness, Window, summary
from draftmark.backends.http.request import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

EVENT = b"data: a\n\n"


def clients(port: int, processes: int, **changed: Any) -> Clients:
    settings: dict[str, Any] = {
        "base_url": f"http://127.0.0.1:{port}/v1",
        "headers": {"X-Key": "k"},
        "connect_timeout_s": 20.0,
        "idle_timeout_s": 20.0,
        "total_timeout_s": None,
        **changed,
    }
    return Clients(ClientSettings(**settings), processes=processes)


@pytest.mark.parametrize("processes", [0, 2])
def test_answers_are_the_same_from_any_number_of_processes(http: Any, run: Run, processes: int) -> None:
    heard: list[tuple[str, str, bytes]] = []
    sent_s: list[float] = []

    async def script(peer: Any) -> None:
        line, headers, body = await peer.request()
        heard.append((line, headers["x-key"], body))
        sent_s.append(time.perf_counter())
        await peer.send(http.STREAM + http.chunk(EVENT))
        await peer.send(http.chunk(EVENT) + http.chunk(b""), after_s=0.3)

    async def go() -> tuple[list[Exchange], dict[str, Any]]:
        async with http.serving(script) as server:
            asked = clients(server.port, processes)
            asked.start()
            await asked.begin()
            exchanges = await asyncio.gather(*(asked.post(f"/{n}", b"%d" % n) for n in range(8)), asked.get("/8"))
            watched = await asked.end()
            await asked.close()
            await asked.close()
        return exchanges, watched

    began_s = time.perf_counter()
    exchanges, watched = run(go())
    assert sorted(heard) == sorted(
        [(f"POST /v1/{n} HTTP/1.1", "k", b"%d" % n) for n in range(8)] + [("GET /v1/8 HTTP/1.1", "k", b"")]
    )
    for exchange in exchanges:
        assert (exchange.ending, exchange.status, exchange.reads) == ("complete", 200, [EVENT, EVENT])
        assert exchange.first_byte_s is not None
        assert began_s < exchange.sent_s < exchange.first_byte_s <= exchange.read_s[0] < exchange.read_s[1]
    assert max(sent_s) < max(exchange.read_s[0] for exchange in exchanges)
    assert watched["processes"] == max(1, processes)
    assert watched["reads"] == 18
    assert watched["count"] > 0
    assert 0 <= watched["p50_s"] <= watched["p99_s"] <= watched["max_s"] < watched["window_s"]
    assert watched["cpu_s"] > 0


def test_requests_are_spread(http: Any, run: Run) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await asyncio.wait_for(enough.wait(), 20)
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    enough = asyncio.Event()

    async def go() -> list[int]:
        async with http.serving(script) as server:
            asked = clients(server.port, 2)
            asked.start()
            tasks = [asyncio.create_task(asked.post("/x", b"")) for _ in range(20)]
            while server.in_flight < 20:
                await asyncio.sleep(0.01)
            spread = [process.in_flight for process in asked._processes]
            enough.set()
            await asyncio.gather(*tasks)
            await asked.close()
        return spread

    assert run(go()) == [10, 10]


def test_failures_and_refusals_come_back_as_from_one_client(run: Run) -> None:
    async def go() -> Exchange:
        asked = clients(9, 1)
        asked.start()
        with pytest.raises(BackendError, match="path"):
            await asked.get("/a b")
        exchange = await asked.get("/x")
        await asked.close()
        return exchange

    assert run(go()).ending == "refused"
    with pytest.raises(BackendError, match="base_url"):
        Clients(ClientSettings(base_url="nowhere", connect_timeout_s=1, idle_timeout_s=1, total_timeout_s=1))


def test_a_cancelled_request_closes_its_connection_in_the_other_process(http: Any, run: Run) -> None:
    heard, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        heard.set()
        await peer.reader.read()
        closed.set()

    async def go() -> None:
        async with http.serving(script) as server:
            asked = clients(server.port, 1)
            asked.start()
            task = asyncio.create_task(asked.post("/x", b""))
            await heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(closed.wait(), 20)
            await asked.close()

    run(go())


def test_a_client_process_that_dies_is_said_and_leaves_nobody_waiting(http: Any, run: Run) -> None:
    heard = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        heard.set()
        await peer.reader.read()

    async def go() -> None:
        async with http.serving(script) as server:
            asked = clients(server.port, 1)
            asked.start()
            task = asyncio.create_task(asked.post("/x", b""))
            await heard.wait()
            os.kill(asked._processes[0].pid, signal.SIGKILL)
            with pytest.raises(EngineLost, match=r"was killed by signal 9, .* resume the run"):
                await task
            with pytest.raises(EngineLost, match="was killed by signal 9"):
                await asked.post("/x", b"")
            with pytest.raises(EngineLost, match="was killed by signal 9"):
                await asked.end()
            await asked.close()

    run(go())


def test_stopping_ends_the_processes_and_what_they_were_asked(http: Any, run: Run) -> None:
    heard = asyncio.Event()

    async def script(peer: Any) -> None:
        await peer.request()
        heard.set()
        await peer.reader.read()

    async def go() -> list[int]:
        async with http.serving(script) as server:
            asked = clients(server.port, 2)
            asked.start()
            pids = [process.pid for process in asked._processes]
            task = asyncio.create_task(asked.post("/x", b""))
            await heard.wait()
            await asyncio.to_thread(asked.stop)
            with pytest.raises(BackendError, match="stopped"):
                await task
            asked.stop()
        return pids

    assert not any(psutil.pid_exists(pid) for pid in run(go()))


PARENT = """
import sys, time
from draftmark.backends.http.clients import Clients
from draftmark.backends.http.request import ClientSettings
settings = ClientSettings(base_url="http://127.0.0.1:9", connect_timeout_s=1, idle_timeout_s=1, total_timeout_s=1)
asked = Clients(settings, processes=2)
asked.start()
print(*(process.pid for process in asked._processes), flush=True)
time.sleep(60)
"""


def test_client_processes_die_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    with parent.stdout:
        pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    children = [psutil.Process(pid) for pid in pids]
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive


def test_no_key_is_among_a_process_s_arguments(run: Run) -> None:
    async def go() -> list[str]:
        asked = clients(9, 1, headers={"Authorization": "Bearer CANARY"})
        asked.start()
        found = psutil.Process(asked._processes[0].pid).cmdline()
        await asked.close()
        return found

    assert "CANARY" not in " ".join(run(go()))


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.binary(max_size=20))),
    st.none() | st.floats(0, 1e9),
    st.none() | st.text(max_size=5),
)
def test_an_exchange_survives_the_way_between_processes(
    reads: list[tuple[float, bytes]], first_byte_s: float | None, problem: str | None
) -> None:
    exchange = Exchange(
        sent_s=1.5,
        status=200,
        headers={"x": "é"},
        read_s=[stamp for stamp, _ in reads],
        reads=[data for _, data in reads],
        first_byte_s=first_byte_s,
        done_s=2.5,
        ending="cut",
        problem=problem,
    )
    assert unpack_exchange(*pack_exchange(exchange)) == exchange


def test_a_summary_is_over_all_processes() -> None:
    first = Window(window_s=2.0, cpu_s=1.0, reads=10, late_s=array("d", [0.001] * 50))
    second = Window(window_s=4.0, cpu_s=3.0, reads=5, late_s=array("d", [0.002] * 48 + [0.1, 0.2]))
    assert summary([first, second]) == {
        "processes": 2,
        "count": 100,
        "p50_s": 0.001,
        "p99_s": 0.1,
        "max_s": 0.2,
        "cpu_s": 4.0,
        "reads": 15,
        "window_s": 4.0,
        "busiest_share": 0.75,
    }


def test_a_summary_of_nothing_is_null() -> None:
    found = summary([Window(window_s=0.0, cpu_s=0.0, reads=0)])
    assert (found["count"], found["p50_s"], found["p99_s"], found["max_s"]) == (0, None, None, None)
    assert found["busiest_share"] is None


def test_a_loop_that_is_held_up_is_seen_to_be_late(http: Any, run: Run) -> None:
    async def go() -> tuple[Window, Window]:
        client = http.client(9)
        lateness = Lateness(client)
        lateness.begin()
        await asyncio.sleep(0.05)
        idle = lateness.end()
        client.in_flight = 1
        lateness.begin()
        await asyncio.sleep(0.05)
        time.sleep(0.2)
        await asyncio.sleep(0.05)
        busy = lateness.end()
        await asyncio.sleep(0.05)
        assert lateness.end().late_s == busy.late_s
        return idle, busy

    idle, busy = run(go())
    assert len(idle.late_s) == 0  # with nothing in flight nothing can be late
    assert max(busy.late_s) > 0.1
    assert sum(late_s > 0.1 for late_s in busy.late_s) == 1
