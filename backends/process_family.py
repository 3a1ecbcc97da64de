"""Everything that one process started, found and killed: also what left its process group to outlive it.

The process leads a session of its own, and carries a mark in its environment that its children inherit. What it starts
stays in the session unless it asks for another one, and keeps the mark unless it writes over it; a process that does
both is found only below an ancestor that its orphans come back to.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from contextlib import suppress

import psutil

MARK = "DRAFTMARK_ENGINE"
"""The environment variable."""
_POLL_S = 0.02


def new_mark() -> str:
    """Return a value of the variable that no other process has."""
    return uuid.uuid4().hex


def family(leader: int, mark: str, *, below: int | None = None) -> list[psutil.Process]:
    """Return the living processes of a leader's session, with its mark or below an ancestor of it, zombies left out."""
    descendants: set[int] = set()
    if below is not None:
        with suppress(psutil.Error):
            descendants = {child.pid for child in psutil.Process(below).children(recursive=True)}
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            belongs = (
                process.pid in descendants or os.getsid(process.pid) == leader or process.environ().get(MARK) == mark
            )
            if belongs and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def ending_in_words(code: int) -> str:
    """Return how a process ended, for "NAME ...": its exit code, or the signal of a negative one."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed ({signal.Signals(-code).name})"
    except ValueError:
        return f"was killed (signal {-code})"


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to the process group of a leader; nothing happens where there is none any more."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def kill_family(leader: int, mark: str, *, within_s: float, below: int | None = None) -> None:
    """Kill all of them, also those that are born meanwhile; give up after so many seconds."""
    end = time.monotonic() + within_s
    signal_group(leader, signal.SIGKILL)
    while (left := family(leader, mark, below=below)) and time.monotonic() < end:
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(_POLL_S)
