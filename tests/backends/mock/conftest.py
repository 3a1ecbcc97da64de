import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from draftmark.backends.mock import MockServer, MockSettings


@dataclass
class Asked:
    """What one request was answered, as an independent client has it."""

    status: int
    body: bytes
    headers: dict[str, str]
    fault: str | None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The JSON of a well-formed stream, its end mark left out."""
        lines = [line.removeprefix("data: ") for line in self.body.decode().split("\n\n") if line]
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Talk:
    """Asks one server."""

    def __init__(self, server: MockServer, session: aiohttp.ClientSession) -> None:
        self.server, self._session = server, session

    async def get(self, path: str) -> Asked:
        async with self._session.get(self.server.url + path) as answer:
            return Asked(answer.status, await answer.read(), dict(answer.headers), None)

    async def post(self, path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> Asked:
        data, fault, answer = bytearray(), None, None
        try:
            async with self._session.post(self.server.url + path, json=body, headers=headers) as answer:
                async for part in answer.content.iter_any():
                    data += part
        except (aiohttp.ClientError, TimeoutError) as gone:
            fault = type(gone).__name__
        assert answer is not None
        return Asked(answer.status, bytes(data), dict(answer.headers), fault)

    async def chat(self, tokens: int = 10, lie: str = "", **more: Any) -> Asked:
        body = {
            "messages": [{"role": "user", "content": "two words"}],
            "max_tokens": tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **more,
        }
        return await self.post("/v1/chat/completions", body, {"X-Mock-Lie": lie} if lie else None)

    async def complete(self, tokens: int = 10, **more: Any) -> Asked:
        return await self.post("/v1/completions", {"prompt": [5, 6, 7], "max_tokens": tokens, **more})

    async def counter(self, name: str, path: str = "/metrics") -> float:
        """The sum of a counter's series."""
        page = (await self.get(path)).body.decode()
        rows = [line for line in page.splitlines() if line.startswith((name + "{", name + " "))]
        assert rows, f"no {name}"
        return sum(float(row.rsplit(" ", 1)[1]) for row in rows)

    def truth(self) -> list[dict[str, Any]]:
        return self.server.truth.as_json()["requests"]


Conversation = Callable[[Talk], Awaitable[None]]


@pytest.fixture
def talk() -> Callable[..., None]:
    """Runs a conversation with a server of its own: D=3, accepted 3, 0 and 2 in turn; fast unless told otherwise.

    `patience_s`: How long the client waits for the next bytes.
    """

    def run(conversation: Conversation, *, patience_s: float = 20, **settings: Any) -> None:
        given = {"draft_length": 3, "accepted_cycle": (3, 0, 2), "ttft_s": 0.02, "step_s": 0.004, **settings}

        async def both() -> None:
            timeout = aiohttp.ClientTimeout(total=60, sock_read=patience_s)
            async with MockServer(MockSettings(**given)) as server, aiohttp.ClientSession(timeout=timeout) as session:
                await conversation(Talk(server, session))

        asyncio.run(both())

    return run
