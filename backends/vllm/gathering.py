"""Asking the worker for the steps of finished requests, of several at once where several are in flight.

Each question stops the engine between two steps, so under load they are gathered for a quarter of a second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

WAIT_S = 0.25

Rows = dict[str, Any]


class Gathering:
    """`ask` takes request names and returns what the worker saw of each, in order; null where it saw nothing."""

    def __init__(self, ask: Callable[[list[str]], Awaitable[list[Rows | None]]], wait_s: float = WAIT_S) -> None:
        self._ask = ask
        self._wait_s = wait_s
        self._waiting: dict[str, asyncio.Future[Rows | None]] = {}
        self._round: asyncio.Task[None] | None = None

    async def rows(self, request: str, *, at_once: bool) -> Rows | None:
        """Return what the worker saw of a finished request; at once where nothing else is in flight."""
        if at_once:
            (found,) = await self._ask([request])
            return found
        future: asyncio.Future[Rows | None] = asyncio.get_running_loop().create_future()
        self._waiting[request] = future
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._gather())
        return await future

    async def _gather(self) -> None:
        while self._waiting:
            await asyncio.sleep(self._wait_s)
            asked, self._waiting = self._waiting, {}
            try:
                found = await self._ask(list(asked))
            except Exception as fault:  # noqa: BLE001 - whoever waits is told
                for future in asked.values():
                    if not future.done():
                        future.set_exception(fault)
                continue
            for future, rows in zip(asked.values(), found, strict=True):
                if not future.done():
                    future.set_result(rows)
