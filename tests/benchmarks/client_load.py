"""One load from Draftmark's client, as a program: requests that start together, read once all have ended.

Usage: client_load.py URL STREAMS TOKENS. Writes one JSON line: for every request the id that the server gave it, when
it was sent and the stamp of each chunk that says something; and the CPU seconds of streaming and of reading.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import uvloop

from draftmark.backends.http.clients import Clients
from draftmark.backends.http.request import ClientSettings
from draftmark.backends.http.sse import events_of

if TYPE_CHECKING:
    from draftmark.backends.http.exchange import Exchange


def read(exchange: Exchange) -> dict[str, Any]:
    """Return what one answer says and when, in the way of the backend: after the stream."""
    stamps: list[float] = []
    name = None
    for index, event in events_of(exchange.reads):
        if event.data == "[DONE]":
            continue
        message = json.loads(event.data)
        name = message["id"]
        if message["choices"] and message["choices"][0]["text"]:
            stamps.append(exchange.read_s[index])
    return {"id": name, "sent_s": exchange.sent_s, "chunk_s": stamps, "ending": exchange.ending}


async def main(url: str, streams: int, tokens: int) -> dict[str, Any]:
    settings = ClientSettings(base_url=f"{url}/v1", connect_timeout_s=60, idle_timeout_s=60, total_timeout_s=None)
    clients = Clients(settings)
    clients.start()
    asked = {"model": "m", "prompt": "one two three", "max_tokens": tokens, "ignore_eos": True, "stream": True}
    body = json.dumps({**asked, "stream_options": {"include_usage": True}}).encode()
    await clients.begin()
    began_s = time.process_time()
    exchanges = await asyncio.gather(*(clients.post("/completions", body) for _ in range(streams)))
    streamed_s = time.process_time()
    lateness = await clients.end()
    requests = [read(exchange) for exchange in exchanges]
    read_s = time.process_time()
    await clients.close()
    return {
        "requests": requests,
        "lateness": lateness,
        "stream_cpu_s": streamed_s - began_s,
        "read_cpu_s": read_s - streamed_s,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))  # noqa: T201
