"""A turn as a request to a server: token ids to `/v1/completions`, or messages to `/v1/chat/completions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import TurnFailed

if TYPE_CHECKING:
    from draftmark.backends.base import TurnRequest
    from draftmark.backends.http.backend import HttpSettings
    from draftmark.backends.http.dialects.base import Dialect
    from draftmark.results.records import Sampling


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    path: str
    """Below the server's root."""
    body: dict[str, Any]
    chat: bool


def request_of(request: TurnRequest, settings: HttpSettings, dialect: Dialect, *, drafts: bool) -> Asked:
    """Return the request that puts a turn.

    Raises `TurnFailed` where ids are to be sent and there are none, or messages and there are none, and where the
    answer is to have a form that the server does not take beside ids.
    """
    form = request.response_format
    takes_ids = dialect.takes_ids and (form is None or dialect.completions_take_format)
    sends_ids = are_sent_as_ids(settings.send, takes_ids=takes_ids, ids=request.prompt_ids is not None)
    if not sends_ids and not request.messages:
        raise TurnFailed("this turn has no messages to send", kind="prompt")
    if sends_ids and form is not None and not dialect.completions_take_format:
        raise TurnFailed(format_beside_ids(dialect.name), kind="prompt")
    what: dict[str, Any] = {"prompt": list(request.ids)} if sends_ids else {"messages": list(request.messages)}
    asked = {"tools": None if sends_ids or not request.tools else list(request.tools), "response_format": form}
    own = {name: value for name, value in asked.items() if value is not None}
    body = {"model": settings.model, **what, "stream": True, **_sampling(request.sampling, request.seed)}
    body = {**body, **settings.extra_body, **own}
    if not sends_ids and request.template_options:
        body = _with_template_options(body, dialect.template_options(request.template_options))
    asked_body = dialect.body(body, drafts=drafts)
    return Asked("/v1/completions" if sends_ids else "/v1/chat/completions", asked_body, chat=not sends_ids)


def format_beside_ids(dialect: str) -> str:
    """Return why a `response_format` cannot go beside token ids, and what to do."""
    return (
        f"a response_format goes beside token ids to vLLM alone (the dialect here is {dialect}); set send: messages, "
        "or leave send out so that such turns go as messages"
    )


def are_sent_as_ids(send: str, *, takes_ids: bool, ids: bool) -> bool:
    """Say whether prompts are sent as token ids; `ids` says whether there are any, `send` is the plan's word."""
    return send == "ids" or (send == "auto" and ids and takes_ids)


def _with_template_options(body: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return a body with further keys; the user's own options of the template stay beside the plan's."""
    theirs = body.get("chat_template_kwargs")
    if isinstance(theirs, dict) and "chat_template_kwargs" in options:
        options = options | {"chat_template_kwargs": theirs | options["chat_template_kwargs"]}
    return body | options


def _sampling(sampling: Sampling, seed: int) -> dict[str, Any]:
    """Return sampling settings in the API's words; those beyond OpenAI's own are sent only where they are set."""
    found: dict[str, Any] = {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature, "seed": seed}
    if sampling.top_p != 1.0:
        found["top_p"] = sampling.top_p
    if sampling.top_k:
        found["top_k"] = sampling.top_k
    if sampling.stop:
        found["stop"] = list(sampling.stop)
    if sampling.ignore_eos:
        found["ignore_eos"] = True
    return found
