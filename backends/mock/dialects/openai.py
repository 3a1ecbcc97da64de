"""The plain OpenAI protocol: no acceptance, no counters; the engines' dialects add theirs to it.

Shapes as in OpenAI's API reference ("Chat Completions", "Completions", "Streaming"): the finish reason comes in a chunk
of its own with an empty delta; with `stream_options.include_usage` every chunk has `usage: null` and one more chunk,
without choices, has the usage; the stream ends with `[DONE]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.mock.dialects.base import Page, State, json_page, prometheus_page
from draftmark.backends.mock.events import DONE, ID, Event
from draftmark.backends.mock.lies import LIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.asking import Ask, Endpoint
    from draftmark.backends.mock.dialects.base import Pages
    from draftmark.backends.mock.generating import Answer, Piece


class OpenaiDialect:
    """Answers and pages of a server; engines override what they say otherwise."""

    finish_apart: ClassVar[bool] = True
    """Whether the finish reason has a chunk of its own."""
    null_usage: ClassVar[bool] = True
    """Whether chunks before the usage say `usage: null` where it was asked for."""
    reasoning_key: ClassVar[str] = "reasoning_content"
    gives_token_ids: ClassVar[bool] = False

    def __init__(self, state: State) -> None:
        self.state = state

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the paths that generate."""
        return {"/v1/chat/completions": "chat", "/v1/completions": "completions"}

    def pages(self) -> Pages:
        """Return the pages about the server, by method and path."""
        return {("GET", "/v1/models"): lambda: json_page({"object": "list", "data": [self.model()]})}

    def model(self) -> dict[str, Any]:
        """Return what `/v1/models` says of the model."""
        return {
            "id": self.state.settings.model,
            "object": "model",
            "created": self.state.created,
            "owned_by": "draftmark-mock",
        }

    def families(self) -> Sequence[Metric]:
        """Return the counters and gauges of the page of metrics."""
        return []

    def on_usage(self, given: Answer) -> dict[str, Any]:
        """Return what rides beside the usage, in its chunk or in an answer that is no stream."""
        return {}

    def on_choice(self, given: Answer) -> dict[str, Any]:
        """Return what the choice with the finish reason has besides."""
        return {}

    def on_finish(self, given: Answer) -> dict[str, Any]:
        """Return what the chunk with the finish reason has besides."""
        return {}

    def before_usage(self, given: Answer, head: dict[str, Any]) -> list[dict[str, Any]]:
        """Return chunks between the finish reason and the usage."""
        return []

    def error(self, status: int, message: str, kind: str) -> dict[str, Any]:
        """Return the body of an error."""
        return {"error": {"message": message, "type": kind, "param": None, "code": status}}

    def metrics_page(self) -> Page:
        """Return the page of metrics, with the lies about it that the whole server tells."""
        families = self.families()
        for name in self.state.settings.lies:
            hook = LIES[name].families
            families = hook(families) if hook is not None else families
        return prometheus_page(families)

    def events(self, given: Answer) -> list[Event]:
        """Return the stream of an answer."""
        ask, head = given.ask, self._head(given.ask, streams=True)
        found = [Event(given.pieces[0].at_s, self._role_chunk(head, ask))] if ask.endpoint == "chat" else []
        for piece in given.pieces[:-1]:
            found.append(Event(piece.at_s, self._chunk(given, piece, head), piece.tokens, piece.steps))
        return [*found, *self.closing(given)]

    def closing(self, given: Answer) -> list[Event]:
        """Return the end of a stream, from the chunk with the last token on."""
        ask, head, end, piece = given.ask, self._head(given.ask, streams=True), given.end_s, given.pieces[-1]
        found = [Event(end, self._chunk(given, piece, head), piece.tokens, piece.steps)]
        if self.finish_apart:
            found.append(Event(end, self._finish_chunk(given, head)))
        found += [Event(end, payload) for payload in self.before_usage(given, head)]
        if ask.include_usage:
            found.append(Event(end, {**head, "choices": [], "usage": self.usage(given), **self.on_usage(given)}))
        return [*found, Event(end, DONE)]

    def whole(self, given: Answer) -> dict[str, Any]:
        """Return an answer that is no stream."""
        ask = given.ask
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": given.finish_reason}
        if ask.endpoint == "chat":
            choice["message"] = {"role": "assistant", **self._texts(given, 0, given.tokens)}
        else:
            choice["text"] = given.text()
        if self.gives_token_ids and ask.return_token_ids:
            choice["token_ids"] = given.token_ids()
        choice |= self.on_choice(given)
        head = self._head(ask, streams=False)
        return {**head, "choices": [choice], "usage": self.usage(given), **self.on_usage(given)}

    def usage(self, given: Answer, tokens: int | None = None) -> dict[str, Any]:
        """Return the usage after so many tokens, or at the end."""
        prompt, completion = given.ask.prompt_tokens, given.tokens if tokens is None else tokens
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        if given.ask.cached_tokens:
            usage["prompt_tokens_details"] = {"cached_tokens": given.ask.cached_tokens}
        if given.reasoning_tokens:
            usage["completion_tokens_details"] = {"reasoning_tokens": min(given.reasoning_tokens, completion)}
        return usage

    def _head(self, ask: Ask, *, streams: bool) -> dict[str, Any]:
        names = {"chat": "chat.completion" + ".chunk" * streams, "completions": "text_completion", "generate": ""}
        head: dict[str, Any] = {
            "id": ID,
            "object": names[ask.endpoint],
            "created": self.state.created,
            "model": ask.model,
        }
        if streams and ask.include_usage and self.null_usage:
            head["usage"] = None
        return head

    def _role_chunk(self, head: dict[str, Any], ask: Ask) -> dict[str, Any]:
        delta = {"role": "assistant", "content": ""}
        return {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]}

    def _chunk(self, given: Answer, piece: Piece, head: dict[str, Any]) -> dict[str, Any]:
        ask = given.ask
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": None}
        if ask.endpoint == "chat":
            choice["delta"] = self._texts(given, piece.first, piece.tokens)
        else:
            choice["text"] = given.text(piece.first, piece.tokens)
        if self.gives_token_ids and ask.return_token_ids:
            choice["token_ids"] = given.token_ids(piece.first, piece.tokens)
        payload: dict[str, Any] = {**head, "choices": [choice]}
        if piece is given.pieces[-1] and not self.finish_apart:
            choice |= {"finish_reason": given.finish_reason, **self.on_choice(given)}
            payload |= self.on_finish(given)
        if ask.usage_in_every_chunk:
            payload["usage"] = self.usage(given, piece.first + piece.tokens)
        return payload

    def _finish_chunk(self, given: Answer, head: dict[str, Any]) -> dict[str, Any]:
        empty: dict[str, Any] = {"delta": {}} if given.ask.endpoint == "chat" else {"text": ""}
        choice = {"index": 0, **empty, "logprobs": None, "finish_reason": given.finish_reason, **self.on_choice(given)}
        return {**head, "choices": [choice], **self.on_finish(given)}

    def _texts(self, given: Answer, first: int, tokens: int) -> dict[str, Any]:
        """Return the text of some tokens of a chat, its thinking apart."""
        thought = max(0, min(given.reasoning_tokens - first, tokens))
        texts = {self.reasoning_key: given.text(first, thought)} if thought else {}
        if tokens > thought or not thought:
            texts["content"] = given.text(first + thought, tokens - thought)
        return texts
