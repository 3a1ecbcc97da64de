"""Requests as they were sent: messages with roles, asked again with the recorded answers between the user's turns.

Where no answer was recorded between them, the user's messages are turns, and the model's own answers come between.
Calls of tools and their answers are messages like others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from pydantic import ValidationError

from draftmark.suites.json_values import read_json, value_problem
from draftmark.suites.messages import Role
from draftmark.suites.prompt import Message, RequestSampling, ToolCall
from draftmark.suites.quoting import cut, quoted
from draftmark.suites.reading.row_faults import RowFault, kind_of, refuse_broken_text
from draftmark.suites.request_settings import format_problem, tools_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROLES: tuple[str, ...] = get_args(Role)
ANSWERED = ("user", "tool")
"""Roles whose messages an answer follows."""

_REASONING = ("reasoning_content", "reasoning")
"""Where logs keep the thinking of an answer, the first that is there."""

_REFUSED = {
    "functions": "has functions, the API's older form of tools, which a run cannot hand to an engine",
    "tool_choice": "has a tool_choice, which a run cannot hand to an engine",
}
"""Keys of a request that change its answer and are not sent, to the sentence that refuses them."""


def recorded(value: Any, asked: Any = None) -> dict[str, Any]:
    """Return a prompt's fields for messages; raise `RowFault` naming the message.

    `value` is a list of objects with role and content, or one string, a single message of the user. Content is a string
    or a list of text parts. The messages end with the user's or a tool's, which is answered; `asked`, a list of counts,
    says with how many messages each of several turns is asked instead.
    """
    if isinstance(value, str):
        return {"turns": (_text(value, "messages", "user"),)}
    if not isinstance(value, list) or not value:
        raise RowFault(f"messages is {'empty' if value == [] else kind_of(value)}; it must be a list of messages")
    messages = [_message(message, f"messages[{index}]") for index, message in enumerate(value)]
    _refuse_answers_of_no_call(messages)
    roles = [message.role for message in messages]
    if asked is None:
        if roles[-1] not in ANSWERED:
            raise RowFault(f"messages end with a message of the {roles[-1]}; the last must be the user's or a tool's")
        start = int(roles[0] == "system")
        if set(roles[start:]) == {"user"}:
            system = messages[0].content if start else None
            return {"turns": tuple(message.content for message in messages[start:]), "system": system}
        asked = [len(messages)]
    counts = _counts(asked, roles)
    return {
        "turns": tuple(messages[count - 1].content for count in counts),
        "messages": tuple(messages),
        "asked": counts,
    }


def request_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a prompt's fields for what a row's request has besides messages; raise `RowFault` naming the field."""
    if (sentence := refused(row)) is not None:
        raise RowFault(sentence)
    tools = _read(row.get("tools"), "tools")
    form = _read(row.get("response_format"), "response_format")
    problem = None if tools is None else tools_problem(tools)
    problem = problem or (None if form is None else format_problem(form))
    if problem is not None:
        raise RowFault(problem)
    return {
        "tools": tuple(tools) if tools else None,
        "response_format": None if form is None or form["type"] == "text" else form,
        "sampling": request_sampling(row.get("sampling")),
    }


def refused(request: Mapping[str, Any]) -> str | None:
    """Say which key of a request changes its answer but is not sent; null without one, and for "auto", the default."""
    asks = (key for key in _REFUSED if request.get(key) and request[key] != "auto")
    return next((_REFUSED[key] for key in asks), None)


def request_sampling(value: Any) -> RequestSampling | None:
    """Return how a request chose tokens, null for one that says nothing of it; raise `RowFault` naming the setting."""
    value = _read(value, "sampling")
    if value is None:
        return None
    if not isinstance(value, dict):
        raise RowFault(f'sampling is {kind_of(value)}; it must be an object such as {{"temperature": 0.7}}')
    had = {key: one for key, one in value.items() if one is not None}
    broken = value_problem(had)
    if broken is not None:
        raise RowFault(f"sampling {broken}")
    try:
        return RequestSampling.model_validate_json(json.dumps(had)) if had else None
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, ("sampling", *first["loc"])))
        raise RowFault(f"{cut(place, 60)}: {first['msg'][:1].lower()}{first['msg'][1:]}") from fault


def _read(value: Any, field: str) -> Any:
    """Return a value, or what it holds where it is JSON in a text, as tables keep it."""
    if not isinstance(value, str):
        return value
    try:
        return read_json(value)
    except ValueError as fault:
        raise RowFault(f"{field} is a string that {fault}") from fault


def _counts(asked: Any, roles: Sequence[str]) -> tuple[int, ...]:
    if not isinstance(asked, list) or not asked or not all(type(count) is int for count in asked):
        raise RowFault("asked must be a list of whole numbers: with how many messages each turn is asked")
    if asked != sorted(set(asked)) or asked[0] < 1 or asked[-1] > len(roles):
        raise RowFault(f"asked must rise from 1 to at most {len(roles)}, the number of messages")
    for count in asked:
        if roles[count - 1] not in ANSWERED:
            raise RowFault(f"asked holds {count}, but messages[{count - 1}] is neither the user's nor a tool's")
    return tuple(asked)


