"""An engine in a process of its own: started, asked by JSON lines over a socket, watched, and ended with its children.

What that process prints is read all the time, and its last words are in the error when it crashes, is killed or hangs.
The process gets the socket's number as `--fd N` and answers `{"id": 1, "call": "name", "with": {...}}` by
`{"id": 1, "result": ...}` or `{"id": 1, "error": {"kind": ..., "message": ...}}`. While it works it may send
`{"progress": n}`, any number that grows: no answer and no progress for a while means that it hangs.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError, EngineLost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAST_LINES = 400
"""Lines of output that are remembered."""
LONGEST_LINE = 2_000
_TERMINATION_S = 10.0
"""How long a process may take to end when asked to, before it is killed."""
_PROBLEM = re.compile(r"\b\w*(?:Error|Exception|Interrupt)\b: \S|out of memory|Killed|Segmentation fault|Aborted|FATAL")
_WRAPPER = re.compile(r"See root cause above|See stack trace above|EngineDeadError|Failed core proc")


class RemoteError(BackendError):
    """The process answered that it could not do what it was asked; `kind` is its word for why."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass
class _Call:
    """One question that is not answered yet."""

    future: Future[Any]
    patience_s: float
    since_s: float = field(default_factory=time.monotonic)


class EngineProcess:
    """One child process and all that it starts; everything is ended by `stop`, whatever state it is in."""

    def __init__(self, arguments: Sequence[str], *, name: str, environment: Mapping[str, str] | None = None) -> None:
        """Start the process.

        Args:
            arguments: Program and arguments; `--fd N` is added.
            name: What errors call it.
            environment: Variables besides this process's own.

        Raises:
            EngineLost: the program cannot be started at all.
        """
        self.name = name
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        self._calls: dict[int, _Call] = {}
        self._next = 0
        self._lock = threading.Lock()
        self._progress: tuple[Any, float] = (None, time.monotonic())
        self._lost: str | None = None
        self._stopping = False
        ours, theirs = socket.socketpair()
        self._socket = ours
        try:
            self._process = subprocess.Popen(
                [*arguments, "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,  # a group of its own, so that its children end with it
            )
        except OSError as fault:
            ours.close()
            raise EngineLost(f"{name} could not be started: {fault}") from fault
        finally:
            theirs.close()
        self._threads = [
            threading.Thread(target=target, daemon=True, name=f"{name} {word}")
            for target, word in ((self._read_output, "output"), (self._read_answers, "answers"))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Process id of the child, which leads a process group of its own."""
        return self._process.pid

    @property
    def output(self) -> list[str]:
        """The last lines that the process and its children printed."""
        return list(self._lines)

    def call(self, method: str, *, patience_s: float, **arguments: Any) -> Any:
        """Ask and wait; raises `RemoteError` for its refusal, `EngineLost` where it ends or makes no progress."""
        return self._submit(method, patience_s, arguments).result()

    async def ask(self, method: str, *, patience_s: float, **arguments: Any) -> Any:
        """Ask without holding the event loop; else as `call`."""
        return await asyncio.wrap_future(self._submit(method, patience_s, arguments))

    def stop(self) -> None:
        """End the process and everything it started; safe to call twice and on one that is dead."""
        self._stopping = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # it ends by itself when nobody can ask it any more
        try:
            self._process.wait(_TERMINATION_S)
        except subprocess.TimeoutExpired:
            self._signal_group(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_TERMINATION_S)
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join(_TERMINATION_S)
        self._socket.close()

    def _submit(self, method: str, patience_s: float, arguments: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            if self._lost is not None:
                raise EngineLost(self._lost)
            self._next += 1
            number = self._next
            self._calls[number] = _Call(future, patience_s)
            line = json.dumps({"id": number, "call": method, "with": arguments}).encode() + b"\n"
            with suppress(OSError):  # the thread that reads answers sees the end and tells it
                self._socket.sendall(line)
        return future

    def _read_output(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with stream:
            for line in stream:
                text = line[:LONGEST_LINE].decode("utf-8", "replace").rstrip()
                if text:
                    self._lines.append(text)

    def _read_answers(self) -> None:
        buffer = bytearray()
        while True:
            try:
                ready, _, _ = select.select([self._socket], [], [], 0.5)
                data = self._socket.recv(1 << 20) if ready else None
            except (OSError, ValueError):
                data = b""
            if data == b"":
                self._ended()
                return
            if data is None:
                if self._hangs():
                    return
                continue
            buffer += data
            *lines, rest = buffer.split(b"\n")
            buffer = bytearray(rest)
            for line in lines:
                self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if "progress" in message:
            if message["progress"] != self._progress[0]:
                self._progress = (message["progress"], time.monotonic())
            return
        with self._lock:
            call = self._calls.pop(message["id"], None)
        self._progress = (self._progress[0], time.monotonic())
        if call is None or call.future.cancelled():
            return
        error = message.get("error")
        if error is None:
            call.future.set_result(message.get("result"))
        else:
            call.future.set_exception(RemoteError(error["message"], kind=error["kind"]))

    def _hangs(self) -> bool:
        now = time.monotonic()
        with self._lock:
            late = [
                call for call in self._calls.values() if now - max(call.since_s, self._progress[1]) > call.patience_s
            ]
        if not late:
            return False
        self._signal_group(signal.SIGKILL)
        self._lose(f"{self.name} hangs: no answer and no progress for {late[0].patience_s:g} seconds")
        return True

    def _ended(self) -> None:
        if self._stopping:
            self._lose(f"{self.name} was stopped")
            return
        try:
            code: int | None = self._process.wait(_TERMINATION_S)
        except subprocess.TimeoutExpired:
            code = None
        self._signal_group(signal.SIGKILL)
        for thread in self._threads[:1]:
            thread.join(_TERMINATION_S)
        self._lose(f"{self.name} {_ending(code)}")

    def _lose(self, how: str) -> None:
        said = last_words(self.output)
        text = f"{how}; its last words: {said}" if said and not self._stopping else how
        with self._lock:
            self._lost = text
            calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            if not call.future.cancelled():
                call.future.set_exception(EngineLost(text))

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _ending(code: int | None) -> str:
    if code is None:
        return "closed its connection and does not end"
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed ({name})"
    return f"ended with exit code {code}"


def last_words(lines: Sequence[str]) -> str | None:
    """Return the line that says best why a process ended: its last error that is no mere wrapper, else its last line.

    At most 500 characters; null for a process that printed nothing.
    """
    for wanted in (lambda line: _PROBLEM.search(line) and not _WRAPPER.search(line), _PROBLEM.search, bool):
        found = [line for line in lines if wanted(line)]
        if found:
            line = found[-1].strip()
            return line if len(line) <= 500 else line[:497] + "..."
    return None
