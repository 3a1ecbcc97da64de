"""One server's life, seen from here: started on a free port, waited for until healthy, watched, and ended whole.

A keeper process stands between (`draftmark.backends.servers.keeper`), so that nothing of the server is left even where
this process is killed.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import psutil

from draftmark.backends.base import BackendError, EngineLost
from draftmark.backends.last_words import LAST_LINES, Output, last_words
from draftmark.backends.process_family import ending_in_words, family, kill_family, new_mark
from draftmark.backends.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

KEEPER = (sys.executable, "-P", "-m", "draftmark.backends.servers.keeper")
HOST = "127.0.0.1"
GRACE_S = 15.0
"""How long a server may take to end when asked to, before it is killed."""
OTHER_PORTS = 2
"""How often another port is tried where somebody else took the first one meanwhile."""
LONGEST_HEALTH_ANSWER_S = 30.0
"""How long one answer about the server's health may take: SGLang generates a token for it."""
_POLL_S = 0.1
_TAIL_BYTES = 1 << 18
_LOGGED_BYTES = 1 << 22
_TAKEN = re.compile(
    r"address (?:is )?already in use|address in use|EADDRINUSE|(?:could not|couldn't|failed to|cannot) bind"
    r"|port \S+ is (?:already |not )?(?:in use|taken|occupied|available)",
    re.IGNORECASE,
)


