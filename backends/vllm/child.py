"""The process that holds one vLLM engine: JSON lines in and out.

Started by `draftmark.backends.vllm.backend` as a program with `--fd N`; the protocol is that of
`draftmark.backends.engine_process`. It ends when nobody holds the other end of its socket any more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import TurnFailed
from draftmark.backends.vllm.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LONGEST_LINE = 1 << 28


class Server:
    """Reads questions from the socket, answers each as soon as it can."""

    def __init__(self, engine: Engine, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._engine = engine
        self._reader = reader
        self._writer = writer
        self._methods: dict[str, Callable[..., Awaitable[Any]]] = {
            "start": engine.start,
            "generate": engine.generate,
            "counters": engine.counters,
            "tie_evidence": engine.tie_evidence,
        }

    async def run(self) -> None:
        """Serve until the other end closes."""
        beat = asyncio.create_task(self._beat())
        tasks: set[asyncio.Task[None]] = set()
        while line := await self._reader.readline():
            task = asyncio.create_task(self._answer(json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        beat.cancel()

    async def _answer(self, question: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"id": question["id"]}
        try:
            answer["result"] = await self._methods[question["call"]](**question["with"])
        except TurnFailed as fault:
            answer["error"] = {"kind": fault.kind, "message": str(fault)}
        except Exception as fault:  # noqa: BLE001 - whatever an engine does is told to the parent in words
            if type(fault).__name__ == "EngineDeadError":
                os._exit(70)  # the parent reads the last words of what died
            answer["error"] = {"kind": "fault", "message": f"{type(fault).__name__}: {fault}"}
        self._send(answer)

    def _send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            if self._engine.in_flight:
                self._send({"progress": self._engine.progress})


async def _main(number: int) -> None:
    connection = socket.socket(fileno=number)
    connection.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=connection, limit=LONGEST_LINE)
    engine = Engine()
    try:
        await Server(engine, reader, writer).run()
    finally:
        engine.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    import uvloop

    uvloop.run(_main(parser.parse_args().fd))
