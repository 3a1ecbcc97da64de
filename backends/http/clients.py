"""Requests from as many processes as it takes to stamp their answers in time, and how late those were.

Each process runs a loop of its own and does nothing else; what it gives back is read here, so that reading one answer
delays no stamp of another. Stamps are comparable: on Linux `time.perf_counter` reads CLOCK_MONOTONIC, which is the
same in all processes of a machine.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError, EngineLost
from draftmark.backends.http.client import Client, allow_open_files
from draftmark.backends.http.frames import HEAD, frame, lengths, unpack_exchange, unpack_window
from draftmark.backends.http.lateness import Lateness, Window, summary
from draftmark.backends.last_words import last_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.exchange import Exchange
    from draftmark.backends.http.request import ClientSettings

GRACE_S = 5.0
"""How long a client process may take to end before it is killed."""
START_S = 60.0
"""How long it may take to begin."""


class Clients:
    """One server's clients; `post` and `get` are those of `Client`, from whatever loop."""

    def __init__(self, settings: ClientSettings, *, processes: int = 0) -> None:
        """Nothing is started yet.

        Args:
            settings: Of every client.
            processes: How many; 0 for the loop that runs here.

        Raises:
            BackendError: the URL or a header cannot be used.
        """
        self._settings = settings
        self._client = Client(settings)
        self._lateness = Lateness(self._client)
        self._count = processes
        self._processes: list[ClientProcess] = []

    def start(self) -> None:
        """Start the processes and wait until they are ready.

        Raises:
            BackendError: one does not start.
        """
        allow_open_files()
        self._processes = [ClientProcess(self._settings) for _ in range(self._count)]
        try:
            for process in self._processes:
                process.wait_ready()
        except BaseException:
            self.stop()
            raise

    async def post(self, path: str, body: bytes, *, headers: Mapping[str, str] | None = None) -> Exchange:
        """Send a body from the process with the fewest requests in flight; see `Client.post`.

        Raises:
            BackendError: the path or a header cannot be sent.
            EngineLost: the client process is gone, and with it what came of all its turns.
        """
        if not self._count:
            return await self._client.post(path, body, headers=headers)
        return await self._least_busy().exchange("POST", path, body, headers)

    async def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> Exchange:
        """Ask for a path; else as `post`."""
        if not self._count:
            return await self._client.get(path, headers=headers)
        return await self._least_busy().exchange("GET", path, b"", headers)

    async def begin(self) -> None:
        """Begin to watch how late the clients are."""
        if not self._count:
            self._lateness.begin()
        await asyncio.gather(*(process.begin() for process in self._processes))

    async def end(self) -> dict[str, Any]:
        """End the window and return what `lateness.summary` makes of it, over all processes."""
        if not self._count:
            return summary([self._lateness.end()])
        return summary(await asyncio.gather(*(process.end() for process in self._processes)))

    async def close(self) -> None:
        """Close all connections and end the processes; safe to call twice."""
        await self._client.close()
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the processes, whatever they are at; safe to call twice, and needs no loop."""
        for process in self._processes:
            process.hang_up()
        for process in self._processes:
            process.stop()

    def _least_busy(self) -> ClientProcess:
        if not self._processes:
            raise BackendError("the client processes have not been started")
        return min(self._processes, key=lambda process: process.in_flight)


class ClientProcess:
    """One client process: asked over a socket pair, which also ends it when this process ends in whatever way."""

    def __init__(self, settings: ClientSettings) -> None:
        """Start the process; keys in the settings go over the socket, where no list of processes shows them."""
        self.in_flight = 0
        """Requests that it was asked and has not answered."""
        self._lock = threading.Lock()
        self._lost: tuple[type[BackendError], str] | None = None
        self._stopping = False
        self._number = 0
        self._asked: dict[int, Future[Any]] = {0: Future()}
        self._ready = self._asked[0]
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "draftmark.backends.http.client_process", "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                start_new_session=True,  # Ctrl-C is for the parent, which ends it in its own time
            )
        self._threads = [
            threading.Thread(target=target, daemon=True, name="client process") for target in (self._listen, self._tell)
        ]
        for thread in self._threads:
            thread.start()
        self._frames.put(frame(asdict(settings)))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def wait_ready(self) -> None:
        """Wait until it can be asked; raises `BackendError` where it does not come to that."""
        try:
            self._ready.result(START_S)
        except TimeoutError:
            raise BackendError(f"a client process did not start within {START_S:g} seconds") from None

    async def exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None) -> Exchange:
        """Have a request sent; a cancelled call closes its connection."""
        number, future = self._ask(
            {"do": method, "path": path, "headers": None if headers is None else dict(headers)}, body
        )
        self.in_flight += 1
        try:
            exchange: Exchange = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            with self._lock:
                self._asked.pop(number, None)
            self._frames.put(frame({"id": number, "do": "cancel"}))
            raise
        finally:
            self.in_flight -= 1
        return exchange

    async def begin(self) -> None:
        """Begin a window of lateness."""
        await asyncio.wrap_future(self._ask({"do": "begin"})[1])

    async def end(self) -> Window:
        """End it."""
        window: Window = await asyncio.wrap_future(self._ask({"do": "end"})[1])
        return window

    def hang_up(self) -> None:
        """Close the socket pair, which ends the process."""
        self._stopping = True
        self._frames.put(None)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """End the process and wait for it; safe to call twice."""
        self.hang_up()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join()
        self._socket.close()
        self._said.close()

    def _ask(self, said: dict[str, Any], data: bytes = b"") -> tuple[int, Future[Any]]:
        future: Future[Any] = Future()
        with self._lock:
            if self._lost is not None:
                kind, how = self._lost
                raise kind(how)
            self._number += 1
            number = self._number
            self._asked[number] = future
        self._frames.put(frame({**said, "id": number}, data))
        return number, future

    def _tell(self) -> None:
        while (data := self._frames.get()) is not None:
            try:
                self._socket.sendall(data)
            except OSError:  # the thread that listens sees the end too
                return

    def _listen(self) -> None:
        try:
            while True:
                text, data = lengths(self._exactly(HEAD))
                said = json.loads(self._exactly(text))
                self._take(said, self._exactly(data))
        except (EOFError, OSError):
            self._lose()

    def _exactly(self, count: int) -> bytes:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                raise EOFError
            view = view[got:]
        return bytes(data)

    def _take(self, said: dict[str, Any], data: bytes) -> None:
        with self._lock:
            future = self._asked.pop(said["id"], None)
        if future is None or not future.set_running_or_notify_cancel():
            return
        if "error" in said:
            future.set_exception(BackendError(said["error"]))
        elif "exchange" in said:
            future.set_result(unpack_exchange(said["exchange"], data))
        elif "window" in said:
            future.set_result(unpack_window(said["window"], data))
        else:
            future.set_result(None)

    def _lose(self) -> None:
        """Answer every open and every later question by the end of the process."""
        kind: type[BackendError] = BackendError
        how = "the client process was stopped"
        if not self._stopping:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
            self._said.seek(0)
            words = last_words(self._said.read().decode("utf-8", "replace").splitlines())
            kind = EngineLost
            how = (
                f"a client process, which reads the server's answers, {self._ended()}, and the turns in flight are "
                f"lost; resume the run to ask them again{f'. Its last words: {words}' if words else ''}"
            )
        with self._lock:
            self._lost = kind, how
            asked, self._asked = self._asked, {}
        for future in asked.values():
            if future.set_running_or_notify_cancel():
                future.set_exception(kind(how))

    def _ended(self) -> str:
        code = self._process.returncode
        if code is None or code >= 0:
            return "ended by itself"
        return f"was killed by signal {-code}"