def _message(message: Any, field: str) -> Message:
    if not isinstance(message, dict):
        raise RowFault(f"{field} is {kind_of(message)}; it must be an object with role and content")
    role = message.get("role")
    if role == "function" or message.get("function_call"):
        raise RowFault(f"{field} is a function's call or answer, the API's older form; write tool_calls and role tool")
    if role not in ROLES:
        raise RowFault(f"{field}.role is {quoted(role)}; it must be one of {', '.join(ROLES)}")
    content = message.get("content")
    calls = None if message.get("tool_calls") == [] else message.get("tool_calls")
    if calls is not None and role != "assistant":
        raise RowFault(f"{field}.tool_calls are in a message of the {role}; only answers call tools")
    if calls is not None:
        text = None if content in (None, "", []) else _text(content, f"{field}.content", role)
        thought = _reasoning(message, field)
        return Message(role=role, content=text, tool_calls=_calls(calls, f"{field}.tool_calls"), **thought)
    if role != "tool":
        return Message(role=role, content=_text(content, f"{field}.content", role), **_reasoning(message, field))
    named = {key: message[key] for key in ("tool_call_id", "name") if message.get(key) is not None}
    if not isinstance(named.get("tool_call_id"), str):
        raise RowFault(f"{field}.tool_call_id is missing; a tool's answer names the call that it belongs to")
    if not isinstance(named.get("name", ""), str):
        raise RowFault(f"{field}.name is {kind_of(named['name'])}; it must be a string")
    for key, text in named.items():
        refuse_broken_text(text, f"{field}.{key}")
    return Message(role="tool", content=_text(content, f"{field}.content", role), **named)


def _reasoning(message: dict[str, Any], field: str) -> dict[str, str]:
    """Return the thinking of an answer, under the name by which templates and servers know it; nothing of others."""
    key = next((key for key in _REASONING if message.get(key) is not None), None)
    if key is None or message["role"] != "assistant":
        return {}
    if not isinstance(message[key], str):
        raise RowFault(f"{field}.{key} is {kind_of(message[key])}; it must be a string")
    refuse_broken_text(message[key], f"{field}.{key}")
    return {"reasoning_content": message[key]} if message[key].strip() else {}


def _calls(calls: Any, field: str) -> tuple[ToolCall, ...]:
    if not isinstance(calls, list):
        raise RowFault(f"{field} is {kind_of(calls)}; it must be a list of calls")
    return tuple(_call(call, f"{field}[{index}]") for index, call in enumerate(calls))


def _call(call: Any, field: str) -> ToolCall:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
        raise RowFault(f"{field}.function.name is missing; calls are an object with function: name and arguments")
    name = call.get("id")
    if name is not None and not isinstance(name, str):
        raise RowFault(f"{field}.id is {kind_of(name)}; it must be a string")
    refuse_broken_text(name or "", f"{field}.id")
    refuse_broken_text(function["name"], f"{field}.function.name")
    text = _arguments(function.get("arguments"), f"{field}.function.arguments")
    return ToolCall(id=name or None, name=function["name"], arguments=text)


def _arguments(value: Any, field: str) -> str:
    """Return a call's arguments as the text of an object; none at all are an empty one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return "{}"
    read = value
    try:
        read = read_json(value) if isinstance(value, str) else value
        problem = value_problem(read)
    except ValueError as fault:
        problem = str(fault)
    if problem is None and not isinstance(read, dict):
        problem = f"is {'the text of ' if isinstance(value, str) else ''}{kind_of(read)}; it must be an object"
    if problem is not None:
        raise RowFault(f"{field} {problem}")
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _refuse_answers_of_no_call(messages: Sequence[Message]) -> None:
    """Raise `RowFault` for a tool's answer that names none of the calls before it; calls without ids are any."""
    before: set[str | None] = set()
    for index, message in enumerate(messages):
        before |= {call.id for call in message.tool_calls or ()}
        if message.role == "tool" and message.tool_call_id not in before and None not in before:
            raise RowFault(
                f"messages[{index}].tool_call_id {quoted(message.tool_call_id)} names no call that came before it"
            )


def _text(content: Any, field: str, role: str) -> str:
    if isinstance(content, list):
        parts = [part if isinstance(part, dict) else {"type": kind_of(part)} for part in content]
        other = [part.get("type") for part in parts if part.get("type") not in ("text", "input_text")]
        if other:
            raise RowFault(f"{field} holds a part of type {quoted(other[0])}; suites are text alone")
        texts = [part.get("text") for part in parts]
        if not all(isinstance(text, str) for text in texts):
            raise RowFault(f"{field} holds a text part without text")
        content = "".join(texts)  # type: ignore[arg-type]
    if not isinstance(content, str):
        raise RowFault(f"{field} is {kind_of(content)}; it must be a string or a list of text parts")
    if not content.strip() and role != "tool":
        raise RowFault(f"{field} is empty; each message of the {role} needs text")
    refuse_broken_text(content, field)
    return content
