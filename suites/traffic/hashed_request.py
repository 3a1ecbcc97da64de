"""A logged request without its words: what `Hasher` does to texts, done to the leaves of what is JSON.

Kept as they are: names of tools, keys of objects (a tool's parameters are such), what JSON Schema says with fixed words
or refers to by name (`type`, `required`, `pattern` and the like), numbers in schemas, and true, false and null. All
other texts in tools, schemas, arguments and answers are replaced, and numbers in arguments and answers by others of as
many digits. Ids of calls are numbered anew. So what was JSON stays JSON, and a call still fits the tool that it calls.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from draftmark.suites.messages import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.suites.traffic.hashed_text import Hasher

_FIXED = frozenset(
    {"type", "format", "pattern", "required", "dependentRequired", "contentEncoding", "contentMediaType"}
    | {"$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor"}
)
"""Keys of a schema whose texts mean something to whoever reads it, or name a key."""

_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keys of a schema that hold schemas by names."""


def hashed_messages(messages: Sequence[Message], hasher: Hasher) -> tuple[Message, ...]:
    """Return a conversation's messages without their words."""
    ids: dict[str, str] = {}

    def renamed(name: str | None) -> str | None:
        return None if name is None else ids.setdefault(name, f"call_{len(ids) + 1:06d}")

    found = []
    for message in messages:
        changed: dict[str, Any] = {"tool_call_id": renamed(message.tool_call_id)}
        if message.content is not None:
            said = _json_text if message.role == "tool" else _plain_text
            changed["content"] = said(message.content, hasher)
        if message.tool_calls is not None:
            changed["tool_calls"] = tuple(
                ToolCall(id=renamed(call.id), name=call.name, arguments=_json_text(call.arguments, hasher))
                for call in message.tool_calls
            )
        found.append(message.model_copy(update=changed))
    return tuple(found)


def hashed_tool(tool: dict[str, Any], hasher: Hasher) -> dict[str, Any]:
    """Return a tool without the words of its descriptions."""
    function = {
        key: value if key == "name" else hashed_schema(value, hasher) for key, value in tool["function"].items()
    }
    return {**{key: value for key, value in tool.items() if key != "function"}, "function": function}


def hashed_format(response_format: dict[str, Any], hasher: Hasher) -> dict[str, Any]:
    """Return the form of an answer without the words of its schema; its name stays."""
    schema = response_format.get("json_schema")
    if not isinstance(schema, dict):
        return response_format
    inner = {key: value if key == "name" else hashed_schema(value, hasher) for key, value in schema.items()}
    return {**response_format, "json_schema": inner}


def hashed_schema(value: Any, hasher: Hasher) -> Any:
    """Return a JSON Schema, or a text beside one, without its words."""
    if isinstance(value, str):
        return hasher.text(value)
    if isinstance(value, list):
        return _each_once(value, [hashed_schema(inner, hasher) for inner in value])
    if not isinstance(value, dict):
        return value
    return {key: _under(key, inner, hasher) for key, inner in value.items()}


def _under(key: str, value: Any, hasher: Hasher) -> Any:
    if key in _FIXED and not isinstance(value, dict):
        return value
    if key in _BY_NAME and isinstance(value, dict):
        return {name: hashed_schema(inner, hasher) for name, inner in value.items()}
    return hashed_schema(value, hasher)


def _each_once(before: list[Any], after: list[Any]) -> list[Any]:
    """Keep texts apart that were: short ones, of which there are too few, stay as they were where they would be equal.

    Values of an `enum` must differ.
    """
    taken: set[str] = set()
    found = []
    for was, now in zip(before, after, strict=True):
        kept = was if isinstance(now, str) and now in taken else now
        taken.update([kept] if isinstance(kept, str) else [])
        found.append(kept)
    return found


def _plain_text(text: str, hasher: Hasher) -> str:
    return hasher.text(text)


def _json_text(text: str, hasher: Hasher) -> str:
    """Return a text without its words; one that is a JSON object or list stays one, its keys and form kept."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return hasher.text(text)
    if not isinstance(value, dict | list):
        return hasher.text(text)
    forms: list[dict[str, Any]] = [
        {"ensure_ascii": ascii_only, "separators": separators, "indent": indent}
        for ascii_only in (False, True)
        for separators, indent in ((None, None), ((",", ":"), None), (None, 2), (None, 4))
    ]
    form = next((form for form in forms if json.dumps(value, **form) == text.strip()), forms[0])
    return json.dumps(_leaves(value, hasher), **form)


def _leaves(value: Any, hasher: Hasher) -> Any:
    if isinstance(value, dict):
        return {key: _leaves(inner, hasher) for key, inner in value.items()}
    if isinstance(value, list):
        return [_leaves(inner, hasher) for inner in value]
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
