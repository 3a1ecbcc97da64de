"""One line of a request log: what was asked, when, and with which settings.

A line is a JSON object in the form of an OpenAI request: `messages`, or `prompt`. It may be wrapped, as `body` (batch
files) or `request`, with time and id beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from draftmark.suites.prompt import LONGEST_ID
from draftmark.suites.reading.recorded import recorded, refused, request_fields
from draftmark.suites.reading.row_faults import RowFault, kind_of
from draftmark.suites.request_settings import RequestSampling

if TYPE_CHECKING:
    from draftmark.suites.prompt import Message

TIMES = ("timestamp", "time", "time_s", "created_at", "created", "ts", "start_time")
"""Where a line says when it was sent, the first that is there: seconds, or text in ISO 8601."""

IDS = ("custom_id", "request_id", "question_id", "id")
SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens", "stop", "seed", "ignore_eos",
    "frequency_penalty", "presence_penalty", "repetition_penalty", "n", "logit_bias", "reasoning_effort",
)  # fmt: skip
"""Settings of a request that are kept in the file."""

REPLAYED = tuple(RequestSampling.model_fields)
"""Those of them, by the names that a plan has, that a run can replay."""

_MOST_SECONDS = 1e11
"""More than that is milliseconds: in seconds it would be the year 5138."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request of a log."""

    name: str | None
    """Its id in the log."""
    at_s: float | None
    """Seconds on the log's clock; null where the line has no time."""
    messages: tuple[Message, ...]
    """Ending with the user's or a tool's."""
    replayed: dict[str, Any]
    """Settings that a run can replay, by the names of `REPLAYED`."""
    sampling: dict[str, Any]
    """All settings, by the request's own names."""
    tools: tuple[dict[str, Any], ...] | None = None
    response_format: dict[str, Any] | None = None


class NotReplayable(RowFault):
    """A request in order that no run can put to an engine as it was."""


def logged_request(line: dict[str, Any]) -> LoggedRequest:
    """Return the request of a line; raise `NotReplayable` for one that no run can put, `RowFault` for a bad one."""
    body = next((line[key] for key in ("body", "request") if isinstance(line.get(key), dict)), line)
    if (sentence := refused(body)) is not None:
        raise NotReplayable(sentence)
    tools = body.get("tools")
    if isinstance(tools, list) and any(_is_no_function(tool) for tool in tools):
        raise NotReplayable("has tools that are no functions, which a run cannot hand to an engine")
    sampling = {key: body[key] for key in SAMPLING if body.get(key) is not None}
    replayed = _replayed(sampling)
    fields = request_fields({"sampling": replayed, **{key: body.get(key) for key in ("tools", "response_format")}})
    return LoggedRequest(
        name=_name(line, body),
        at_s=_time(line, body),
        messages=_messages(body),
        replayed=replayed,
        sampling=sampling,
        tools=fields["tools"],
        response_format=fields["response_format"],
    )


def _replayed(sampling: dict[str, Any]) -> dict[str, Any]:
    """Return settings under a plan's names: one stop string as a list, and every token kept as top_k 0."""
    found = {key: sampling[key] for key in REPLAYED if key in sampling}
    if "max_completion_tokens" in sampling:  # the newer name of the same
        found["max_tokens"] = sampling["max_completion_tokens"]
    if isinstance(found.get("stop"), str):
        found["stop"] = [found["stop"]]
    if found.get("stop") == []:
        del found["stop"]
    if found.get("top_k") == -1:
        found["top_k"] = 0
    return found


def _is_no_function(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type", "function") != "function"


def _messages(body: dict[str, Any]) -> tuple[Message, ...]:
    if body.get("messages") is None:
        prompt = body.get("prompt")
        if not isinstance(prompt, str):
            raise RowFault("has neither messages nor prompt, a string" if prompt is None else _bad_prompt(prompt))
        asked = recorded(prompt)
    else:
        value = body["messages"]
        if isinstance(value, list) and any(_is_older(message) for message in value):
            raise NotReplayable("has a function's call or answer among its messages, the API's older form of tools")
        if isinstance(value, list) and any(_is_more_than_text(message) for message in value):
            raise NotReplayable("has pictures, sound or files among its messages; suites are text alone")
        if isinstance(value, list) and value and isinstance(value[-1], dict) and value[-1].get("role") == "assistant":
            raise NotReplayable("ends with the beginning of an answer, which a run cannot have continued")
        asked = recorded(value)
    return whole_messages(asked)


def whole_messages(asked: dict[str, Any]) -> tuple[Message, ...]:
    """Return all messages of what `recorded` returned, the system message first."""
    from draftmark.suites.prompt import Message

    if asked.get("messages") is not None:
        found: tuple[Message, ...] = asked["messages"]
        return found
    system = [] if asked.get("system") is None else [Message(role="system", content=asked["system"])]
    return (*system, *(Message(role="user", content=turn) for turn in asked["turns"]))


def _bad_prompt(prompt: Any) -> str:
    if isinstance(prompt, list):
        return "prompt is a list, of token ids or of several prompts; it must be one string"
    return f"prompt is {kind_of(prompt)}; it must be a string"


def _is_older(message: Any) -> bool:
    return isinstance(message, dict) and (message.get("role") == "function" or bool(message.get("function_call")))


def _is_more_than_text(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") not in ("text", "input_text") for part in parts)


def _name(line: dict[str, Any], body: dict[str, Any]) -> str | None:
    for place in (line, body):
        for key in IDS:
            value = place.get(key)
            if isinstance(value, int | str) and not isinstance(value, bool):
                text = str(value)
                if text.strip() and text.isprintable() and len(text) <= LONGEST_ID:
                    return text
    return None


def _time(line: dict[str, Any], body: dict[str, Any]) -> float | None:
    for place in (line, body):
        for key in TIMES:
            if place.get(key) is not None:
                return _seconds(place[key], key)
    return None


def _seconds(value: Any, key: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if not math.isfinite(number) or number < 0:
            raise RowFault(f"{key} is {value}, no time")
        return number / 1000 if number > _MOST_SECONDS else number
    if not isinstance(value, str):
        raise RowFault(f"{key} is {kind_of(value)}; it must be seconds or a text in ISO 8601")
    try:
        return _seconds(float(value), key)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(value)
    except ValueError as fault:
        raise RowFault(
            f"{key} {value[:40]!a} is no time: give seconds, or ISO 8601 like 2026-11-30T08:15:00Z"
        ) from fault
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
