"""A logged request without its words: what `Hasher` does to texts, done to the leaves of what is JSON.

Kept as they are: names of tools, names of parameters (in tools, in forms of answers, and as keys in arguments and
answers), what JSON Schema says with fixed words (see `hashed_schema`), numbers in schemas, and true, false and null.
All other texts and keys are replaced, and numbers in arguments and answers by others of as many digits. Ids of calls
are numbered anew. So what was JSON stays JSON, and a call still fits the tool that it calls.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from draftmark.suites.json_values import read_json
from draftmark.suites.messages import Message, ToolCall
from draftmark.suites.traffic.hashed_schema import hashed_keys, hashed_name, hashed_schema, hashed_value, names_in

if TYPE_CHECKING:
    from draftmark.suites.traffic.hashed_text import Hasher
    from draftmark.suites.traffic.requests import LoggedRequest


def tool_names(request: LoggedRequest) -> frozenset[str]:
    """Return the names of a request's tools, and of those that its calls name; hashing leaves them readable."""
    calls = (call.name for message in request.messages for call in message.tool_calls or ())
    return frozenset(tool["function"]["name"] for tool in request.tools or ()) | frozenset(calls)


def parameter_names(request: LoggedRequest) -> frozenset[str]:
    """Return the names of parameters in a request's tools and the form of its answer, which stay readable, too."""
    form = (request.response_format or {}).get("json_schema")
    schemas = [tool["function"].get("parameters") for tool in request.tools or ()]
    return frozenset(names_in([*schemas, form.get("schema") if isinstance(form, dict) else None]))


def hashed_messages(request: LoggedRequest, hasher: Hasher) -> tuple[Message, ...]:
    """Return a request's messages without their words."""
    ids: dict[str, str] = {}
    kept, known = parameter_names(request), tool_names(request)

    def renamed(name: str | None) -> str | None:
        return None if name is None else ids.setdefault(name, f"call_{len(ids) + 1:06d}")

    found = []
    for message in request.messages:
        changed: dict[str, Any] = {"tool_call_id": renamed(message.tool_call_id)}
        if message.name is not None and message.name not in known:
            changed["name"] = hashed_name(message.name, hasher)
        if message.content is not None:
            told = message.role == "tool"
            changed["content"] = _json_text(message.content, hasher, kept) if told else hasher.text(message.content)
        if message.reasoning_content is not None:
            changed["reasoning_content"] = hasher.text(message.reasoning_content)
        if message.tool_calls is not None:
            changed["tool_calls"] = tuple(
                ToolCall(id=renamed(call.id), name=call.name, arguments=_json_text(call.arguments, hasher, kept))
                for call in message.tool_calls
            )
        found.append(message.model_copy(update=changed))
    return tuple(found)


def hashed_tools(request: LoggedRequest, hasher: Hasher) -> list[dict[str, Any]]:
    """Return a request's tools without any words but names."""
    kept = parameter_names(request)
    return [
        _outside(tool, {"type": tool.get("type"), "function": _function(tool["function"], hasher, kept)}, hasher, kept)
        for tool in request.tools or ()
    ]


def hashed_format(request: LoggedRequest, hasher: Hasher) -> dict[str, Any] | None:
    """Return the form of an answer without the words of its schema and its name, which becomes another valid one."""
    form, kept = request.response_format, parameter_names(request)
    if form is None:
        return None
    inner = form.get("json_schema")
    said: dict[str, Any] = {"type": form["type"]}
    if isinstance(inner, dict):
        schema: dict[str, Any] = {"schema": hashed_schema(inner.get("schema"), hasher, kept)}
        if isinstance(inner.get("name"), str):
            schema["name"] = hashed_name(inner["name"], hasher)
        said["json_schema"] = _outside(inner, schema, hasher, kept)
    return _outside(form, said, hasher, kept)


def _function(function: dict[str, Any], hasher: Hasher, kept: frozenset[str]) -> dict[str, Any]:
    said = {
        "name": function["name"],
        "parameters": hashed_schema(function.get("parameters"), hasher, kept),
    }
    return _outside(function, said, hasher, kept)


def _outside(before: dict[str, Any], said: dict[str, Any], hasher: Hasher, kept: frozenset[str]) -> dict[str, Any]:
    """Return an object with what was `said` of some of its keys, in its order; all others lose their words."""
    found: dict[str, Any] = {}
    for key, value in before.items():
        if key in said:
            found[key] = said[key]
        elif key in _KEYS:
            found[key] = hashed_value(value, hasher, kept)
        else:
            found |= hashed_value({key: value}, hasher, kept)
    return found


_KEYS = frozenset({"description", "strict", "json_schema"})
"""The API's own keys of tools and forms, beside those that are looked into."""


def _json_text(text: str, hasher: Hasher, kept: frozenset[str]) -> str:
    """Return a text without its words; one that is a JSON object or list stays one, in its form."""
    try:
        value = read_json(text)
    except ValueError:
        return hasher.text(text)
    if not isinstance(value, dict | list):
        return hasher.text(text)
    forms: list[dict[str, Any]] = [
        {"ensure_ascii": ascii_only, "separators": separators, "indent": indent}
        for ascii_only in (False, True)
        for separators, indent in ((None, None), ((",", ":"), None), (None, 2), (None, 4))
    ]
    form = next((form for form in forms if json.dumps(value, **form) == text.strip()), forms[0])
    return json.dumps(_leaves(value, hasher, kept), **form)


def _leaves(value: Any, hasher: Hasher, kept: frozenset[str]) -> Any:
    if isinstance(value, dict):
        inner = (_leaves(one, hasher, kept) for one in value.values())
        return dict(zip(hashed_keys(value, hasher, kept), inner, strict=True))
    if isinstance(value, list):
        return [_leaves(inner, hasher, kept) for inner in value]
    if isinstance(value, str):
        return hasher.text(value)
    if isinstance(value, bool) or value is None:
        return value
    return _number(value, hasher)


def _number(value: float, hasher: Hasher) -> float:
    """Return another number of as many digits before and after the point; its exponent stays."""
    digits, mark, power = json.dumps(value).partition("e")
    changed = re.sub(r"\d+", lambda found: hasher.text(found.group()), digits)
    changed = re.sub(r"^(-?)0(?=\d)", r"\g<1>1", changed)
    found: float = json.loads(changed + mark + power)
    return found