class ServerProcess:
    """A server and all that it started; everything is ended by `stop`, whatever state it is in."""

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        *,
        name: str,
        log: Path,
        environment: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        """Start the server.

        Args:
            command: Gives program and arguments for a port.
            name: What errors call it.
            log: File that what it prints is appended to, keys left out; its folder is there.
            environment: Variables besides this process's own.
            grace_s: How long it may take to end when asked to, seconds.

        Raises:
            BackendError: the program cannot be started at all, or the log cannot be written.
        """
        self.name = name
        self.log = log
        self._command = command
        self._environment = {**os.environ, **(environment or {})}
        self._grace_s = grace_s
        self._lock = threading.RLock()
        self._taken = 0
        self._begin()

    def _begin(self) -> None:
        self.port = free_port()
        self.pid: int | None = None
        """Process id of the server, which leads a session of its own; null before it is known."""
        self._mark = new_mark()
        self._ending: str | None = None
        self._heard = b""
        command = [str(word) for word in self._command(self.port)]
        self._connection, theirs = socket.socketpair()
        keeper = [*KEEPER, "--fd", str(theirs.fileno()), "--parent", str(os.getpid())]
        keeper += ["--grace", str(self._grace_s), "--mark", self._mark, "--", *command]
        try:
            with self.log.open("ab") as log:
                self._note(" ".join(["starting", *command]))
                self._log_start = log.seek(0, os.SEEK_END)
                self._keeper = subprocess.Popen(
                    keeper,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._environment,
                    start_new_session=True,  # Ctrl-C is this process's alone
                )
        except (OSError, ValueError) as fault:
            self._connection.close()
            raise BackendError(f"{self.name} could not be started: {self._redacted(str(fault))}") from fault
        finally:
            theirs.close()
        try:
            self._wait_for_start()
        except BaseException:
            self.stop()
            raise

    def _wait_for_start(self) -> None:
        while self.pid is None:
            failed = self._listen(wait_s=1.0).get("failed")
            if failed is not None:
                raise BackendError(f"{self.name} could not be started: {self._redacted(failed)}")
            if self._ending is not None:
                raise BackendError(f"{self.name} could not be started{self.said()}")

    @property
    def base_url(self) -> str:
        """Where it answers; another one after `wait_healthy` where the port was taken meanwhile."""
        return f"http://{HOST}:{self.port}"

    def problem(self) -> str | None:
        """Say how the server ended, as in "was killed (SIGKILL)"; null while it lives."""
        with self._lock:
            while self._ending is None and self._listen(wait_s=0.0):
                pass
            return self._ending

    def problem_within(self, seconds: float) -> str | None:
        """The same, waiting so long for an end that may just be on its way."""
        end = time.monotonic() + seconds
        while (how := self.problem()) is None and time.monotonic() < end:
            time.sleep(_POLL_S / 2)
        return how

    def wait_healthy(self, path: str, timeout_s: float) -> None:
        """Wait until the server answers 200 at a path.

        Any other answer means that it is loading. Where another process took the port first, another one is tried, at
        most `OTHER_PORTS` times; the log says so.

        Raises:
            EngineLost: it ended, or does not become healthy in that time; with its last words. Nothing is left of it.
        """
        end = time.monotonic() + timeout_s
        try:
            how = self._wait_healthy(path, end)
        except BaseException:
            self.stop()
            raise
        if how is None:
            return
        ended = self.problem() is not None
        self.stop()
        if ended:
            raise EngineLost(f"{self.name} {how} before it was ready{self.said()}")
        raise EngineLost(f"{self.name} runs, but {how}, for {timeout_s:g} seconds now{self.said()}")

    def _wait_healthy(self, path: str, end: float) -> str | None:
        """Return null once it is healthy, else how it ended or what it answers instead."""
        answer = f"does not answer {path}"
        while True:
            asking = _Asking(self.port, path, min(LONGEST_HEALTH_ANSWER_S, max(end - time.monotonic(), 1.0)))
            while not asking.done(_POLL_S) and time.monotonic() < end:
                if self.problem() is not None:
                    break
            how = self.problem()
            if how is None and asking.status == http.client.OK and self._is_ours():
                return None
            if how is not None or asking.status == http.client.OK:
                if not self._try_another_port(how):
                    return how or f"another process answers at its port {self.port}"
            elif time.monotonic() > end:
                return answer
            elif asking.status is not None:
                answer = f"answers {path} by {asking.status}"
            time.sleep(_POLL_S)

    def _try_another_port(self, how: str | None) -> bool:
        """Begin again where the port was the trouble: it answers without us, or the server's last words say so."""
        if self._taken == OTHER_PORTS or (how is not None and not _TAKEN.search("\n".join(self.last_lines()))):
            return False
        self._taken += 1
        self._note(f"another process has taken port {self.port}; trying another one ({self._taken} of {OTHER_PORTS})")
        self.stop()
        self._begin()
        return True

    def _is_ours(self) -> bool:
        """Whether the process that listens at the port is of this server's family, as far as can be told."""
        try:
            open_ports = psutil.net_connections("tcp")
        except (psutil.Error, OSError):
            return True
        listening = {
            entry.pid
            for entry in open_ports
            if entry.status == psutil.CONN_LISTEN and entry.laddr and entry.laddr.port == self.port
        }
        if None in listening or not listening:
            return True
        ours = {process.pid for process in self._family()}
        return bool(ours & listening)

    def answers(self, path: str, within_s: float) -> bool:
        """Whether a server that was healthy still answers at a path, whatever it says."""
        asking = _Asking(self.port, path, within_s)
        return asking.done(within_s) and asking.status is not None

    def last_lines(self) -> list[str]:
        """The last lines that it printed since it was started, keys left out."""
        output = Output()
        output.add(self._end_of_log(_TAIL_BYTES))
        return [self._redacted(line) for line in output.lines()][-LAST_LINES:]

    def logged(self) -> str:
        """Return what it printed since it was started, the last 4 MiB of it; with keys in it, so not to be shown."""
        return self._end_of_log(_LOGGED_BYTES).decode("utf-8", "replace")

    def _end_of_log(self, most: int) -> bytes:
        """Return at most so many bytes of what it printed since it was started; none where the log cannot be read."""
        try:
            with self.log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, size - most))
                return log.read()
        except OSError:
            return b""

    def said(self) -> str:
        """Return `; its last words: ...` to end a sentence about its end, or nothing."""
        words = last_words(self.last_lines())
        return f"; its last words: {words}" if words else ""

    def stop(self) -> None:
        """End the server and all that it started, within a few times `grace_s`; safe to call twice."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        with suppress(subprocess.TimeoutExpired):
            self._keeper.wait(2 * self._grace_s + 5.0)
        if self._keeper.returncode is None:
            self._keeper.kill()
            self._keeper.wait()
        with self._lock:
            self.problem()
            if self._ending is None or self._keeper.returncode != 0:
                self._kill_without_keeper()
            self._ending = self._ending or "was stopped"
            self._connection.close()

    def _kill_without_keeper(self) -> None:
        if self.pid is not None:
            kill_family(self.pid, self._mark, within_s=self._grace_s)

    def _family(self) -> list[psutil.Process]:
        return [] if self.pid is None else family(self.pid, self._mark, below=self._keeper.pid)

    def _listen(self, wait_s: float) -> dict[str, Any]:
        """Take the keeper's next message, and what it means; empty where there is none yet, or never will be."""
        if b"\n" not in self._heard:
            poll = select.poll()
            try:
                poll.register(self._connection, select.POLLIN)
                if not poll.poll(1000 * wait_s):
                    return {}
                data = self._connection.recv(1 << 16)
            except (OSError, ValueError):
                data = b""
            if not data:
                self._keeper_ended()
                return {}
            self._heard += data
            if b"\n" not in self._heard:
                return {}
        line, _, self._heard = self._heard.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "pid" in message:
            self.pid = message["pid"]
        if "ended" in message:
            self._ending = ending_in_words(message["ended"])
        return message

    def _keeper_ended(self) -> None:
        """Say how the server ended where nobody tells: its keeper has gone, and took it along."""
        if self._ending is None:
            with suppress(subprocess.TimeoutExpired):
                self._keeper.wait(self._grace_s)
            self._kill_without_keeper()
            self._ending = "was lost with the process that kept it"

    def _note(self, text: str) -> None:
        with self.log.open("ab") as log:
            log.write(f"[draftmark] {self._redacted(text)}\n".encode("utf-8", "surrogateescape"))

    def _redacted(self, text: str) -> str:
        return redacted(redacted(text), self._environment)


class _Asking:
    """One question about the server's health, in a thread of its own, so that nobody has to wait for its answer."""

    def __init__(self, port: int, path: str, timeout_s: float) -> None:
        self.status: int | None = None
        """HTTP status; null where there was no answer."""
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._done = False
        threading.Thread(target=self._ask, args=(port, path, timeout_s), daemon=True, name="health").start()

    def done(self, wait_s: float) -> bool:
        """Whether there is an answer, or none will come; waits so long for it."""
        if not self._done:
            with suppress(Empty):
                self._ended.get(timeout=wait_s)
                self._done = True
        return self._done

    def _ask(self, port: int, path: str, timeout_s: float) -> None:
        connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", path)
            self.status = connection.getresponse().status
        connection.close()
        self._ended.put(None)


def free_port() -> int:
    """Return a loopback port that nobody listens at just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
