"""The entry of a plan for a server that is running already: where it is, how it is asked, and which keys it is sent.

What it shares with the entries of servers that Draftmark starts (`servers`) comes first.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, NonNegativeInt, PositiveFloat, field_validator

from draftmark.backends.base import Asks, Backend, BackendError, BackendSpec
from draftmark.backends.http.request import header_problem, url_problem
from draftmark.backends.redaction import known_key, looks_like_a_key, named_like_a_secret, secret_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from draftmark.backends.http.backend import HttpSettings
    from draftmark.results.records import Arm

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OF_DRAFTMARK = (
    *("messages", "prompt", "model", "stream", "max_tokens", "max_completion_tokens", "n_predict"),
    *("temperature", "top_p", "top_k", "seed", "stop", "ignore_eos"),
)
_OTHER_ANSWERS = {
    "n": "one answer is measured at a time, and the server counts the tokens of all",
    "best_of": "one answer is measured at a time, and the server counts the tokens of all",
    "use_beam_search": "one answer is measured at a time, and the server counts the tokens of all",
    "echo": "the prompt in the output would be measured as output",
}
_OF_THE_CLIENT = ("content-length", "transfer-encoding", "connection", "accept-encoding")
"""Headers by which the client frames its requests, and asks that nothing be compressed."""


class AskedOverHttp(BackendSpec):
    """What entries for servers have in common, whoever started these; no timeout is part of what a run is."""

    one_engine_per_arm: ClassVar[bool] = True
    most_concurrency: ClassVar[int] = 4096

    gpus: NonNegativeInt | None = None
    """How many GPUs the server uses, for numbers per GPU."""
    connect_timeout_s: PositiveFloat = Field(default=10.0, exclude=True)
    stall_timeout_s: PositiveFloat = Field(default=300.0, exclude=True)
    """Longest wait for the next byte of an answer, seconds."""
    turn_timeout_s: PositiveFloat | None = Field(default=None, exclude=True)
    """Longest wait for a whole answer, seconds."""


class OpenaiSpec(AskedOverHttp):
    """`{kind: openai, base_url: "http://127.0.0.1:8000", model: name-on-the-server}`."""

    needs_ids: ClassVar[bool] = False

    kind: Literal["openai"] = "openai"
    base_url: Annotated[str, Field(min_length=1, max_length=500)]
    """Where the server is, with or without the `/v1` at its end."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    """The model's name on the server."""
    dialect: Literal["openai", "vllm", "sglang", "trtllm", "llamacpp"] | None = None
    """Which engine it is; null to find out from what it says."""
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    """Name of the environment variable that holds the key; sent as `Authorization: Bearer`."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers; `${NAME}` stands for an environment variable, and keys must be given like that."""
    send: Literal["auto", "ids", "messages"] = "auto"
    """What prompts are sent as; `auto`: ids where the target's tokenizer is at hand and the server takes them."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Keys of every request that the server knows and Draftmark does not."""
    verify_tls: bool = True
    reuse_connections: bool = False
    """Send over connections that earlier answers left open, instead of opening one for each turn."""
    client_processes: Annotated[int, Field(ge=0, le=64)] | None = None
    """Processes that read the streams; null to choose by the load, 0 to read them in the run's own."""

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, url: str) -> str:
        problem = url_problem(url)
        if problem is not None:
            raise ValueError(problem)
        parts = urlsplit(url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                "must hold no user, password or query, since it is written into the results; put a key into a header, "
                "as ${NAME} of an environment variable"
            )
        if known_key(url):
            raise ValueError("holds what looks like a key, and is written into the results; put it into a header")
        return url

    @field_validator("headers")
    @classmethod
    def _plain_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        seen: set[str] = set()
        for name, value in headers.items():
            problem = header_problem(name, value)
            if problem is not None:
                raise ValueError(problem)
            if name.lower() in _OF_THE_CLIENT:
                raise ValueError(f"{name} is set by Draftmark's client; take it away here")
            if name.lower() in seen:
                raise ValueError(f"{name} is there twice, in small and in capital letters")
            seen.add(name.lower())
            literal = _VARIABLE.sub("", value)
            if "${" in literal:
                raise ValueError(f"{name} has ${{ without the name of a variable and a closing }}: write ${{NAME}}")
            if (named_like_a_secret(name) and literal == value) or looks_like_a_key(literal):
                raise ValueError(
                    f"{name} holds a key, which would be written into the results; put it into an environment "
                    f"variable and write {name}: ${{NAME}}"
                )
        return headers

    @field_validator("extra_body")
    @classmethod
    def _not_ours(cls, body: dict[str, Any]) -> dict[str, Any]:
        ours = [name for name in body if name in _OF_DRAFTMARK]
        if ours:
            raise ValueError(f"{ours[0]} is set by the plan's own keys; take it away here")
        other = next((name for name in body if name in _OTHER_ANSWERS), None)
        if other is not None:
            raise ValueError(f"{other} cannot be asked for: {_OTHER_ANSWERS[other]}; take it away here")
        secret = [*secret_keys(body), *_values_like_keys(body)]
        if secret:
            raise ValueError(
                f"{secret[0]} holds a key, which would be written into the results; give keys to the server in a "
                "header, as ${NAME} of an environment variable"
            )
        return body

    def request_problem(self, asks: Asks) -> str | None:
        """Say what `send` and `dialect` must be for an answer's form, and for a template of the plan's own."""
        from draftmark.backends.http.dialects import dialect_of
        from draftmark.backends.http.questions import format_beside_ids

        known = None if self.dialect is None else dialect_of(self.dialect)
        beside_ids = known is not None and known.completions_take_format
        if asks.response_format and self.send == "ids" and not beside_ids:
            return format_beside_ids(self.dialect or "not named") + ", or name the dialect: vllm"
        ids_alone = self.send == "ids" or (self.send == "auto" and known is not None and known.takes_ids)
        return template_problem(asks, ids_alone=ids_alone, beside_ids=beside_ids)

    def asked_in_messages(self) -> bool:
        """Say so where the plan does, or the dialect takes no ids."""
        from draftmark.backends.http.dialects import dialect_of

        no_ids = self.dialect is not None and not dialect_of(self.dialect).takes_ids
        return self.send == "messages" or (self.send == "auto" and no_ids)

    def served_model(self) -> str:
        """Return the model's name on the server."""
        return self.model

    def arms_problem(self, arms: Sequence[Arm]) -> str | None:
        """Say that one server has one drafter."""
        if len({arm.model_copy(update={"control": False}).model_dump_json() for arm in arms}) <= 1:
            return None
        return (
            "a server that is running already speculates in one way; keep one drafter here, or let Draftmark start a "
            "server for each ({kind: vllm-server} and its like)"
        )

    def arm_problem(self, arm: Arm) -> str | None:
        """Say which environment variable is missing."""
        del arm
        missing = [name for name in self._variables() if not os.environ.get(name)]
        return f"the environment variable {missing[0]} is not set" if missing else None

    def thinking_problem(self, options: Mapping[str, Any], *, kept: bool, ids: bool) -> str | None:
        """Say which option the plan sets twice, and what the dialect cannot send, where the plan names one."""
        from draftmark.backends.http.dialects import dialect_of
        from draftmark.backends.http.questions import are_sent_as_ids

        theirs = self.extra_body.get("chat_template_kwargs")
        twice = [name for name in options if name in self.extra_body or (isinstance(theirs, dict) and name in theirs)]
        if twice:
            return f"extra_body says {twice[0]}, and the plan says it too; take it away here"
        dialect = None if self.dialect is None else dialect_of(self.dialect)
        if dialect is None or are_sent_as_ids(self.send, takes_ids=dialect.takes_ids, ids=ids):
            return None
        return dialect.thinking_problem(options, kept=kept)

    def create(self, target: str) -> Backend:
        """Build the backend; the server is asked nothing yet."""
        from draftmark.backends.http.backend import HttpBackend

        del target
        return HttpBackend(self.settings())

    def settings(self, environment: Mapping[str, str] | None = None) -> HttpSettings:
        """Return where and how to ask, with the keys that `environment` holds (default: this process's own).

        Raises:
            BackendError: a variable is not set.
        """
        from draftmark.backends.http.backend import HttpSettings

        variables = os.environ if environment is None else environment
        values = {name: variables.get(name, "") for name in self._variables()}
        for name, value in values.items():
            if not value:
                raise BackendError(f"the environment variable {name} is not set")
        headers = {name: _VARIABLE.sub(lambda it: values[it[1]], text) for name, text in self.headers.items()}
        if self.api_key_env is not None:
            headers["Authorization"] = f"Bearer {values[self.api_key_env]}"
        return HttpSettings(
            base_url=self.base_url,
            model=self.model,
            dialect=self.dialect,
            headers=headers,
            secrets=tuple(values.values()),
            send=self.send,
            extra_body=self.extra_body,
            connect_timeout_s=self.connect_timeout_s,
            stall_timeout_s=self.stall_timeout_s,
            turn_timeout_s=self.turn_timeout_s,
            verify_tls=self.verify_tls,
            reuse_connections=self.reuse_connections,
            gpus=self.gpus,
            client_processes=self.client_processes,
        )

    def _variables(self) -> list[str]:
        named = [name for text in self.headers.values() for name in _VARIABLE.findall(text)]
        return [*([] if self.api_key_env is None else [self.api_key_env]), *named]


def template_problem(asks: Asks, *, ids_alone: bool, beside_ids: bool) -> str | None:
    """Say that a server would render messages by its own template instead of the plan's; null where it would not.

    Args:
        asks: What the plan asks.
        ids_alone: Turns without a form go as ids whatever the server says of itself.
        beside_ids: So do those with one.
    """
    if not asks.own_template or (ids_alone and (beside_ids or not asks.response_format)):
        return None
    return (
        "chat_template names a file, which renders prompts to token ids, and some turns would go to this server as "
        "messages, which it renders by a template of its own; name its dialect, set send: ids, or give the server the "
        "file and leave chat_template out"
    )


def _values_like_keys(value: object, place: str = "") -> list[str]:
    """Return the places of texts that have the form of a well-known key, in plain data of any depth."""
    if isinstance(value, dict):
        inner = [(f"{place}.{key}".removeprefix("."), one) for key, one in value.items()]
    elif isinstance(value, list):
        inner = [(f"{place}[{index}]", one) for index, one in enumerate(value)]
    else:
        return [place] if isinstance(value, str) and known_key(value) else []
    return [found for name, one in inner for found in _values_like_keys(one, name)]
