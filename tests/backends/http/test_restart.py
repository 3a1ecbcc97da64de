"""Many streams, and a server that is killed and started again midway: each turn is ok or failed with a reason."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from draftmark.backends.base import TurnRequest
from draftmark.backends.http.backend import HttpBackend, HttpSettings
from draftmark.results.records import Arm, Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.records import Observation

NONE = Arm(drafter="none", draft_length=0)
TOKENS = 40


class Server:
    """A mock server on one port, which can be killed and started again."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "draftmark", "mock", "--port", str(port)]
        self._command += ["--ttft", "0.1", "--step", "0.025"]
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"listening on ")
        return process

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def start_again(self) -> None:
        self.process = self._started()


@pytest.fixture
def server(unused_port: int) -> Iterator[Server]:
    started = Server(unused_port)
    yield started
    started.kill()


@pytest.mark.parametrize(
    ("streams", "seconds"),
    [(48, 6.0), pytest.param(512, 120.0, marks=[pytest.mark.slow, pytest.mark.timeout(400)])],
)
def test_every_turn_ends_and_is_accounted_for(server: Server, streams: int, seconds: float) -> None:
    backend = HttpBackend(HttpSettings(base_url=server.url, model="m", dialect="vllm", stall_timeout_s=20))
    ends_s = time.monotonic() + seconds
    seen: list[Observation] = []
    asked = 0
    request = TurnRequest((1, 2, 3), Sampling(max_tokens=TOKENS, ignore_eos=True), 1, at_once=streams)

    async def hold() -> None:
        nonlocal asked
        while time.monotonic() < ends_s:
            asked += 1
            found = await backend.generate(NONE, request)
            seen.append(found)
            if found.status == "failed":
                await asyncio.sleep(0.2)  # so that a server that is away is not asked thousands of times

    async def break_it() -> None:
        await asyncio.sleep(seconds / 2)
        server.kill()
        await asyncio.sleep(0.5)
        await asyncio.to_thread(server.start_again)

    async def everything() -> None:
        await asyncio.gather(break_it(), *(hold() for _ in range(streams)))

    try:
        asyncio.run(asyncio.wait_for(everything(), seconds + 60))
    finally:
        backend.stop()
    assert len(seen) == asked
    good = [one for one in seen if one.status == "ok"]
    failed = [one for one in seen if one.status == "failed"]
    assert {one.output_tokens for one in good} == {TOKENS}
    assert {sum(count or 0 for count in one.chunk_tokens) for one in good} == {TOKENS}
    kinds = Counter(one.failure.kind for one in failed if one.failure is not None)
    assert set(kinds) == {"connection"}
    assert len(failed) == sum(kinds.values()) >= streams  # all that were in flight when it died
    assert all(one.failure is not None and one.failure.message for one in failed)
    last_failure_s = max(one.done_s or 0 for one in failed)
    assert any((one.sent_s or 0) > last_failure_s for one in good)  # and it went on
