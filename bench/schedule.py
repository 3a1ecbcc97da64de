"""Who is asked what, when: the order of conversations and turns, the rotation of the arms, and each turn's seed.

Everything here is a pure function of the plan, so a resumed run goes on in the order that an unbroken one would have.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.bench.cells import Group
    from draftmark.suites.prompt import Prompt


@dataclass(frozen=True)
class Visit:
    """One turn of one conversation in one repeat, put to all arms before the next visit."""

    index: int
    """Running number over the backend's whole run; it sets the rotation."""
    group: Group
    prompt: Prompt
    turn_index: int
    repeat: int


def visits(groups: Sequence[Group], repeats: int) -> Iterator[Visit]:
    """Yield the visits of one backend: repeat by repeat, suite by suite, conversation by conversation, turn by turn."""
    index = 0
    for repeat in range(repeats):
        for group in groups:
            for prompt in group.suite.prompts:
                for turn_index in range(len(prompt.turns)):
                    yield Visit(index, group, prompt, turn_index, repeat)
                    index += 1


def rotation(index: int, arms: int) -> list[int]:
    """Return the order in which visit `index` asks `arms` arms, as their numbers.

    Rows of a balanced Latin square (Williams 1949): over any `arms` visits from a multiple of it, each arm takes each
    place once, and each follows each other equally often, since what an arm leaves behind (warm caches, heat) must not
    meet always the same one. For an odd number that takes two rounds, the second mirrored.
    """
    zigzag = [(place + 1) // 2 if place % 2 else -(place // 2) for place in range(arms)]
    row = [(number + index) % arms for number in zigzag]
    mirrored = arms % 2 == 1 and index // arms % 2 == 1
    return row[::-1] if mirrored else row


def turn_seed(root: int, suite: str, question_id: str, turn_index: int, repeat: int) -> int:
    """Return the seed of a turn, the same for all arms: 52 bits of sha256, which every engine and JSON reader holds."""
    text = json.dumps([root, suite, question_id, turn_index, repeat], ensure_ascii=True, separators=(",", ":"))
    return int(hashlib.sha256(text.encode()).hexdigest()[:13], 16)
