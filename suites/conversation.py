"""A conversation as messages, with the arm's own answers between the user's turns, and hashes of what was asked."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.suites.prompt import Prompt


class ConversationRenderer(Protocol):
    """Turns messages into the target's token ids, and ids back into text."""

    def prompt_ids(self, messages: list[dict[str, str]]) -> list[int]:
        """Render role/content messages with the target's own template; raises `SuiteError`."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens left out."""
        ...


def messages(prompt: Prompt, answers: Sequence[str]) -> list[dict[str, str]]:
    """Return the messages that ask turn `len(answers)`: the user's turns so far with the answers between them.

    Of a recorded conversation it is what was recorded, whatever the answers.
    """
    if prompt.messages is not None:
        return recorded(prompt, len(answers))
    conversation = [] if prompt.system is None else [{"role": "system", "content": prompt.system}]
    for turn, answer in zip(prompt.turns, answers, strict=False):
        conversation += [{"role": "user", "content": turn}, {"role": "assistant", "content": answer}]
    return [*conversation, {"role": "user", "content": prompt.turns[len(answers)]}]


def recorded(prompt: Prompt, turn_index: int) -> list[dict[str, str]]:
    """Return the messages that ask a turn of a prompt that has `messages`."""
    if prompt.messages is None or prompt.asked is None:
        raise ValueError(f"question {prompt.question_id} has no recorded messages")
    return [{"role": one.role, "content": one.content} for one in prompt.messages[: prompt.asked[turn_index]]]


def ids_hash(ids: Sequence[int]) -> str:
    """sha256 of token ids as a JSON list without spaces."""
    return hashlib.sha256(json.dumps(list(ids), separators=(",", ":")).encode()).hexdigest()


def messages_hash(conversation: Sequence[dict[str, str]]) -> str:
    """sha256 of a conversation's canonical JSON, for engines that are asked in messages."""
    text = json.dumps(list(conversation), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def text_hash(text: str) -> str:
    """sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
