"""`draftmark run` in a process that can be killed at any moment and leaves behind what it was doing then.

One byte of a shared file says it: `t` during a turn of the engine, `w` while a line or file is being written, `i`
otherwise. Writes go out in three parts with a pause between, so that kills can tear a line.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from pathlib import Path
from typing import Any

PAUSE_S = 0.004
LEAST_BYTES = 200
"""Shorter writes are no records."""


def run(state: str, log: str, *arguments: str) -> None:
    """Run `draftmark run ARGUMENTS`, keeping `state` up to date; leaves by SystemExit as the command does."""
    import torch

    from draftmark.backends.reference.backend import ReferenceBackend
    from draftmark.bench.cli import main

    torch.set_num_threads(1)
    sys.stdout = sys.stderr = Path(log).open("a", encoding="utf-8")  # noqa: SIM115 - closed by the end of the process
    with Path(state).open("r+b") as file:
        doing = mmap.mmap(file.fileno(), 1)
    answered, written = ReferenceBackend.generate, os.write

    async def generate(self: Any, arm: Any, request: Any) -> Any:
        doing[0:1] = b"t"
        try:
            return await answered(self, arm, request)
        finally:
            doing[0:1] = b"i"

    def write(handle: int, data: Any) -> int:
        if handle <= 2 or len(data) < LEAST_BYTES:
            return written(handle, data)
        doing[0:1] = b"w"
        try:
            taken = written(handle, data[: len(data) // 3])
            time.sleep(PAUSE_S)
            return taken
        finally:
            doing[0:1] = b"i"

    ReferenceBackend.generate = generate  # type: ignore[method-assign]
    os.write = write
    main(["run", *arguments])
