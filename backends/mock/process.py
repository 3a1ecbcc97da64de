"""A mock server in a process of its own, so that it and what measures it do not share a core's time."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.backends.mock.settings import MockSettings

STOP_S = 5.0
"""How long the process may take to end before it is killed, seconds."""
LISTENING = "listening on "
"""What the line begins with that says where the server is."""


@contextmanager
def mock_process(settings: MockSettings) -> Iterator[str]:
    """Run a server in a child process and give its address, `http://127.0.0.1:PORT`.

    The child ends with the context, and with its parent: its standard input is a pipe that closes then.

    Raises:
        BackendError: When the child does not begin to listen; with what it wrote.
    """
    command = [sys.executable, "-c", "from draftmark.backends.mock.process import child; child()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        try:
            process.stdin.write(repr(asdict(settings)).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline().decode(errors="replace")
            if not line.startswith(LISTENING):
                more = process.stdout.read().decode(errors="replace")
                raise BackendError(f"the mock server did not start: {(line + more).strip()[-2000:]}")
            yield line.removeprefix(LISTENING).strip()
        finally:
            process.stdin.close()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def child() -> None:
    """Run a server whose settings are the first line of standard input, until standard input ends."""
    import ast
    import threading

    import uvloop

    from draftmark.backends.mock.settings import MockSettings

    settings = MockSettings(**ast.literal_eval(sys.stdin.readline()))

    def end_with_parent() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        uvloop.run(serve(settings))
    except BackendError as fault:
        sys.stdout.write(f"{fault}\n")
        sys.stdout.flush()
        os._exit(fault.exit_code)


async def serve(settings: MockSettings, requests: int | None = None) -> None:
    """Run a server, say on standard output where it is, and return once so many requests were answered, if ever.

    Raises:
        BackendError: When its port is taken.
    """
    from draftmark.backends.mock.server import MockServer

    allow_many_connections()
    async with MockServer(settings) as server:
        sys.stdout.write(f"{LISTENING}{server.url}\n")
        sys.stdout.flush()
        while requests is None or server.truth.answered < requests:
            server.answered.clear()
            await server.answered.wait()


def allow_many_connections() -> None:
    """Let this process open as many files as it may."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
