"""A process that does nothing but send requests and stamp answers; started by `draftmark.backends.http.clients`.

It gets one end of a socket pair as `--fd N`, is told over it what to send, and gives exchanges back as they happened.
It ends when nobody holds the other end any more.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import socket
from typing import Any

from draftmark.backends.base import BackendError
from draftmark.backends.http.client import Client, allow_open_files
from draftmark.backends.http.frames import HEAD, frame, lengths, pack_exchange, pack_window
from draftmark.backends.http.lateness import Lateness
from draftmark.backends.http.request import ClientSettings


class _Served:
    """The client of this process and what it was asked to do."""

    def __init__(self, writer: asyncio.StreamWriter, client: Client) -> None:
        self._writer = writer
        self._client = client
        self._lateness = Lateness(client)
        self._asked: dict[int, asyncio.Task[None]] = {}

    def take(self, said: dict[str, Any], data: bytes) -> None:
        """Begin what was asked."""
        number = said["id"]
        match said["do"]:
            case "cancel":
                if number in self._asked:
                    self._asked[number].cancel()
            case "begin":
                self._lateness.begin()
                self._writer.write(frame({"id": number}))
            case "end":
                plain, late_s = pack_window(self._lateness.end())
                self._writer.write(frame({"id": number, "window": plain}, late_s))
            case method:
                task = asyncio.get_running_loop().create_task(self._ask(number, method, said, data))
                self._asked[number] = task
                task.add_done_callback(lambda _: self._asked.pop(number, None))

    async def _ask(self, number: int, method: str, said: dict[str, Any], body: bytes) -> None:
        try:
            if method == "POST":
                exchange = await self._client.post(said["path"], body, headers=said["headers"])
            else:
                exchange = await self._client.get(said["path"], headers=said["headers"])
        except BackendError as fault:
            self._writer.write(frame({"id": number, "error": str(fault)}))
        else:
            plain, data = pack_exchange(exchange)
            self._writer.write(frame({"id": number, "exchange": plain}, data))


async def _serve(descriptor: int) -> None:
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=descriptor))
    settings, _ = await _next(reader)
    client = Client(ClientSettings(**settings))
    writer.write(frame({"id": 0}))
    served = _Served(writer, client)
    try:
        while True:
            served.take(*await _next(reader))
    except (asyncio.IncompleteReadError, ConnectionError):
        await client.close()


async def _next(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    text, data = lengths(await reader.readexactly(HEAD))
    said: dict[str, Any] = json.loads(await reader.readexactly(text))
    return said, await reader.readexactly(data)


def main() -> None:
    """Serve until the other end is closed."""
    import uvloop

    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    allow_open_files()
    gc.freeze()  # what is loaded by now stays: no stamp need wait until it has been looked through
    uvloop.run(_serve(parser.parse_args().fd))


if __name__ == "__main__":
    main()
