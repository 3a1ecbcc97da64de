"""The worker is asked for several finished requests at once, and everybody who waits gets an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from draftmark.backends.vllm.gathering import Gathering


class Worker:
    def __init__(self, fails: int = 0) -> None:
        self.asked: list[list[str]] = []
        self.fails = fails

    async def __call__(self, requests: list[str]) -> list[dict[str, Any] | None]:
        self.asked.append(requests)
        if len(self.asked) <= self.fails:
            raise RuntimeError("no worker")
        return [None if name == "unknown" else {"name": name} for name in requests]


def test_requests_that_end_together_are_asked_for_together() -> None:
    worker = Worker()

    async def run() -> list[Any]:
        gathering = Gathering(worker, wait_s=0.001)
        return await asyncio.gather(*(gathering.rows(name, at_once=False) for name in ("a", "unknown", "b")))

    assert asyncio.run(run()) == [{"name": "a"}, None, {"name": "b"}]
    assert worker.asked == [["a", "unknown", "b"]]


def test_what_ends_while_the_worker_is_asked_is_asked_for_next() -> None:
    worker = Worker()

    async def run() -> None:
        gathering = Gathering(worker, wait_s=0.001)
        await gathering.rows("a", at_once=False)
        await asyncio.gather(gathering.rows("b", at_once=False), gathering.rows("c", at_once=False))

    asyncio.run(run())
    assert worker.asked == [["a"], ["b", "c"]]


def test_alone_it_is_asked_without_waiting() -> None:
    worker = Worker()
    gathering = Gathering(worker, wait_s=3600)
    assert asyncio.run(gathering.rows("a", at_once=True)) == {"name": "a"}


def test_a_worker_that_fails_fails_those_who_wait_and_no_others() -> None:
    worker = Worker(fails=1)

    async def run() -> dict[str, Any] | None:
        gathering = Gathering(worker, wait_s=0.001)
        with pytest.raises(RuntimeError, match="no worker"):
            await gathering.rows("a", at_once=False)
        return await gathering.rows("b", at_once=False)

    assert asyncio.run(run()) == {"name": "b"}
