"""What one request asks of the server, the same whatever its endpoint; and prompt tokens by a toy rule.

The rule: ids count one each. Text counts one a word, and one for the beginning. Each message of a chat costs three
more.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from draftmark.backends.mock.lies import LIES
from draftmark.backends.mock.settings import DEFAULT_OUTPUT_TOKENS, MockSettings, unknown_lie

if TYPE_CHECKING:
    from collections.abc import Mapping

Endpoint: TypeAlias = Literal["chat", "completions", "generate"]

LIE_HEADER, LIE_KEY = "X-Mock-Lie", "mock_lie"
"""A request asks for lies by this header, names parted by commas, or by this key of its body."""
TOKENS_PER_MESSAGE = 3


REQUEST_KEYS = (
    *("messages", "tools", "response_format", "temperature", "top_p", "top_k", "seed", "stop"),
    *("max_tokens", "max_completion_tokens"),
)
"""What the log of the truth keeps of a request as it came."""


class RefusedError(Exception):
    """A request that is answered by an error."""

    def __init__(self, status: int, message: str, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, read."""

    endpoint: Endpoint
    model: str
    stream: bool
    include_usage: bool
    usage_in_every_chunk: bool
    limit: int
    """Most output tokens."""
    ignore_eos: bool
    stops: tuple[str, ...]
    prompt_tokens: int
    prompt_hash: int
    """Of the prompt as it was sent; equal prompts draw equal acceptance."""
    cached_tokens: int
    return_token_ids: bool
    spec_details: bool
    """Whether SGLang's `return_spec_tokens_details` was asked for."""
    timings_per_token: bool
    """Whether llama.cpp's option of that name was asked for."""
    statistics: str
    """Per-request statistics of vLLM: none, summary or detailed."""
    lies: tuple[str, ...]


def read_body(body: bytes) -> dict[str, Any]:
    """Return a request's object; raises `RefusedError` with status 400 for a body that is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise RefusedError(400, f"the body is no JSON: {fault}") from None
    if not isinstance(data, dict):
        raise RefusedError(400, "the body is no JSON object")
    return data


def read_ask(endpoint: Endpoint, data: Mapping[str, Any], headers: Mapping[str, str], settings: MockSettings) -> Ask:
    """Return what a request asks.

    Raises:
        RefusedError: With status 400 for what an engine would refuse, or for a lie that there is not.
    """
    sampling = data.get("sampling_params") or {} if endpoint == "generate" else data
    options = data.get("stream_options") or {}
    prompt = _prompt(endpoint, data)
    prompt_tokens = _prompt_tokens(prompt)
    _check_form(data)
    if data.get("n") not in {None, 1}:
        raise RefusedError(400, "the mock server gives one choice a request; leave out n")
    return Ask(
        endpoint=endpoint,
        model=str(data.get("model") or settings.model),
        stream=bool(data.get("stream")),
        include_usage=bool(options.get("include_usage")),
        usage_in_every_chunk=bool(options.get("continuous_usage_stats")),
        limit=_limit(sampling, prompt_tokens, settings),
        ignore_eos=bool(sampling.get("ignore_eos")),
        stops=_strings(sampling.get("stop")),
        prompt_tokens=prompt_tokens,
        prompt_hash=zlib.crc32(json.dumps(prompt).encode()) if settings.accept else 0,
        cached_tokens=0,
        return_token_ids=bool(data.get("return_token_ids")),
        spec_details=bool(data.get("return_spec_tokens_details")),
        timings_per_token=bool(data.get("timings_per_token")),
        statistics=settings.per_request if settings.draft_length else "none",
        lies=_lies(data, headers, settings),
    )


def _check_form(data: Mapping[str, Any]) -> None:
    """Raise `RefusedError` for tools or an answer's form that are not the API's, as engines do."""
    tools, form = data.get("tools"), data.get("response_format")
    if tools is not None and not (isinstance(tools, list) and all(map(_is_function, tools))):
        raise RefusedError(400, "tools is no list of functions with names")
    if form is not None and not (isinstance(form, dict) and form.get("type") in {"text", "json_object", "json_schema"}):
        raise RefusedError(400, "response_format is of no known type")


def _is_function(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _prompt(endpoint: Endpoint, data: Mapping[str, Any]) -> Any:
    if endpoint == "chat":
        messages = data.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(item, dict) for item in messages):
            raise RefusedError(400, "messages is no list of messages")
        return messages
    name = "prompt" if endpoint == "completions" else "text" if "text" in data else "input_ids"
    prompt = data.get(name)
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    ids = isinstance(prompt, list) and all(isinstance(token, int) for token in prompt)
    if not prompt or not (isinstance(prompt, str) or ids):
        raise RefusedError(400, f"{name} is neither a text nor a list of token ids; the mock server takes one of them")
    return prompt


def _prompt_tokens(prompt: Any) -> int:
    if isinstance(prompt, str):
        return 1 + len(prompt.split())
    if isinstance(prompt[0], int):
        return len(prompt)
    return 1 + sum(TOKENS_PER_MESSAGE + len(_content(message.get("content")).split()) for message in prompt)


def _content(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _limit(sampling: Mapping[str, Any], prompt_tokens: int, settings: MockSettings) -> int:
    names = ("max_completion_tokens", "max_tokens", "max_new_tokens", "n_predict")
    asked = next((sampling[name] for name in names if sampling.get(name) is not None), None)
    room = settings.max_model_len - prompt_tokens
    if asked is not None and (not isinstance(asked, int) or asked < 1):
        raise RefusedError(400, f"max_tokens of {asked}; it is 1 or more")
    if room < 1 or (asked is not None and asked > room):
        wanted = f"{asked} output tokens" if asked is not None else "an answer"
        raise RefusedError(
            400,
            f"This model's maximum context length is {settings.max_model_len} tokens. However, you requested {wanted} "
            f"and your prompt contains {prompt_tokens} input tokens. Please reduce the length of the prompt.",
        )
    return int(asked) if asked is not None else min(room, settings.output_tokens or DEFAULT_OUTPUT_TOKENS)


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in value or () if isinstance(item, str) and item)


def _lies(data: Mapping[str, Any], headers: Mapping[str, str], settings: MockSettings) -> tuple[str, ...]:
    asked = [name.strip() for name in headers.get(LIE_HEADER, "").split(",") if name.strip()]
    names = (*settings.lies, *asked, *_strings(data.get(LIE_KEY)))
    for name in names:
        if name not in LIES:
            raise RefusedError(400, unknown_lie(name))
    return tuple(dict.fromkeys(names))
