"""A server behind the backend protocol: each turn is one request, its answer read after the stream has ended."""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError
from draftmark.backends.http.client import Client
from draftmark.backends.http.clients import Clients
from draftmark.backends.http.dialects import dialect_of
from draftmark.backends.http.dialects.base import Acceptance
from draftmark.backends.http.dialects.counting import Counting
from draftmark.backends.http.dialects.detecting import detect
from draftmark.backends.http.failures import compressed, failure_of_status, quoted, redirect
from draftmark.backends.http.observing import observation
from draftmark.backends.http.questions import are_sent_as_ids, request_of
from draftmark.backends.http.reading import read_answer
from draftmark.backends.http.request import ClientSettings
from draftmark.backends.http.shapes import decoded
from draftmark.results.engine_names import ELSEWHERE, PROCESS
from draftmark.results.roles import speculates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from draftmark.backends.base import TieEvidence, TurnRequest
    from draftmark.backends.http.answer import Answer
    from draftmark.backends.http.dialects.base import Dialect
    from draftmark.backends.http.exchange import Exchange
    from draftmark.results.records import Arm, Observation, Sampling

FEW_AT_ONCE = 8
"""Up to so many streams are read in the run's own process; for more there are client processes."""
STREAMS_PER_PROCESS = 1024
MOST_PROCESSES = max(1, (os.cpu_count() or 2) // 2)
"""The server may need the other cores, where it runs on this machine."""
SERVER_ANSWERS_S = 30.0
"""Longest wait for what a server says of itself, seconds."""
_NO_LIST = (404, 405, 501)
"""What servers answer that list no models; their answers can be measured all the same."""
STILL_S = 5.0
"""Longest wait for its counters to stand still, seconds."""


@dataclass(frozen=True)
class HttpSettings:
    """Where a server is and how it is asked."""

    base_url: str
    """With the `/v1` that OpenAI's clients want at its end, or without."""
    model: str
    """The model's name on the server."""
    dialect: str | None = None
    """Name of the engine's dialect; null to find out."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of every request, keys among them; never recorded."""
    secrets: tuple[str, ...] = ()
    """Values that must not be repeated from what the server says."""
    send: str = "auto"
    """`ids`, `messages`, or `auto` for ids where they are at hand and the server takes them."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Keys of every request besides Draftmark's own."""
    connect_timeout_s: float = 10.0
    stall_timeout_s: float = 300.0
    """Longest wait for the next byte of an answer, seconds."""
    turn_timeout_s: float | None = None
    verify_tls: bool = True
    reuse_connections: bool = False
    gpus: int | None = None
    """How many GPUs the server uses, where that is known."""
    client_processes: int | None = None
    """Null to choose by the load."""

    @property
    def root(self) -> str:
        """The URL without `/v1`, where servers tell of themselves."""
        return self.base_url.rstrip("/").removesuffix("/v1")

    def for_turns(self) -> ClientSettings:
        """Return how turns are asked."""
        return ClientSettings(
            base_url=self.base_url,
            headers=self.headers,
            connect_timeout_s=self.connect_timeout_s,
            idle_timeout_s=self.stall_timeout_s,
            total_timeout_s=self.turn_timeout_s,
            verify_tls=self.verify_tls,
            reuse=self.reuse_connections,
        )

    def for_itself(self) -> ClientSettings:
        """Return how the server is asked about itself."""
        return ClientSettings(
            base_url=self.root,
            headers=self.headers,
            connect_timeout_s=self.connect_timeout_s,
            idle_timeout_s=SERVER_ANSWERS_S,
            total_timeout_s=SERVER_ANSWERS_S,
            verify_tls=self.verify_tls,
        )


class HttpBackend:
    """One server, which speculates in the one way it was started with."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._dialect: Dialect = dialect_of(settings.dialect or "openai")
        self._counting = Counting(self._dialect)
        self._clients: Clients | None = None
        self._facts: dict[str, Any] = {}

    def start(self, arms: Sequence[Arm]) -> None:
        """Find out what the server is.

        Raises:
            BackendError: nothing answers there, or it drafts otherwise than the arm says.
        """
        (arm,) = arms
        self.stop()
        self.look()
        problem = drafting_problem(arm, self.draft_length())
        if problem is not None:
            raise BackendError(f"the server runs otherwise than asked: {problem}")

    def look(self) -> dict[str, Any]:
        """Ask the server what it is and return that, its dialect included.

        Raises:
            BackendError: nothing answers there, it wants a key, it redirects, or what answers is no such server.
        """
        self._facts, dialect = asyncio.run(self._ask_about_itself())
        self._dialect = dialect_of(dialect)
        self._counting = Counting(self._dialect)
        return {"dialect": dialect, **self._facts}

    def draft_length(self) -> int | None:
        """Return the D that the server tells of itself or counts by position; 0 for none, null where nothing tells."""
        told = self._facts.get("draft_length")
        if isinstance(told, int):
            return told
        counted = self.counters() or {}
        positions = sum(name.startswith("accepted_tokens[") for name in counted)
        return positions or None

    def resolved(self, arm: Arm) -> dict[str, Any]:
        """Return what the server says of itself."""
        del arm
        return {
            PROCESS: ELSEWHERE,
            "drafter_settings": ["method", "draft_length"],
            "dialect": self._dialect.name,
            "gpus": self._settings.gpus,
            **self._facts,
        }

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        """Answer one turn; stamps are of the socket, by the clock that all processes share."""
        drafts = speculates(arm)
        asked = request_of(request, self._settings, self._dialect, drafts=drafts)
        clients = self._clients_for(request.at_once)
        exchange = await clients.post(asked.path, json.dumps(asked.body, separators=(",", ":")).encode())
        stops = bool(request.sampling.stop)
        answer = read_answer(exchange, chat=asked.chat, secrets=self._settings.secrets, stops=stops)
        acceptance = self._acceptance(answer, request.sampling, drafts=drafts)
        return observation(exchange, answer, acceptance, request.sampling)

    def _acceptance(self, answer: Answer, sampling: Sampling, *, drafts: bool) -> Acceptance:
        """Return what an answer tells of drafting; nothing where its tokens are more than it can have."""
        if (answer.output_tokens or 0) > sampling.max_tokens:
            more = f"{answer.output_tokens:,} output tokens are more than the {sampling.max_tokens:,} asked for"
            return Acceptance(reasons=(f"no steps follow: {more}",))
        return self._dialect.acceptance(answer, drafts=drafts, resolved=self._facts)

    def thinking_problem(self, options: Mapping[str, Any], *, kept: bool, ids: bool) -> str | None:
        """Say why this server cannot be told to think, or sent earlier thinking; null where ids are sent."""
        if are_sent_as_ids(self._settings.send, takes_ids=self._dialect.takes_ids, ids=ids):
            return None
        return self._dialect.thinking_problem(options, kept=kept)

    async def client_facts(self) -> dict[str, Any] | None:
        """Return how late the clients were since this was last asked, and begin a new window."""
        if self._clients is None:
            return None
        found = await self._clients.end()
        await self._clients.begin()
        return found

    def counters(self) -> dict[str, float] | None:
        """Return the server's counters once they stand still; null where it has none."""
        if not self._counting.paths:
            return None
        return asyncio.run(self._still_counters())

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        """Return null: a server gives no logits."""
        del arm, prefix_ids, tokens
        return None

    def stop(self) -> None:
        """End the clients; the server goes on."""
        clients, self._clients = self._clients, None
        if clients is not None:
            clients.stop()

    def _clients_for(self, at_once: int) -> Clients:
        if self._clients is None:
            few = 0 if at_once <= FEW_AT_ONCE else min(MOST_PROCESSES, 1 + (at_once - 1) // STREAMS_PER_PROCESS)
            chosen = self._settings.client_processes
            self._clients = Clients(self._settings.for_turns(), processes=few if chosen is None else chosen)
            self._clients.start()
        return self._clients

    def _asking(self) -> Client:
        """Return a client for questions about the server itself."""
        return Client(self._settings.for_itself())

    async def _ask_about_itself(self) -> tuple[dict[str, Any], str]:
        client = self._asking()
        seen: dict[str, Exchange] = {}

        async def get(path: str) -> tuple[int | None, bytes]:
            if path not in seen:
                seen[path] = await client.get(path)
            return seen[path].status, seen[path].body

        try:
            models = await get("/v1/models")
            if models[0] is None:
                why = seen["/v1/models"].problem or seen["/v1/models"].ending
                raise BackendError(f"no server answers at {shown_url(self._settings.base_url)}: {why}")
            if models[0] in (401, 403):
                raise BackendError(
                    f"the server at {shown_url(self._settings.base_url)} wants a key (HTTP {models[0]}); name the "
                    "environment variable that holds it: api_key_env"
                )
            problem = odd_answer(seen["/v1/models"])
            if problem is not None:
                said = quoted(problem, self._settings.secrets)
                raise BackendError(
                    f"the server at {shown_url(self._settings.base_url)} gives no list of models: {said}"
                )
            name = self._settings.dialect or await detect(get)
            told = {path: _json(await get(path)) for path in dialect_of(name).info_paths}
        finally:
            await client.close()
        facts = dialect_of(name).resolved({path: it for path, it in told.items() if it is not None})
        return {key: self._shown(it) for key, it in facts.items()}, name

    def _shown(self, fact: Any) -> Any:
        """Return what the server says of itself without keys, as far as it is a text."""
        return quoted(fact, self._settings.secrets) if isinstance(fact, str) else fact

    async def _still_counters(self) -> dict[str, float] | None:
        """Ask until two answers agree; counters that move though nothing is in flight are of other traffic."""
        client = self._asking()
        deadline = time.monotonic() + STILL_S
        before: dict[str, float] | None = None
        try:
            while True:
                bodies = {}
                for path in self._counting.paths:
                    exchange = await client.get(path)
                    if exchange.status == 200 and exchange.ending == "complete":
                        bodies[path] = exchange.body
                now = self._counting.read(bodies)
                if now is None or now == before or time.monotonic() > deadline:
                    return now
                before = now
                await asyncio.sleep(0.1)
        finally:
            await client.close()


def drafting_problem(arm: Arm, told: int | None) -> str | None:
    """Say how the D that a server tells differs from an arm's; null where it does not, or tells nothing."""
    if told is None or told == arm.draft_length:
        return None
    if told == 0:
        return f"it does not speculate, and the plan says {arm.label}"
    return f"it drafts up to {told} tokens, and the plan says {arm.label}; set draft_length: {told}"


def shown_url(url: str) -> str:
    """Return a URL without user, password and query, in which keys may stand."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("?")[0].rpartition("@")[2]
    return f"{scheme}://{host}"


def odd_answer(models: Exchange) -> str | None:
    """Say why what `/v1/models` answered is not from such a server; null for a list, or a server that has none."""
    status, headers = models.status, models.headers
    told = redirect(status, headers) or compressed(headers)
    if models.ending != "complete":
        told = f"it does not end: {models.problem or models.ending}"
    elif told is None and (status is None or not 200 <= status < 300):
        return None if status in _NO_LIST else f"/v1/models: {failure_of_status(status or 0, models.body).message}"
    elif told is None and decoded(models.body) is None and models.body.strip() != b"null":
        kind = headers.get("content-type", "no content type")
        told = f"the answer ({kind}) is no JSON: is this the address of an OpenAI server?"
    return None if told is None else f"/v1/models: HTTP {status}: {told}"


def _json(answer: tuple[int | None, bytes]) -> Any:
    status, body = answer
    if status != 200:
        return None
    return decoded(body)
