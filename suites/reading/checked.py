"""What is kept of a row that was checked, until its text is read: enough to choose it, and to see that it changed."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.suites.prompt import Prompt

MOST_REPEATS = 2
"""Rows with the same text that pass; more look like stand-ins for texts that were withheld."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked row without its text; equal to that of a later reading only if the same would be asked."""

    question_id: str
    category: str | None
    sub_category: str | None
    digest: bytes

    @classmethod
    def of(cls, prompt: Prompt) -> Checked:
        """Return what is kept of a row's prompt."""
        return cls(prompt.question_id, prompt.category, prompt.sub_category, digest(prompt))


def digest(prompt: Prompt) -> bytes:
    """Return 16 bytes that two prompts share only if they ask the same thing."""
    told: list[Any] = [prompt.system, *prompt.turns, *(message.as_sent() for message in prompt.messages or ())]
    told += [prompt.tools, prompt.response_format]
    return hashlib.sha256(json.dumps(told).encode()).digest()[:16]


def repeated(digests: Iterable[bytes]) -> list[int]:
    """Return the places, ascending, of rows that ask the same thing as `MOST_REPEATS` others or more."""
    places: defaultdict[bytes, list[int]] = defaultdict(list)
    for place, found in enumerate(digests):
        places[found].append(place)
    return sorted(place for group in places.values() if len(group) > MOST_REPEATS for place in group)
