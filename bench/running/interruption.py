"""Ctrl-C and SIGTERM as a request to stop after the turn in flight; a second one drops that turn."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)

EXIT_INTERRUPTED = 130
"""The exit code of whatever a signal ended early."""


class Interruption:
    """A context in which the signals set `requested`; `notify` is called once, from the signal handler."""

    def __init__(self, notify: Callable[[], None] = lambda: None) -> None:
        self.requested = False
        self._notify = notify
        self._before: dict[int, Any] = {}

    def request(self) -> None:
        """Ask to stop, as the first signal does."""
        if not self.requested:
            self.requested = True
            self._notify()

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.request()
