"""Say how alike the prompts of each built-in suite are, by the embeddings that the package wordllama ships.

The figure is the mean cosine similarity over all pairs of prompts, lower being more diverse, and beside it the closest
pair. Further suites are named as a plan names them, in JSON: `{"kind": "mt-bench", "path": "question.jsonl"}`.
"""

from __future__ import annotations

import json
import logging
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from draftmark.suites.builtin import BuiltinSpec
from draftmark.suites.builtin.spec import SHIPPED
from draftmark.suites.registry import SUITES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.suites.prompt import Prompt

MODEL = "l2_supercat"
DIMENSIONS = 256


class Spread(NamedTuple):
    """How alike the texts of one set are."""

    prompts: int
    mean: float
    """Mean cosine similarity of all pairs."""
    most: float
    """That of the closest pair."""
    closest: tuple[str, str]
    """The ids of that pair."""


def conversation(prompt: Prompt) -> str:
    """Return what is sent of a prompt: the system message and every turn, with a blank line in between."""
    if prompt.messages is not None:
        return "\n\n".join(message.content for message in prompt.messages if message.content)
    return "\n\n".join([prompt.system] * (prompt.system is not None) + list(prompt.turns))


@cache
def _model() -> Any:
    """Load the weights and the tokenizer inside the package; nothing is looked for in a cache or on a network."""
    logging.basicConfig(level=logging.WARNING)  # or wordllama sets the root logger to INFO
    import wordllama

    packaged = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(MODEL, dim=DIMENSIONS, cache_dir=packaged, disable_download=True)


def embed(texts: Sequence[str]) -> np.ndarray:
    """Return a unit vector for each text, of shape (texts, 256): the mean direction of its tokens, however many."""
    return _model().embed(list(texts), norm=True, batch_size=16)


def spread(ids: Sequence[str], vectors: np.ndarray) -> Spread:
    """Compare every pair of two or more unit vectors, of shape (prompts, dimensions)."""
    one, other = np.triu_indices(len(ids), 1)
    cosines = (vectors @ vectors.T)[one, other]
    closest = int(cosines.argmax())
    return Spread(len(ids), float(cosines.mean()), float(cosines[closest]), (ids[one[closest]], ids[other[closest]]))


def measure(prompts: Sequence[Prompt]) -> Spread:
    """Embed whole conversations and compare them."""
    return spread([prompt.question_id for prompt in prompts], embed([conversation(prompt) for prompt in prompts]))


def main(entries: Sequence[str]) -> None:
    """Print a row for each built-in suite, one for all of them, HumanEval, and what was asked for beside."""
    sets: dict[str, Sequence[Prompt]] = {name: BuiltinSpec(name=name).load(None).prompts for name in SHIPPED}
    sets["all eleven"] = [prompt for prompts in sets.values() for prompt in prompts]
    for entry in [{"kind": "humaneval"}, *map(json.loads, entries)]:
        suite = SUITES.resolve(entry["kind"]).model_validate(entry).load(None)
        sets[suite.name] = suite.prompts
        for category in dict.fromkeys(prompt.category for prompt in suite.prompts):
            part = [prompt for prompt in suite.prompts if prompt.category == category]
            if 1 < len(part) < len(suite.prompts):
                sets[f"{suite.name}, {category}"] = part
    print(
        f"Cosine similarity of whole conversations, wordllama {version('wordllama')}, {MODEL}, {DIMENSIONS} dimensions"
    )
    print("\n| prompts | number | mean of all pairs | closest pair | which |\n|---|---|---|---|---|")
    for name, prompts in sets.items():
        found = measure(prompts)
        print(f"| {name} | {found.prompts} | {found.mean:.2f} | {found.most:.2f} | {', '.join(found.closest)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
