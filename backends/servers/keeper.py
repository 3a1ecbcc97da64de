"""The process between Draftmark and a server: starts it, writes its log, and ends it with all that it started.

It ends the server when the other end of its socket closes, when it is asked to by SIGTERM, and when the process that
started it is gone, however that one ended. Whatever the server starts is found: orphans come back to this process, also
those with a session and an environment of their own. What the server prints passes through here, so that no key
reaches the log. Were this process itself killed, the server ends with it, and `launching` ends the rest by session and
environment.

Called as a program: `--fd N --parent PID --grace S --mark WORD -- COMMAND...`, its output being the log. It tells
`{"pid": n}` or `{"failed": why}`, and `{"ended": code}` once the server itself has ended (negative: by that signal).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

from draftmark.backends.process_family import MARK, family, kill_family
from draftmark.backends.redaction import redacted

_DIES_WITH_PARENT, _ADOPTS_ORPHANS = 1, 36
"""Linux: PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl(2)."""
_TICK_S = 0.25
_CLEARING_TICK_S = 0.02
_LONGEST_LINE = 1 << 16
_LAST_GRACE_S = 2.0
"""How long those whom the server has left behind may take to end when asked to."""


class Keeper:
    """One server and its end."""

    def __init__(self, connection: socket.socket, parent: int, grace_s: float, mark: str) -> None:
        self._connection = connection
        self._parent = parent
        self._grace_s = grace_s
        self._mark = mark
        self._log = _Log()
        self._leader: int | None = None
        """Process id of the server; null once it has ended."""
        self._until: float | None = None
        """When patience with the server, once asked to end, is over."""
        self._signals, theirs = socket.socketpair()
        for end in (self._signals, theirs):
            end.setblocking(False)
        self._theirs = theirs
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _noted)  # not ignored, which the server would inherit

    def run(self, command: list[str]) -> None:
        """Start the server and stay until nothing of it is left."""
        _prctl(_ADOPTS_ORPHANS, 1)
        process = self._started(command)
        if process is None or process.stdout is None:
            return
        leader = self._leader = process.pid
        output = process.stdout.fileno()
        os.set_blocking(output, False)
        poll = select.poll()
        for number in (output, self._connection.fileno(), self._signals.fileno()):
            poll.register(number, select.POLLIN)
        while self._leader is not None and not (self._until is not None and time.monotonic() > self._until):
            for number, _ in poll.poll(1000 * _TICK_S):
                if number == output:
                    if not self._log.pump(output):
                        poll.unregister(output)
                elif number == self._signals.fileno():
                    self._take_signals()
                else:
                    poll.unregister(number)  # nothing is ever sent this way: it can only have closed
                    self._ask_to_end()
            self._log.flush_stale()
            if os.getppid() != self._parent:
                self._ask_to_end()
            self._reap()
        self._clear(leader, output)

    def _started(self, command: list[str]) -> subprocess.Popen[bytes] | None:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, MARK: self._mark},
                start_new_session=True,
                preexec_fn=partial(_prctl, _DIES_WITH_PARENT, signal.SIGKILL),  # noqa: PLW1509 - there is one thread
            )
        except (OSError, ValueError) as fault:
            self._tell(failed=str(fault))
            return None
        self._tell(pid=process.pid)
        return process

    def _take_signals(self) -> None:
        with suppress(BlockingIOError):
            if signal.SIGTERM in self._signals.recv(4096):
                self._ask_to_end()

    def _ask_to_end(self) -> None:
        if self._until is None and self._leader is not None:
            self._until = time.monotonic() + self._grace_s
            with suppress(ProcessLookupError):
                os.kill(self._leader, signal.SIGTERM)

    def _reap(self) -> None:
        """Take the exit codes of all that has ended, adopted orphans too."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._leader:
                    self._leader = None
                    self._tell(ended=os.waitstatus_to_exitcode(ended[1]))

    def _clear(self, leader: int, output: int) -> None:
        """End what is left: asked first, where the server itself has gone, then killed."""
        end = time.monotonic() + (_LAST_GRACE_S if self._leader is None else 0.0)
        asked: set[int] = set()
        while (left := family(leader, self._mark, below=os.getpid())) and time.monotonic() < end:
            for process in left:
                if process.pid not in asked:
                    asked.add(process.pid)
                    with suppress(Exception):
                        process.terminate()
            time.sleep(_CLEARING_TICK_S)
            self._log.pump(output)
            self._reap()
        if left:
            kill_family(leader, self._mark, within_s=self._grace_s, below=os.getpid())
        end = time.monotonic() + _LAST_GRACE_S
        while self._leader is not None and time.monotonic() < end:
            self._reap()
            time.sleep(_CLEARING_TICK_S)
        self._reap()  # whoever ended last, so that not even a zombie is left
        self._log.pump(output)
        self._log.close()

    def _tell(self, **message: object) -> None:
        with suppress(OSError):
            self._connection.sendall(json.dumps(message).encode() + b"\n")


class _Log:
    """Writes what was read, by whole lines, without keys."""

    def __init__(self) -> None:
        self._begun = b""
        self._since_s = time.monotonic()

    def pump(self, number: int) -> bool:
        """Take what there is to read; false once there can be no more."""
        while True:
            try:
                data = os.read(number, 1 << 16)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            self._begun += data
            self._since_s = time.monotonic()
            end = max(self._begun.rfind(b"\n"), self._begun.rfind(b"\r")) + 1
            self._write(len(self._begun) if len(self._begun) - end > _LONGEST_LINE else end)

    def flush_stale(self) -> None:
        """Write a line that has begun and does not go on: it may be the last one for long."""
        if self._begun and time.monotonic() - self._since_s > 4 * _TICK_S:
            self._write(len(self._begun))

    def close(self) -> None:
        """Write what is left."""
        self._write(len(self._begun))

    def _write(self, count: int) -> None:
        if not count:
            return
        text = self._begun[:count].decode("utf-8", "surrogateescape")
        self._begun = self._begun[count:]
        data = redacted(text).encode("utf-8", "surrogateescape")
        with suppress(OSError):  # a full disk must not end the server
            while data:
                data = data[os.write(sys.stdout.fileno(), data) :]


def _noted(number: int, frame: object) -> None:
    """Let a signal wake the loop, which reads its number there."""
    del number, frame


def _prctl(option: int, value: int) -> None:
    with suppress(OSError, AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(option, value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--grace", type=float, required=True)
    parser.add_argument("--mark", required=True)
    start = sys.argv.index("--")
    given = parser.parse_args(sys.argv[1:start])
    Keeper(socket.socket(fileno=given.fd), given.parent, given.grace, given.mark).run(sys.argv[start + 1 :])
