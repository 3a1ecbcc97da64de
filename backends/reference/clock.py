"""Clocks of the reference engine: when something happened, and how long the device worked between two points.

On the CPU both are one host clock. On a GPU work is asynchronous, so points are events in the device's own queue; they
are read only after the step has waited for its result anyway, hence timing adds no wait of its own.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(Protocol):
    """Stamps in seconds, and marks between which time can be told once the work before them has ended."""

    def now(self) -> float:
        """Return the host's monotonic time in seconds."""
        ...

    def mark(self) -> Any:
        """Mark this point in the device's work."""
        ...

    def between(self, start: Any, end: Any) -> float:
        """Return the seconds from one mark to a later one; the caller has already waited for work behind `end`."""
        ...


class HostClock:
    """One host clock for stamps and marks: right where calls return when the work is done, as on the CPU."""

    def __init__(self, read: Callable[[], float] = time.perf_counter) -> None:
        self._read = read

    def now(self) -> float:
        """Return the host's time in seconds."""
        return self._read()

    def mark(self) -> float:
        """Return the host's time in seconds."""
        return self._read()

    def between(self, start: float, end: float) -> float:
        """Return end - start, seconds."""
        return end - start


class CudaClock:
    """Host stamps, and CUDA events as marks. Not yet verified on a GPU.

    Every step begins with an empty queue (the step before waited for its tokens), so an event recorded after work of
    the host alone, such as an n-gram look-up, also tells the time of that work.
    """

    def now(self) -> float:
        """Return the host's time in seconds."""
        return time.perf_counter()

    def mark(self) -> torch.cuda.Event:
        """Record an event into the current stream."""
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def between(self, start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        """Return the device's seconds between two events that have both passed."""
        return float(start.elapsed_time(end)) / 1000.0
