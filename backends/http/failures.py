"""What a server's complaint says and which kind of failure it is; its words are kept, keys in them are not.

Kinds: `engine-error`, `context-limit`, `timeout`, `protocol`, `connection`, `overloaded` (too many requests, or not
ready), `unauthorized`, `refused` (any other fault of the request).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from draftmark.backends.redaction import redacted
from draftmark.results.records import TurnFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_QUOTE = 500
"""Characters of a server's words that are kept."""

_CONTEXT = re.compile(
    "|".join(
        (
            # vLLM, renderers/params.py: "This model's maximum context length is 128 tokens. However, ..."
            r"maximum context length",
            # SGLang, managers/tokenizer_manager.py: "The input (9 tokens) is longer than the model's context length"
            r"longer than the model's context length",
            # llama.cpp, server-context.cpp: type exceed_context_size_error, "exceeds the available context size"
            r"exceed_context_size_error",
            r"exceeds the available context size",
            # TensorRT-LLM, executor: "The sum of prompt length (9.0), ... should not exceed max_num_tokens (8)"
            r"should not exceed max_(?:num_tokens|seq_len)",
            r"exceeds? (?:the )?max_(?:model|seq)_len",
            # OpenAI's own code, which proxies pass on
            r"context_length_exceeded",
        )
    ),
    re.IGNORECASE,
)
_KINDS = {
    401: "unauthorized",
    403: "unauthorized",
    408: "timeout",
    429: "overloaded",
    503: "overloaded",
    504: "timeout",
}
_KINDS_OF_HUNDRED = {3: "protocol", 4: "refused"}
"""By the first digit: redirects are not followed."""
_CREDENTIAL = re.compile(r"\b(bearer|basic)\s+[^\s\"',;}]+", re.IGNORECASE)
_IN_URL = re.compile(r"(\w+://)[^/\s@]+@")
_IN_QUERY = re.compile(r"([?&](?:api[_-]?key|key|token|access_token)=)[^&\s\"']+", re.IGNORECASE)


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's words without keys: neither those given, nor those of the environment, nor what looks like one.

    Args:
        text: As it was sent; cut after `LONGEST_QUOTE` characters.
        secrets: Values that this client sent and that are nobody else's business.
    """
    for secret in sorted((one for one in secrets if one), key=len, reverse=True):
        text = text.replace(secret, "[redacted]")
    text = redacted(text)
    text = _CREDENTIAL.sub(r"\1 [redacted]", text)
    text = _IN_QUERY.sub(r"\1[redacted]", _IN_URL.sub(r"\1[redacted]@", text))
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."


def complaint(event: Any) -> tuple[str, int | None] | None:
    """Return the words and the HTTP status of a decoded answer that is an error; null where it is none.

    Errors are `{"error": {"message": ...}}`, `{"error": "..."}`, or `{"object": "error", "message": ...}`; the first
    two also inside a stream that began with status 200.
    """
    if not isinstance(event, dict):
        return None
    error = event.get("error")
    if error is None and event.get("object") == "error":
        error = {key: event.get(key) for key in ("message", "type", "code")}
    if error is None or error is False or error == {}:
        return None
    if not isinstance(error, dict):
        return str(error), None
    message = error.get("message") or error.get("detail") or json.dumps(error)
    kind = error.get("type")
    if isinstance(kind, str) and kind not in str(message):
        message = f"{message} ({kind})"
    code = error.get("code", error.get("status"))
    return str(message), code if isinstance(code, int) and not isinstance(code, bool) else None


def kind_of(status: int | None, words: str) -> str:
    """Return the kind of a failure from the HTTP status, null for an error without one, and the server's words."""
    if _CONTEXT.search(words):
        return "context-limit"
    if status is None:
        return "engine-error"
    return _KINDS.get(status) or _KINDS_OF_HUNDRED.get(status // 100, "engine-error")


def failure_of_status(status: int, body: bytes, secrets: Iterable[str] = ()) -> TurnFailure:
    """Return the failure of an answer whose status is not 2xx, with the server's words."""
    text = body.decode("utf-8", "replace")
    try:
        decoded = json.loads(text)
    except ValueError:
        decoded = None
    found = complaint(decoded)
    if found is None and isinstance(decoded, dict) and decoded.get("detail"):
        found = str(decoded["detail"]), None
    words = text if found is None else found[0]
    said = quoted(words, secrets)
    return TurnFailure(kind=kind_of(status, words), message=f"HTTP {status}: {said}" if said else f"HTTP {status}")
