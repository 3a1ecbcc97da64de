"""Warm-up prompts: of their own, never from a suite, and shaped like the measured ones.

The first turns of an engine pay for compilation, allocation and cold caches. They are spent on seeded nonsense of the
same length with the same token limit, so that nothing measured was seen before.
"""

from __future__ import annotations

import hashlib
from statistics import median
from typing import TYPE_CHECKING

from draftmark.suites.prompt import Prompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from draftmark.bench.plans.cells import Group
    from draftmark.suites.conversation import ConversationRenderer

_WORDS = """
amber basket candle drift ember fabric garden hollow island jacket kettle lantern meadow needle orchard pepper quarry
ribbon saddle timber velvet window yellow zephyr anchor bridge copper dinner feather gravel harbour ivory
""".split()  # noqa: SIM905 - a list of 32 quoted words would be a page


def shapes(groups: Sequence[Group], tokens: Mapping[tuple[str, str], int], turns: int) -> list[tuple[Group, int]]:
    """Return for each warm-up turn of an arm the group it stands for and the prompt tokens it should have.

    `tokens` maps (suite, question_id) to the first turn's prompt tokens. A group's shape is the median of its prompts;
    the most at once and then the longest come first, since they allocate most, and with more warm-up turns than groups
    they come round again.
    """
    wanted = [
        (group, round(median(tokens[group.suite.name, prompt.question_id] for prompt in group.suite.prompts)))
        for group in groups
    ]
    wanted.sort(key=lambda item: (-item[0].load.warm_up_at_once, -item[1]))
    return [wanted[turn % len(wanted)] for turn in range(turns)]


def warmup_prompt(number: int, tokens: int, renderer: ConversationRenderer | None) -> Prompt:
    """Return a prompt of about `tokens` rendered tokens; its words follow from `number` and nothing else.

    Without a renderer a word counts as a token.
    """
    words = 1
    while words < 4 * tokens and _length(number, words, renderer) < tokens:
        words *= 2
    low, high = words // 2, words
    while low + 1 < high:
        middle = (low + high) // 2
        if _length(number, middle, renderer) <= tokens:
            low = middle
        else:
            high = middle
    return Prompt(question_id=f"warm-up {number}", category="warm-up", turns=(_text(number, max(1, low)),))


def _length(number: int, words: int, renderer: ConversationRenderer | None) -> int:
    if renderer is None:
        return len(_text(number, words).split())
    return len(renderer.prompt_ids([{"role": "user", "content": _text(number, words)}]))


def _text(number: int, words: int) -> str:
    digest = hashlib.sha256(f"warm-up {number}".encode()).digest()
    chosen = [_WORDS[(digest[word % 32] + word // 32) % len(_WORDS)] for word in range(words)]
    return f"Warm-up {number}: go on with this list of words. " + " ".join(chosen)
