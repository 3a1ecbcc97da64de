"""The agentic split: recorded conversations with tools, asked step by step after the recorded answers.

Each assistant message is one step: the model is given everything before it, as it was recorded (teacher-forced), and
answers anew. Rows carry `messages`, or a list of messages as `turns`, and the tools as `tools` or as JSON inside
`extras`, which is how NVIDIA's tool reads the split (Model-Optimizer, specdec_bench, datasets/agentic_speed.py). The
split itself was not at hand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.files import rows
from draftmark.suites.reading.row_faults import RowFault

if TYPE_CHECKING:
    from draftmark.suites.loaders.speed_bench.finding import Found
    from draftmark.suites.reading.files import Row

ROLES = ("system", "developer", "user", "assistant", "tool")
_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a replay."""

    number: int
    """From 1, in the conversation's order."""
    messages: tuple[dict[str, Any], ...]
    """Everything recorded before the answer that is asked for."""
    tools: tuple[dict[str, Any], ...]


def steps(row: Row) -> list[Step]:
    """Return a row's steps; raise `RowFault` for a row that is no conversation with an answer in it."""
    messages = _messages(row)
    tools = _tools(row)
    cuts = [place for place, message in enumerate(messages) if message["role"] == "assistant" and place > 0]
    if not cuts:
        raise RowFault("messages hold no assistant's answer after the first, so there is no step to ask")
    return [Step(number, tuple(messages[:cut]), tools) for number, cut in enumerate(cuts, 1)]


def refusal(found: Found) -> SuiteError:
    """Check a file of conversations and return why it cannot be asked: its faults, or that steps have no place yet."""
    conversations = calls = 0
    faults: list[str] = []
    for _, place, row in rows(found.files):
        try:
            if isinstance(row, RowFault):
                raise row
            calls += len(steps(row))
            conversations += 1
        except RowFault as fault:
            faults.append(f"{place}: {fault}")
            if len(faults) == _MOST_FAULTS:
                break
    if faults:
        return SuiteError(f"{found.origin} has bad rows, so nothing of it was taken:\n  " + "\n  ".join(faults))
    return SuiteError(
        f"{found.origin} holds {conversations} conversations with {calls} steps that are asked after recorded answers "
        "and tools; suites hold the user's turns alone, so speed-bench/agentic cannot be asked, and nothing else is "
        "taken for it"
    )


def _messages(row: Row) -> list[dict[str, Any]]:
    field = "messages" if row.get("messages") is not None else "turns"
    value = row.get(field)
    if not isinstance(value, list) or not value or not all(isinstance(message, dict) for message in value):
        raise RowFault("has no messages: a list of objects with role and content, as agentic rows need")
    return [_message(message, f"{field}[{place}]") for place, message in enumerate(value)]


def _message(message: dict[str, Any], field: str) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise RowFault(f"{field}.role is {role!a}; it must be one of {', '.join(ROLES)}")
    calls = message.get("tool_calls") or []
    if not isinstance(content, str | list) and not (role == "assistant" and calls):
        raise RowFault(f"{field}.content is missing")
    kept: dict[str, Any] = {"role": role, "content": content}
    if calls:
        kept["tool_calls"] = [_call(call, f"{field}.tool_calls[{place}]") for place, call in enumerate(calls)]
    if role == "tool":
        if not isinstance(message.get("tool_call_id"), str):
            raise RowFault(f"{field}.tool_call_id is missing; a tool's answer names the call it belongs to")
        kept["tool_call_id"] = message["tool_call_id"]
    return kept


def _call(call: Any, field: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise RowFault(f"{field}.function.name is missing")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        arguments = _json(arguments, f"{field}.function.arguments")
    return {**call, "function": {**function, "arguments": arguments}}


def _tools(row: Row) -> tuple[dict[str, Any], ...]:
    value, field = row.get("tools"), "tools"
    if value is None and row.get("extras") is not None:
        extras = _json(row["extras"], "extras")
        if not isinstance(extras, dict):
            raise RowFault("extras is no object")
        value, field = extras.get("tools"), "extras.tools"
    tools = [] if value is None else _json(value, field)
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise RowFault(f"{field} is no list of objects")
    return tuple(tools)


def _json(value: Any, field: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as fault:
        raise RowFault(f"{field} is not JSON: {fault}") from fault
