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

    Raises `TurnFailed` where ids are to be sent and there are none, or messages and there are none.
    """
    sends_ids = settings.send == "ids" or (
        settings.send == "auto" and request.prompt_ids is not None and dialect.takes_ids
    )
    if not sends_ids and not request.messages:
        raise TurnFailed("this turn has no messages to send", kind="prompt")
    what = {"prompt": list(request.ids)} if sends_ids else {"messages": list(request.messages)}
    body = {"model": settings.model, **what, "stream": True, **_sampling(request.sampling, request.seed)}
    asked = dialect.body({**body, **settings.extra_body}, drafts=drafts)
    return Asked("/v1/completions" if sends_ids else "/v1/chat/completions", asked, chat=not sends_ids)


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
