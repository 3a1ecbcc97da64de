"""Writes each stream's bytes when they are due: one timer for all streams, one write to the socket for each moment.

The bytes go to the socket by a call of the operating system where nothing of the connection waits before them, so that
the moment that is noted is the moment of that call, not of a buffer.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import os
import time
from typing import TYPE_CHECKING

from draftmark.backends.mock.events import ID

if TYPE_CHECKING:
    from draftmark.backends.mock.script import Script
    from draftmark.backends.mock.truth import Turn

_ID = ID.encode()
TICK_S = 0.001
"""The loop's timers are no finer, seconds; a wait is rounded up, since one rounded down would spin until it is due."""
MOST_AT_ONCE = 128
"""Writes before other work of the loop gets its turn."""


class Stream:
    """One answer on its way."""

    __slots__ = ("_fd", "_id", "_index", "_transport", "_turn", "_writes", "ended", "lost", "steps")

    def __init__(self, script: Script, turn: Turn, transport: asyncio.Transport) -> None:
        self._writes = script.writes
        self._index = 0
        self._turn = turn
        self._id = turn.id.encode()
        self._transport = transport
        self._fd = transport.get_extra_info("socket").fileno()
        self.steps = 0
        """Steps whose tokens were written."""
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """True once all was written, False where the connection was gone before."""
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the connection is gone."""

    @property
    def due_s(self) -> float:
        """When the next write is due, `time.perf_counter()` seconds."""
        return self._turn.received_s + self._writes[self._index].at_s

    def write(self) -> bool:
        """Write what is due next; return whether more is to come."""
        if self.ended.done():
            return False
        write = self._writes[self._index]
        due_s = self.due_s
        if not self._send(write.data.replace(_ID, self._id)):
            self.lose()
            return False
        if write.tokens:
            turn = self._turn
            turn.written_s.append(time.perf_counter())
            turn.scheduled_s.append(due_s)
            turn.tokens.append(write.tokens)
        self.steps = max(self.steps, write.steps)
        self._index += 1
        if self._index < len(self._writes):
            return True
        self.ended.set_result(True)
        return False

    def lose(self) -> None:
        """End the stream: nobody reads it any more."""
        if not self.ended.done():
            self.ended.set_result(False)
        if not self.lost.done():
            self.lost.set_result(None)

    def _send(self, data: bytes) -> bool:
        transport = self._transport
        if transport.is_closing():
            return False
        if transport.get_write_buffer_size() == 0:
            try:
                sent = os.write(self._fd, data)
            except BlockingIOError:
                sent = 0
            except OSError:
                return False
            data = data[sent:]
        if data:
            transport.write(data)
        return True


class Conductor:
    """The timer of all streams of a server."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: list[tuple[float, int, Stream]] = []
        self._number = 0
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._wakes_s = float("inf")

    def start(self, stream: Stream) -> None:
        """Begin a stream."""
        self._number += 1
        heapq.heappush(self._due, (stream.due_s, self._number, stream))
        if self._due[0][0] < self._wakes_s:
            self._arm()

    def close(self) -> None:
        """End every stream."""
        for _, _, stream in self._due:
            stream.lose()
        self._due.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self._timer, self._wakes_s = None, float("inf")
        due, left = self._due, MOST_AT_ONCE
        while due and left and due[0][0] <= time.perf_counter():
            _, number, stream = due[0]
            if stream.write():
                heapq.heapreplace(due, (stream.due_s, number, stream))
            else:
                heapq.heappop(due)
            left -= 1
        if due:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_s = self._due[0][0]
        wait_s = self._wakes_s - time.perf_counter()
        if wait_s <= 0:
            self._timer = self._loop.call_soon(self._tick)
        else:
            self._timer = self._loop.call_later(math.ceil(wait_s / TICK_S) * TICK_S, self._tick)
