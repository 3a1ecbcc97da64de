"""How late the client itself was: a timer on its loop, whose delay is the delay of a stamp taken at that moment."""

from __future__ import annotations

import asyncio
import math
import time
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.http.client import Client

PERIOD_S = 0.01
"""Between two looks: a hundred a second cost less than a thousandth of a core."""


@dataclass(slots=True)
class Window:
    """What one client process did while it was watched."""

    window_s: float
    cpu_s: float
    """CPU seconds of the whole process, of all that runs in it."""
    reads: int
    """Reads that brought a part of a body."""
    late_s: array[float] = field(default_factory=lambda: array("d"))
    """By how much each look came late, seconds; taken while requests were in flight."""


class Lateness:
    """Watches the loop that a client runs on, from `begin` to `end`.

    A timer knows whole milliseconds on uvloop: delays below one are not told apart.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._timer: asyncio.TimerHandle | None = None
        self._late_s = array("d")
        self._due_s = self._since_s = self._cpu_s = 0.0
        self._reads = 0

    def begin(self) -> None:
        """Begin a window on the running loop; one that was open is forgotten."""
        self._stop()
        self._late_s = array("d")
        self._reads = self._client.reads
        self._since_s, self._cpu_s = time.perf_counter(), time.process_time()
        self._arm(asyncio.get_running_loop())

    def end(self) -> Window:
        """End the window and return what was seen."""
        self._stop()
        return Window(
            window_s=time.perf_counter() - self._since_s,
            cpu_s=time.process_time() - self._cpu_s,
            reads=self._client.reads - self._reads,
            late_s=self._late_s,
        )

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_s = time.perf_counter() + PERIOD_S
        self._timer = loop.call_later(PERIOD_S, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._client.in_flight:
            self._late_s.append(max(0.0, time.perf_counter() - self._due_s))
        self._arm(loop)


def summary(windows: Sequence[Window]) -> dict[str, Any]:
    """Return one window of all processes, in plain data.

    `count` looks, `p50_s`, `p99_s` and `max_s` of their delays (nearest rank; null without a look), `cpu_s` and `reads`
    added up, `window_s` the longest, `busiest_share` the largest share of a core that a process used.
    """
    late_s = sorted(value for window in windows for value in window.late_s)

    def rank(share: float) -> float | None:
        return late_s[max(0, math.ceil(share * len(late_s)) - 1)] if late_s else None

    return {
        "processes": len(windows),
        "count": len(late_s),
        "p50_s": rank(0.5),
        "p99_s": rank(0.99),
        "max_s": rank(1.0),
        "cpu_s": sum(window.cpu_s for window in windows),
        "reads": sum(window.reads for window in windows),
        "window_s": max((window.window_s for window in windows), default=0.0),
        "busiest_share": max((window.cpu_s / window.window_s for window in windows if window.window_s), default=None),
    }
