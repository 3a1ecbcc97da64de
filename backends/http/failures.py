"""What a server's complaint says and which kind of failure it is; its words are kept, keys in them are not.

Kinds: `engine-error`, `context-limit`, `timeout`, `protocol`, `connection`, `overloaded` (too many requests, or not
ready), `unauthorized`, `refused` (any other fault of the request).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from draftmark.backends.http.shapes import decoded, shown
from draftmark.backends.redaction import plain_text, redacted, without
from draftmark.results.records import TurnFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
_IN_URL = re.compile(r"(://)[^/\s@]+@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_IN_QUERY = re.compile(r"([?&](?:api[_-]?key|key|token|access_token)=)[^&\s\"']+", re.IGNORECASE)


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a server's words without keys: neither those given, nor those of the environment, nor what looks like one.

    Args:
        text: As it was sent; cut after `LONGEST_QUOTE` characters, without control characters.
        secrets: Values that this client sent and that are nobody else's business.
    """
    text = redacted(without(text, secrets))
    text = _CREDENTIAL.sub(r"\1 [redacted]", text)
    text = _IN_QUERY.sub(r"\1[redacted]", _IN_URL.sub(r"\1[redacted]@", text))
    text = " ".join(_CONTROL.sub(" ", plain_text(text)).split())
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
    message = error.get("message") or error.get("detail") or _dumped(error)
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


def shown_target(location: str) -> str:
    """Return where a redirect leads, without user, password, query and fragment, in which keys may stand."""
    target = location.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = target.partition("//")
    if not slashes or "/" in scheme:
        return target
    host, slash, path = rest.partition("/")
    return f"{scheme}//{host.rpartition('@')[2]}{slash}{path}"


def redirect(status: int | None, headers: Mapping[str, str]) -> str | None:
    """Say where an answer redirects to; null where it does not."""
    location = headers.get("location")
    if status is None or status // 100 != 3 or not location:
        return None
    return f"it redirects to {shown_target(location)}, and redirects are not followed: ask that server itself"


def compressed(headers: Mapping[str, str]) -> str | None:
    """Say that an answer's body is compressed; null where it is not."""
    coding = headers.get("content-encoding", "").strip()
    if coding.lower() in ("", "identity"):
        return None
    return (
        f"the answer is compressed (Content-Encoding: {coding}), which was not asked for and would hold tokens back: "
        "switch that off in the server or the proxy before it"
    )


def failure_of_status(
    status: int, body: bytes, secrets: Iterable[str] = (), headers: Mapping[str, str] | None = None
) -> TurnFailure:
    """Return the failure of an answer whose status is not 2xx, with the server's words, or where it redirects to."""
    given = headers or {}
    text = body.decode("utf-8", "replace")
    told = decoded(text)
    found = complaint(told)
    if found is None and isinstance(told, dict) and told.get("detail"):
        found = str(told["detail"]), None
    words = redirect(status, given) or compressed(given) or (text if found is None else found[0])
    said = quoted(words, secrets)
    return TurnFailure(kind=kind_of(status, words), message=f"HTTP {status}: {said}" if said else f"HTTP {status}")


def _dumped(error: dict[str, Any]) -> str:
    try:
        return json.dumps(error)
    except (ValueError, RecursionError):
        return shown(error)
