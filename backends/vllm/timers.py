"""How the probe tells time: by the host's clock, or by events on the device that nothing waits for."""

from __future__ import annotations

import time
from typing import Any, Protocol


class Timer(Protocol):
    """Marks moments and tells the seconds between two of them."""

    def mark(self) -> Any:
        """Return a mark for now, without waiting for anything."""
        ...

    def seconds(self, first: Any, second: Any) -> float:
        """Return the seconds from one mark to a later one, both in the past."""
        ...


class HostTimer:
    """The host's monotonic clock, for engines that compute on the host."""

    def mark(self) -> float:
        """Return seconds."""
        return time.perf_counter()

    def seconds(self, first: float, second: float) -> float:
        """Return the difference."""
        return second - first


class CudaTimer:
    """Events in the current CUDA stream; never run on a GPU by Draftmark's own tests."""

    def mark(self) -> Any:
        """Record an event."""
        import torch

        event: Any = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def seconds(self, first: Any, second: Any) -> float:
        """Return the time between two events on the device; waits only if the second has not happened yet."""
        second.synchronize()
        return float(first.elapsed_time(second)) / 1000
