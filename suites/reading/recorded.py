"""Requests as they were sent: messages with roles, asked again with the recorded answers between the user's turns.

Where no answer was recorded between them, the user's messages are turns, and the model's own answers come between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.suites.prompt import Message
from draftmark.suites.reading.row_faults import RowFault, kind_of, refuse_broken_text

if TYPE_CHECKING:
    from collections.abc import Sequence

ROLES = ("system", "developer", "user", "assistant")

REFUSED = {
    "tools": "has tools, which a run cannot hand to an engine",
    "response_format": "has response_format, which a run cannot hand to an engine",
}
"""Keys of a request that change its answer and are not sent, to the sentence that refuses them."""


def recorded(value: Any, asked: Any = None) -> dict[str, Any]:
    """Return a prompt's fields for messages; raise `RowFault` naming the message.

    `value` is a list of objects with role and content, or one string, a single message of the user. Content is a string
    or a list of text parts. The messages end with the user's, which is answered; `asked`, a list of counts, says with
    how many messages each of several turns is asked instead.
    """
    if isinstance(value, str):
        return {"turns": (_text(value, "messages", "user"),)}
    if not isinstance(value, list) or not value:
        raise RowFault(f"messages is {'empty' if value == [] else kind_of(value)}; it must be a list of messages")
    messages = [_message(message, f"messages[{index}]") for index, message in enumerate(value)]
    roles = [message.role for message in messages]
    if asked is None:
        if roles[-1] != "user":
            raise RowFault(f"messages end with a message of the {roles[-1]}; the last must be the user's")
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


def _counts(asked: Any, roles: Sequence[str]) -> tuple[int, ...]:
    if not isinstance(asked, list) or not asked or not all(type(count) is int for count in asked):
        raise RowFault("asked must be a list of whole numbers: with how many messages each turn is asked")
    if asked != sorted(set(asked)) or asked[0] < 1 or asked[-1] > len(roles):
        raise RowFault(f"asked must rise from 1 to at most {len(roles)}, the number of messages")
    for count in asked:
        if roles[count - 1] != "user":
            raise RowFault(f"asked holds {count}, but messages[{count - 1}] is not the user's")
    return tuple(asked)


def _message(message: Any, field: str) -> Message:
    if not isinstance(message, dict):
        raise RowFault(f"{field} is {kind_of(message)}; it must be an object with role and content")
    role = message.get("role")
    if role in {"tool", "function"} or message.get("tool_calls") or message.get("function_call"):
        raise RowFault(f"{field} is a tool's call or answer, which a run cannot hand to an engine")
    if role not in ROLES:
        raise RowFault(f"{field}.role is {role!a}; it must be one of {', '.join(ROLES)}")
    return Message(role=role, content=_text(message.get("content"), f"{field}.content", role))


def _text(content: Any, field: str, role: str) -> str:
    if isinstance(content, list):
        parts = [part if isinstance(part, dict) else {"type": kind_of(part)} for part in content]
        other = [part.get("type") for part in parts if part.get("type") not in {"text", "input_text"}]
        if other:
            raise RowFault(f"{field} holds a part of type {other[0]!a}; suites are text alone")
        texts = [part.get("text") for part in parts]
        if not all(isinstance(text, str) for text in texts):
            raise RowFault(f"{field} holds a text part without text")
        content = "".join(texts)  # type: ignore[arg-type]
    if not isinstance(content, str):
        raise RowFault(f"{field} is {kind_of(content)}; it must be a string or a list of text parts")
    if not content.strip():
        raise RowFault(f"{field} is empty; each message of the {role} needs text")
    refuse_broken_text(content, field)
    return content
