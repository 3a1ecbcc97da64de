"""Say how much of its text each prompt of a throughput suite has in common with the others, at every length.

A shingle is eight words in a row, letters and digits alone, in small letters. What is counted of a prompt is the share
of its distinct shingles that stand in another prompt of the suite, too. Usage: shared_material.py [TARGET]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import combinations
from statistics import mean

from draftmark.backends.models import locate
from draftmark.suites.builtin import BuiltinSpec
from draftmark.suites.builtin.spec import ENTROPIES, LENGTHS
from draftmark.suites.rendering import Renderer

WORDS = 8

Shingles = frozenset[tuple[str, ...]]


def shingles(text: str) -> Shingles:
    """Return every run of `WORDS` words, once each."""
    words = re.findall(r"\w+", text.lower())
    return frozenset(zip(*(words[start:] for start in range(WORDS)), strict=False))


def shared(texts: list[Shingles]) -> list[float]:
    """Return for each text the share of its shingles, 0 to 1, that another of the texts has too."""
    holders = Counter(shingle for text in texts for shingle in text)
    return [sum(holders[shingle] > 1 for shingle in text) / len(text) for text in texts]


def closest(texts: dict[str, Shingles]) -> tuple[float, str, str]:
    """Return the largest share of the smaller set that two texts have in common, and their names."""
    pairs = combinations(texts, 2)
    return max((len(texts[a] & texts[b]) / min(len(texts[a]), len(texts[b])), a, b) for a, b in pairs)


def main(target: str) -> None:
    """Print a row for each length; means are over the prompts of a level."""
    name, options = locate(target).pretrained()
    renderer = Renderer.load(name, **options)
    print(f"Shingles of {WORDS} words shared with another prompt of the suite, as built for {target}\n")
    levels = [*ENTROPIES, "high, with high alone", "all"]
    print(f"| suite | {' | '.join(levels)} | closest pair | which |\n|---|{'---|' * (len(levels) + 2)}")
    for suite in LENGTHS:
        prompts = BuiltinSpec.model_validate({"name": suite}).load(renderer).prompts
        texts = {prompt.question_id: shingles(prompt.turns[0]) for prompt in prompts}
        shares = dict(zip(texts, shared(list(texts.values())), strict=True))
        level_of = {prompt.question_id: prompt.sub_category for prompt in prompts}
        means = [mean(share for name, share in shares.items() if level_of[name] == level) for level in ENTROPIES]
        means.append(mean(shared([text for name, text in texts.items() if level_of[name] == "high"])))
        means.append(mean(shares.values()))
        share, *which = closest(texts)
        print(f"| {suite} | {' | '.join(f'{m:.0%}' for m in means)} | {share:.0%} | {', '.join(which)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["smollm2-135m"])
