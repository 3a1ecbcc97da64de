"""Recorded conversations in the forms that data sets use: role and content, or ShareGPT's from and value."""

from __future__ import annotations

from typing import Any

from draftmark.suites.quoting import quoted
from draftmark.suites.reading.row_faults import RowFault

_USER = frozenset({"user", "human", "prompter"})
_MODEL = frozenset({"assistant", "gpt", "chatgpt", "bing", "bard", "model"})
_SYSTEM = frozenset({"system"})


def spoken(value: Any, field: str) -> list[tuple[str, str]]:
    """Return who says what, roles as user, assistant or system; raise `RowFault` naming the message.

    Messages without text are left out. A conversation that is one text is one message of the user.
    """
    if isinstance(value, str):
        return [("user", value)] if value.strip() else []
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise RowFault(f"{field} is no list of messages, objects with role and content or from and value")
    found = []
    for index, message in enumerate(value):
        role, text = message.get("role", message.get("from")), message.get("content", message.get("value"))
        if text is None or text == "":
            continue
        if not isinstance(text, str):
            raise RowFault(f"{field}[{index}]: its text is no string")
        found.append((_role(role, f"{field}[{index}]"), text))
    return [(role, text) for role, text in found if text.strip()]


def user_turns(value: Any, field: str = "conversation") -> tuple[str | None, list[str]]:
    """Return the system message, if the conversation begins with one, and the user's turns in order.

    Messages of one user that follow each other without an answer between them are one turn. Raises `RowFault`.
    """
    said = spoken(value, field)
    system = said[0][1] if said and said[0][0] == "system" else None
    turns: list[str] = []
    before = None
    for role, text in said:
        if role == "user":
            turns = [*turns[:-1], f"{turns[-1]}\n\n{text}"] if before == "user" else [*turns, text]
        before = role
    return system, turns


def _role(role: object, place: str) -> str:
    name = role.lower() if isinstance(role, str) else ""
    for known, ours in ((_USER, "user"), (_MODEL, "assistant"), (_SYSTEM, "system")):
        if name in known:
            return ours
    raise RowFault(f"{place} is by {quoted(role)}; known are {', '.join(sorted(_USER | _MODEL | _SYSTEM))}")
