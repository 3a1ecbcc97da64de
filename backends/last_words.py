"""What a process printed: its last lines, kept while they come, and the one that says best why it ended."""

from __future__ import annotations

import re
import threading
from collections import deque
from typing import TYPE_CHECKING

from draftmark.backends.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

LAST_LINES = 400
"""Lines that are remembered."""
LONGEST_LINE = 2_000
"""Bytes of a line that are remembered."""
_PROBLEM = re.compile(r"\b\w*(?:Error|Exception|Interrupt)\b: \S|out of memory|Killed|Segmentation fault|Aborted|FATAL")
_WRAPPER = re.compile(
    r"See root cause above|See stack trace|EngineDeadError|Failed core proc|exception in a background process"
)


class Output:
    """The last lines of what a process prints; a line that has not ended counts, and a carriage return ends one too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: deque[str] = deque(maxlen=LAST_LINES)
        self._begun = b""

    def add(self, data: bytes) -> None:
        """Take what was read, cut anywhere."""
        first, *others = re.split(rb"[\r\n]", data)
        with self._lock:
            self._begun = (self._begun + first)[:LONGEST_LINE]
            for other in others:
                self._whole.extend(_readable(self._begun))
                self._begun = other[:LONGEST_LINE]

    def lines(self) -> list[str]:
        """Return the last lines, oldest first."""
        with self._lock:
            return [*self._whole, *_readable(self._begun)][-LAST_LINES:]


def _readable(line: bytes) -> list[str]:
    text = line.decode("utf-8", "replace").rstrip()
    return [text] if text else []


def log_name(label: str) -> str:
    """Return an arm's label as the name of its engine's log."""
    return re.sub(r"[^\w.=-]+", "-", label).strip("-") + ".log"


def last_words(lines: Sequence[str]) -> str | None:
    """Return the line that says best why a process ended: its last error that is no mere wrapper, else its last line.

    At most 500 characters, keys redacted; null for a process that printed nothing.
    """
    for wanted in (lambda line: _PROBLEM.search(line) and not _WRAPPER.search(line), _PROBLEM.search, bool):
        found = [line for line in lines if wanted(line)]
        if found:
            line = redacted(found[-1].strip())
            return line if len(line) <= 500 else line[:497] + "..."
    return None
