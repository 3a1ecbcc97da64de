"""A conversation as messages, with the arm's own answers between the user's turns, and hashes of what was asked."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.suites.prompt import Prompt


class ConversationRenderer(Protocol):
    """Turns messages into the target's token ids, and ids back into text."""

    def prompt_ids(self, messages: list[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None) -> list[int]:
        """Render messages, and the tools that they may call, with the target's template; raises `SuiteError`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens left out."""
        ...

    def without_option(self, name: str) -> ConversationRenderer:
        """Return one that does not tell the template an option."""
        ...


def messages(prompt: Prompt, answers: Sequence[str], *, reasoning: bool = False) -> list[dict[str, Any]]:
    """Return the messages that ask turn `len(answers)`: the user's turns so far with the answers between them.

    Of a recorded conversation it is what was recorded, whatever the answers; see `recorded`.
    """
    if prompt.messages is not None:
        return recorded(prompt, len(answers), reasoning=reasoning)
    conversation: list[dict[str, Any]] = [] if prompt.system is None else [{"role": "system", "content": prompt.system}]
    for turn, answer in zip(prompt.turns, answers, strict=False):
        conversation += [{"role": "user", "content": turn}, {"role": "assistant", "content": answer}]
    return [*conversation, {"role": "user", "content": prompt.turns[len(answers)]}]


def recorded(prompt: Prompt, turn_index: int, *, reasoning: bool = False) -> list[dict[str, Any]]:
    """Return the messages that ask a turn of a prompt that has `messages`; `reasoning` keeps recorded thinking."""
    if prompt.messages is None or prompt.asked is None:
        raise ValueError(f"question {prompt.question_id} has no recorded messages")
    asked = [one.as_sent() for one in prompt.messages[: prompt.asked[turn_index]]]
    left_out = () if reasoning else ("reasoning_content",)
    return [{key: value for key, value in one.items() if key not in left_out} for one in asked]


def ids_hash(ids: Sequence[int]) -> str:
    """sha256 of token ids as a JSON list without spaces."""
    return hashlib.sha256(json.dumps(list(ids), separators=(",", ":")).encode()).hexdigest()


def messages_hash(conversation: Sequence[dict[str, Any]]) -> str:
    """sha256 of a conversation's canonical JSON, for engines that are asked in messages."""
    return _json_hash(list(conversation))


def request_hash(asked: str, **more: Any) -> str:
    """sha256 of what a turn is asked and of what its request has besides; the first alone where that is all null.

    Args:
        asked: Hash of the ids or messages.
        more: What else the answer depends on, by name, as JSON values or null.
    """
    there = {name: value for name, value in more.items() if value is not None}
    return _json_hash({"asked": asked, **there}) if there else asked


def _json_hash(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def text_hash(text: str) -> str:
    """sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
