"""What tests ask of processes, and the command of the fake server."""

from __future__ import annotations

import socket
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable

FAKE = Path(__file__).parent / "fake_server.py"


def fake_command(port: int, *arguments: object) -> list[str]:
    return [sys.executable, str(FAKE), "--port", str(port), *map(str, arguments)]


def listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def noted(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def living(pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        with suppress(psutil.Error):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


def wait_until(ready: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
