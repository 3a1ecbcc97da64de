"""Does a chat template show what it is handed? Asked once, with conversations in words that no template writes itself.

A server renders what a template leaves out no more than Draftmark does, but then the model answers something else than
the suite asks. Whether text is stripped, merged or moved is the template's own affair.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Messages = Sequence[Mapping[str, Any]]
    Tools = Sequence[Mapping[str, Any]] | None
    Render = Callable[[Messages, Tools], str | None]
    """Null where the template refuses the conversation."""

_FIRST, _ANSWER, _LATER, _SET = "quovexa", "brimzolt", "dwelkaru", "yosfimque"
_TOOL, _ABOUT, _PARAMETER = "zanquori", "wulbexit", "morvyxel"
_CALLED, _ARGUMENT, _VALUE, _TOLD = "xilbrova", "kwofendu", "pyzzaret", "juqtomil"
_AGAIN, _AGAIN_ARGUMENT, _AGAIN_VALUE, _TOLD_AGAIN = "vextuqar", "nolzywim", "fibqorex", "gruxelvo"

_THOUGHT = "hevradlux"
_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking", "thought")
"""What templates call the thinking of an earlier answer: Qwen3 and most; Solar; gpt-oss and LFM2.5; Apriel."""

_USER = {"role": "user", "content": _FIRST}
_TOOLS = (
    {
        "type": "function",
        "function": {
            "name": _TOOL,
            "description": _ABOUT,
            "parameters": {
                "type": "object",
                "properties": {_PARAMETER: {"type": "string", "description": "A text."}},
                "required": [_PARAMETER],
            },
        },
    },
)


class TemplateProbe:
    """What one template shows of which kinds of messages; each kind is rendered once, when it is first there."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._texts: dict[tuple[str, bool], str | None] = {}

    def left_out(self, messages: Messages, tools: Tools) -> str | None:
        """Say what of these messages and tools the template leaves out, in words; null for nothing.

        Nothing is said of a kind whose probe the template refuses.
        """
        for probe, what, words in _questions(messages, tools or ()):
            text = self._text(probe, bool(tools))
            if text is not None and not all(word in text for word in words):
                return what
        return None

    @cached_property
    def thinking_field(self) -> str:
        """The field of an answer that the template shows thinking from; `reasoning_content` if it shows none.

        Some show that of calls alone, others leave it out where a user spoke later.
        """
        for field in _THINKING_FIELDS:
            for calls in (True, False):
                first, *rest = _conversation("called" if calls else "answered")
                answer = rest[0] | {field: _THOUGHT}
                text = self._render([first, answer, *rest[1:]], _TOOLS if calls else None)
                if text is not None and _THOUGHT in text.lower():
                    return field
        return _THINKING_FIELDS[0]

    def _text(self, probe: str, with_tools: bool) -> str | None:
        if (probe, with_tools) not in self._texts:
            text = self._render(_conversation(probe), _TOOLS if with_tools else None)
            self._texts[probe, with_tools] = None if text is None else text.lower()
        return self._texts[probe, with_tools]


def _questions(messages: Messages, tools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield a probe, what it is about, and the words that must be in its rendering, for all that is there."""
    roles = [message["role"] for message in messages]
    yield "user", "messages of the user", (_FIRST,)
    for role in ("system", "developer"):
        if role in roles:
            yield role, f"messages of the {role}", (_SET, _FIRST)
    calls = [message["tool_calls"] for message in messages if message.get("tool_calls")]
    if "assistant" in roles and any(one["role"] == "assistant" and not one.get("tool_calls") for one in messages):
        yield "answered", "answers of the assistant", (_ANSWER,)
    if roles.count("user") > 1:
        yield "answered", "some messages of the user", (_FIRST, _LATER)
    if tools:
        functions = [tool["function"] for tool in tools]
        asked = "system" if "system" in roles else "user"  # some show tools in the system message alone
        yield asked, "tools", (_TOOL,)
        if any(function.get("description") for function in functions):
            yield asked, "descriptions of tools", (_ABOUT,)
        if any(_properties(function) for function in functions):
            yield asked, "parameters of tools", (_PARAMETER,)
    if calls:
        yield "called", "calls of tools", (_CALLED,)
        if any(call["function"]["arguments"] for some in calls for call in some):
            yield "called", "arguments of calls", (_ARGUMENT, _VALUE)
    if "tool" in roles:
        yield "called", "answers of tools", (_TOLD,)
    if any(len(some) > 1 for some in calls):
        yield "called twice", "all but one of several calls of tools", (_CALLED, _VALUE, _AGAIN, _AGAIN_VALUE)
        yield "called twice", "all but one of several answers of tools", (_TOLD, _TOLD_AGAIN)


def _properties(function: Mapping[str, Any]) -> bool:
    parameters = function.get("parameters")
    return isinstance(parameters, dict) and bool(parameters.get("properties"))


def _conversation(probe: str) -> list[dict[str, Any]]:
    first, again = _call("a", _CALLED, {_ARGUMENT: _VALUE}), _call("b", _AGAIN, {_AGAIN_ARGUMENT: _AGAIN_VALUE})
    if probe == "called":
        return [_USER, _calling(first), _answer(first, _TOLD)]
    if probe == "called twice":
        return [_USER, _calling(first, again), _answer(first, _TOLD), _answer(again, _TOLD_AGAIN)]
    if probe == "answered":
        return [_USER, {"role": "assistant", "content": _ANSWER}, {"role": "user", "content": _LATER}]
    return [_USER] if probe == "user" else [{"role": probe, "content": _SET}, _USER]


def _call(letter: str, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    """Return a call whose id is of nine letters and digits, as Mistral's templates want it."""
    return {"id": letter * 9, "type": "function", "function": {"name": name, "arguments": arguments}}


def _calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": list(calls)}


def _answer(call: dict[str, Any], told: str) -> dict[str, Any]:
    """Return a tool's answer; its name is none of the call's, so that the call's is found in the call alone."""
    return {"role": "tool", "content": told, "tool_call_id": call["id"], "name": "tool"}
