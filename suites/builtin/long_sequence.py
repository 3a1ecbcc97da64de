"""The suites long-sequence and throughput-*: prompts of an exact length after the chat template, in three entropies.

A subset is chosen among the recipes first; only what was chosen is built. Each prompt is built for one tokenizer, so
its text, and the suite's hash, belong to target and length; the material in it is frozen.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from draftmark.suites.builtin.corpus import prose_from
from draftmark.suites.builtin.draws import Draws
from draftmark.suites.builtin.exact_length import fit, most_that_fit
from draftmark.suites.builtin.recipes import Entropy, Recipe, recipes
from draftmark.suites.prompt import Prompt, SuiteError
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from draftmark.suites.prompt import PromptRenderer

CATEGORY = "long-sequence"

_LEAST_UNITS = 1
_RECORDS_SHARE = 0.45
"""Of a mixed prompt's tokens, what its generated part may take."""

_TERMS = (
    "time", "water", "house", "stone", "paper", "light", "table", "river", "music", "glass", "field", "bread",
    "clock", "cloud", "night", "north", "metal", "horse", "chair", "plant", "board", "grass", "voice", "winter",
    "summer", "garden", "letter", "bridge", "market", "window", "island", "silver", "forest", "school", "engine",
    "button", "copper", "valley", "yellow",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Choice:
    """A recipe as the choice of a subset sees it."""

    recipe: Recipe

    @property
    def question_id(self) -> str:
        return f"long-{self.recipe.entropy}-{self.recipe.name}"

    @property
    def category(self) -> str:
        return CATEGORY

    @property
    def sub_category(self) -> str:
        return self.recipe.entropy


def build(
    renderer: PromptRenderer | None,
    *,
    name: str,
    prompt_tokens: int,
    entropies: Collection[Entropy],
    limit: int | None,
    seed: int,
) -> tuple[tuple[Prompt, ...], str]:
    """Build the prompts and say in words which were taken.

    Raises `SuiteError` without a renderer, and where a prompt cannot be made exactly that long.
    """
    if renderer is None:
        raise SuiteError(
            f"builtin/{name} builds prompts of an exact number of the target's tokens, and the target's "
            "tokenizer is not at hand; name a target whose tokenizer can be loaded (--target smollm2-135m, in a plan "
            "target: smollm2-135m), or leave the suite out"
        )
    offered = [_Choice(recipe) for recipe in recipes() if recipe.entropy in entropies]
    chosen = [offered[index] for index in choose(offered, limit, seed)]
    prompts = tuple(_prompt(choice, renderer, name, prompt_tokens) for choice in chosen)
    return prompts, describe(len(prompts), len(offered), seed)


def _prompt(choice: _Choice, renderer: PromptRenderer, name: str, prompt_tokens: int) -> Prompt:
    def count(text: str) -> int:
        return len(renderer.prompt_ids([{"role": "user", "content": text}]))

    try:
        turn = _exact_turn(choice.recipe, count, prompt_tokens)
    except SuiteError as fault:
        raise SuiteError(f"builtin/{name}, prompt {choice.question_id}: {fault}") from fault
    return Prompt(
        question_id=choice.question_id,
        category=choice.category,
        sub_category=choice.sub_category,
        turns=(turn,),
        source="draftmark",
        prompt_tokens=prompt_tokens,
    )


def _exact_turn(recipe: Recipe, count: Callable[[str], int], target: int) -> str:
    draws = Draws(f"draftmark long-sequence {recipe.entropy} {recipe.name}")
    words = draws.shuffled(_TERMS)
    records = _Records(recipe.records(draws)) if recipe.records else None

    if recipe.prose is None:
        if records is None:
            raise SuiteError("its recipe has no material")
        return fit(
            lambda units, filler: _assemble(recipe, filler, recipe.heading + records.first(units)),
            count, target, words, least_units=_LEAST_UNITS, most_units=target,
        )  # fmt: skip
    sentences = prose_from(recipe.prose)
    beside = _beside(recipe, records, count, int(target * _RECORDS_SHARE)) if records else ""
    return fit(
        lambda units, filler: _assemble(recipe, filler, beside + "".join(sentences[:units]).strip()),
        count, target, words, least_units=_LEAST_UNITS, most_units=len(sentences),
    )  # fmt: skip


def _beside(recipe: Recipe, records: _Records, count: Callable[[str], int], room: int) -> str:
    """Return the generated part of a mixed prompt, about `room` tokens of it."""
    units = most_that_fit(lambda n: count(recipe.heading + records.first(n)), room, 1, room)
    return recipe.heading + records.first(units).rstrip("\n") + "\n\n"


def _assemble(recipe: Recipe, filler: str, material: str) -> str:
    closing = material.rstrip("\n")
    return f"{recipe.opening}\nIndex terms: {filler}\n\n{closing}\n\n{recipe.question}"


class _Records:
    """The first so many records of an endless generator, kept so that more of them never changes the ones before."""

    def __init__(self, source: Iterator[str]) -> None:
        self._source = source
        self._held: list[str] = []

    def first(self, number: int) -> str:
        self._held += islice(self._source, max(number - len(self._held), 0))
        return "".join(self._held[:number])
