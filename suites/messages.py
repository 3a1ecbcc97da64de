"""Messages of a recorded conversation, tools' calls and answers among them, and their form in a request."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from draftmark.suites.json_values import read_json

Role = Literal["system", "developer", "user", "assistant", "tool"]

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
_CAME_LATER = ("tool_calls", "tool_call_id", "name", "reasoning_content")


class ToolCall(BaseModel):
    """A call of a function that an answer made."""

    model_config = _STRICT

    id: Annotated[str, Field(min_length=1)] | None = None
    """What the tool's answer names it by; null where none was recorded."""
    name: Annotated[str, Field(min_length=1)]
    arguments: str
    """A JSON object as text, as it was recorded."""

    @model_validator(mode="after")
    def _arguments_are_an_object(self) -> ToolCall:
        if not isinstance(read_json(self.arguments), dict):
            raise ValueError("is no JSON object, nor the text of one")
        return self


class Message(BaseModel):
    """One message of a recorded conversation."""

    model_config = _STRICT

    role: Role
    content: str | None
    """Null in an answer that is calls alone; empty only where a tool gave nothing back."""
    tool_calls: tuple[ToolCall, ...] | None = None
    """What an answer of the assistant called."""
    tool_call_id: str | None = None
    """Which call a tool answers."""
    name: str | None = None
    """Which tool answers, where that was recorded."""
    reasoning_content: str | None = None
    """Thinking that was recorded apart from an answer of the assistant."""

    @model_validator(mode="after")
    def _fits_its_role(self) -> Message:
        if self.tool_calls is not None and (self.role != "assistant" or not self.tool_calls):
            raise ValueError("tool_calls are an assistant's, one at least")
        if self.role != "tool" and (self.tool_call_id is not None or self.name is not None):
            raise ValueError("tool_call_id and name are a tool's")
        if self.reasoning_content is not None and (self.role != "assistant" or not self.reasoning_content):
            raise ValueError("reasoning_content is an assistant's, and must not be empty")
        empty_allowed = self.role == "tool" or (self.tool_calls is not None and self.content is None)
        if not self.content and not empty_allowed:
            raise ValueError("content must not be empty")
        if self.role == "tool" and self.content is None:
            raise ValueError("a tool's content must be a string")
        return self

    def as_sent(self) -> dict[str, Any]:
        """Return the message as a request has it, arguments of calls as text, thinking in a field of its own."""
        found: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls is not None:
            found["tool_calls"] = [_call(call) for call in self.tool_calls]
        more = {"reasoning_content": self.reasoning_content, "tool_call_id": self.tool_call_id, "name": self.name}
        return found | {key: value for key, value in more.items() if value is not None}


def without_later_fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return a dumped message for a hash: fields that came later are left out where they are null."""
    return {key: value for key, value in message.items() if key not in _CAME_LATER or value is not None}


def with_arguments_read(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as chat templates expect it: a call's arguments as an object, and text in place of null."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    read = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in calls
    ]
    return {**message, "content": message["content"] or "", "tool_calls": read}


def _call(call: ToolCall) -> dict[str, Any]:
    name = {} if call.id is None else {"id": call.id}
    return {**name, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
