"""An engine in a process of its own: started, asked by JSON lines over a socket, watched, and ended with its children.

What that process prints is read all the time, and its last words are in the error when it crashes, is killed or hangs.
The process gets the socket's number as `--fd N` and answers `{"id": 1, "call": "name", "with": {...}}` by
`{"id": 1, "result": ...}` or `{"id": 1, "error": {"kind": ..., "message": ...}}`. While it works it may send
`{"progress": n}`, any number that grows: no answer and no progress for a while means that it hangs. Whatever else it
sends means that it is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError, EngineLost
from draftmark.backends.last_words import Output, last_words
from draftmark.backends.process_family import MARK, ending_in_words, kill_family, new_mark, signal_group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EngineProcess", "RemoteError", "last_words"]

LONGEST_ANSWER = 1 << 28
"""Bytes of an answer, beyond which it is taken for one without end."""
GRACE_S = 10.0
"""How long a process may take to end when asked to, before it is killed."""
_TICK_S = 0.25
"""How often it is asked whether the process hangs."""


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
    """One child process and all that it starts; everything is ended by `stop`, whatever state it is in.

    One thread reads what it prints, one its answers, one sends it questions, so that no caller waits for a process that
    does not read.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        name: str,
        environment: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        """Start the process.

        Args:
            arguments: Program and arguments; `--fd N` is added.
            name: What errors call it.
            environment: Variables besides this process's own.
            grace_s: How long it may take to end when asked to, seconds.

        Raises:
            EngineLost: the program cannot be started at all.
        """
        self.name = name
        self._grace_s = grace_s
        self._mark = new_mark()
        self._output = Output()
        self._calls: dict[int, _Call] = {}
        self._next = 0
        self._lock = threading.Lock()
        self._questions: SimpleQueue[bytes | None] = SimpleQueue()
        self._progress: tuple[Any, float] = (None, time.monotonic())
        self._lost: str | None = None
        self._stopping = False
        self._cleared = False
        self._clearing = threading.Lock()
        self._socket, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [*arguments, "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {}), MARK: self._mark},
                start_new_session=True,  # what it starts ends with it, and Ctrl-C is this process's alone
            )
        except (OSError, ValueError) as fault:
            self._socket.close()
            raise EngineLost(f"{name} could not be started: {fault}") from fault
        finally:
            theirs.close()
        self._threads = [
            threading.Thread(target=target, daemon=True, name=f"{name} {word}")
            for target, word in (
                (self._read_output, "output"),
                (self._read_answers, "answers"),
                (self._send_questions, "questions"),
            )
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Process id of the child, which leads a session of its own."""
        return self._process.pid

    @property
    def output(self) -> list[str]:
        """The last lines that the process and its children printed, the one that has not ended included."""
        return self._output.lines()

    def call(self, method: str, *, patience_s: float, **arguments: Any) -> Any:
        """Ask and wait; raises `RemoteError` for its refusal, `EngineLost` where it ends or makes no progress."""
        return self._submit(method, patience_s, arguments).result()

    async def ask(self, method: str, *, patience_s: float, **arguments: Any) -> Any:
        """Ask without holding the event loop; else as `call`. Who stops waiting does not stop the process's work."""
        return await asyncio.wrap_future(self._submit(method, patience_s, arguments))

    def stop(self) -> None:
        """End the process and everything it started, within a few times `grace_s`; safe to call twice.

        It is asked to end by closing the connection, then by SIGTERM, and is then killed. What it was asked and has not
        answered raises `EngineLost`.
        """
        self._stopping = True
        self._hang_up()
        try:
            if not self._ends():
                signal_group(self._process.pid, signal.SIGTERM)
                self._ends()
        finally:
            self._clear()
        for thread in self._threads:
            thread.join(self._grace_s)
        self._lose(f"{self.name} was stopped")
        self._socket.close()

    def _submit(self, method: str, patience_s: float, arguments: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # it cannot be cancelled from now on, and always takes its answer
        with self._lock:
            if self._lost is not None:
                raise EngineLost(self._lost)
            self._next += 1
            line = json.dumps({"id": self._next, "call": method, "with": arguments}).encode() + b"\n"
            self._calls[self._next] = _Call(future, patience_s)
            self._questions.put(line)
        return future

    def _send_questions(self) -> None:
        while (line := self._questions.get()) is not None:
            try:
                self._socket.sendall(line)
            except OSError:  # the thread that reads answers sees the end too, and tells it
                return

    def _read_output(self) -> None:
        if self._process.stdout is not None:
            with self._process.stdout as stream:
                while data := stream.read1(1 << 16):  # type: ignore[attr-defined]  # a pipe's reader is buffered
                    self._output.add(data)

    def _read_answers(self) -> None:
        try:
            how = self._listen()
        except Exception as fault:  # noqa: BLE001 - whatever it is, nobody may wait for answers that no one reads
            how = f"{self.name} cannot be listened to any more ({type(fault).__name__}: {fault})"
            self._clear()
        self._lose(how)

    def _listen(self) -> str:
        """Take answers until there can be no more; return how the process was lost."""
        poll = select.poll()  # `select` knows no descriptors above 1,023
        poll.register(self._socket, select.POLLIN)
        pending, checked_s = bytearray(), time.monotonic()
        while True:
            if poll.poll(1000 * _TICK_S):
                try:
                    data = self._socket.recv(1 << 20)
                except OSError:
                    data = b""
                if not data:
                    return self._ended()
                first, *others = data.split(b"\n")
                pending += first
                if others:
                    lines, pending = [bytes(pending), *others[:-1]], bytearray(others[-1])
                    try:
                        for line in lines:
                            self._take(_message(line))
                    except _NoAnswer as fault:
                        self._clear()
                        return f"{self.name} sent what is no answer: {fault}"
                if len(pending) > LONGEST_ANSWER:
                    self._clear()
                    return f"{self.name} sent an answer of more than {LONGEST_ANSWER:,} bytes"
            if time.monotonic() - checked_s >= _TICK_S:
                checked_s = time.monotonic()
                if (patience_s := self._hangs()) is not None:
                    self._clear()
                    return f"{self.name} hangs: no answer and no progress for {patience_s:g} seconds"

    def _take(self, message: dict[str, Any]) -> None:
        now = time.monotonic()
        if "progress" in message:
            if message["progress"] != self._progress[0]:
                self._progress = (message["progress"], now)
            return
        with self._lock:
            call = self._calls.pop(message["id"], None)
        if call is None:
            raise _NoAnswer(f"there is no open question {message['id']}")
        self._progress = (self._progress[0], now)
        error = message.get("error")
        if error is None:
            call.future.set_result(message["result"])
        else:
            call.future.set_exception(RemoteError(error["message"], kind=error["kind"]))

    def _hangs(self) -> float | None:
        """Return how long the process was waited for in vain; null while there is patience left with every call."""
        now = time.monotonic()
        with self._lock:
            late = [
                call.patience_s
                for call in self._calls.values()
                if now - max(call.since_s, self._progress[1]) > call.patience_s
            ]
        return min(late, default=None)

    def _ended(self) -> str:
        if self._stopping:
            return f"{self.name} was stopped"
        code = self._process.returncode if self._ends() else None
        self._clear()
        how = "closed its connection and does not end" if code is None else ending_in_words(code)
        return f"{self.name} {how}"

    def _ends(self) -> bool:
        """Wait for the process to end, in vain if it takes too long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._grace_s)
        return self._process.returncode is not None

    def _clear(self) -> None:
        """Kill the process and all that it started; once, since its number may be another process's afterwards."""
        with self._clearing:
            if not self._cleared:
                kill_family(self._process.pid, self._mark, within_s=self._grace_s)
                self._ends()
                self._cleared = True
        if threading.current_thread() is not self._threads[0]:
            self._threads[0].join(self._grace_s)  # its last words

    def _hang_up(self) -> None:
        """Close the connection, which also frees the threads that wait in it."""
        self._questions.put(None)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _lose(self, how: str) -> None:
        """Answer every open and every later call by how the process was lost; the first that is told counts."""
        said = last_words(self.output)
        text = f"{how}; its last words: {said}" if said and not self._stopping else how
        with self._lock:
            self._lost = text = self._lost or text
            calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            call.future.set_exception(EngineLost(text))
        self._hang_up()


class _NoAnswer(Exception):
    """A line that is neither an answer nor progress."""


def _message(line: bytes) -> dict[str, Any]:
    """Return an answer or progress, checked; raises `_NoAnswer`."""
    shown = repr(line[:200].decode("utf-8", "replace"))
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise _NoAnswer(f"{shown} ({fault})") from fault
    if not isinstance(message, dict) or not (_is_progress(message) or _is_answer(message)):
        raise _NoAnswer(shown)
    return message


def _is_progress(message: dict[str, Any]) -> bool:
    return type(message.get("progress")) in (int, float)


def _is_answer(message: dict[str, Any]) -> bool:
    error = message.get("error")
    if "progress" in message or type(message.get("id")) is not int:
        return False
    if error is None:
        return "result" in message
    return isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("kind", "message"))
