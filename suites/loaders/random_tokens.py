"""The `random` suite: prompts of random vocabulary entries or words, of an exact length in the target's tokens.

They are for tests of an engine, not for numbers about use: what a drafter gains depends on what is said, and random
prompts say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field, NonNegativeInt, PositiveInt

from draftmark.results.records import SuiteCaution
from draftmark.suites.builtin.draws import Draws
from draftmark.suites.builtin.exact_length import fit
from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteError, SuiteSpec
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

CAUTION = SuiteCaution(
    text=(
        "These prompts are random, not text: SPEED-Bench (arXiv 2604.09557) found that random tokens overestimate the "
        "throughput of speculative decoding by about 23% against real prompts. Use them to try an engine, never to "
        "state a speed."
    )
)
DEFAULT_PROMPTS = 100
DEFAULT_PROMPT_TOKENS = 1000

_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwz", "aeiou"
_TRIES = 200


class VocabularyRenderer(PromptRenderer, Protocol):
    """A renderer with the target's tokenizer, whose length is its vocabulary's."""

    tokenizer: Any

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens left out."""
        ...


class RandomSpec(SuiteSpec):
    """Random prompts of an exact length, built for the target's tokenizer."""

    kind: Literal["random"] = "random"
    prompts: Annotated[PositiveInt, Field(le=100_000)] = DEFAULT_PROMPTS
    """How many there are."""
    prompt_tokens: PositiveInt = DEFAULT_PROMPT_TOKENS
    """Tokens of each, chat template included."""
    of: Literal["tokens", "words"] = "tokens"
    """Entries of the target's vocabulary, each as likely as any other, or made-up words."""
    seed: NonNegativeInt = 0

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Build the prompts; raise `SuiteError` without a renderer, or where the length cannot be hit."""
        name = f"random-{self.of}-{self.prompt_tokens}"
        if renderer is None or not (hasattr(renderer, "tokenizer") and hasattr(renderer, "decode")):
            raise SuiteError(
                f"{name} is built for a target's tokens; name a target whose tokenizer can be loaded "
                "(--target smollm2-135m, in a plan target: smollm2-135m)"
            )
        known = [_Place(f"{name}-{number}") for number in range(1, self.prompts + 1)]
        chosen = [known[index] for index in choose(known, self.limit, self.subset_seed)]
        prompts = tuple(self._prompt(place.question_id, renderer) for place in chosen)  # type: ignore[arg-type]
        return Suite(
            name=name,
            prompts=prompts,
            licence="Apache-2.0",
            source=f"drawn with seed {self.seed}",
            selection=describe(len(prompts), len(known), self.subset_seed),
            caution=CAUTION,
        )

    def _prompt(self, question_id: str, renderer: VocabularyRenderer) -> Prompt:
        draws = Draws(f"random {self.seed} {question_id}")
        pieces = [
            _entry(draws, renderer) if self.of == "tokens" else _word(draws) for _ in range(2 * self.prompt_tokens)
        ]
        joint = "" if self.of == "tokens" else " "

        def count(text: str) -> int:
            return len(renderer.prompt_ids([{"role": "user", "content": text}]))

        try:
            text = fit(
                lambda units, filler: f"{joint.join(pieces[:units])} {filler}".strip(),
                count,
                self.prompt_tokens,
                [_word(draws) for _ in range(50)],
                least_units=0,
                most_units=len(pieces),
            )
        except SuiteError as fault:
            raise SuiteError(f"{question_id}: {fault}") from fault
        return Prompt(
            question_id=question_id,
            category="random",
            sub_category=self.of,
            turns=(text,),
            prompt_tokens=self.prompt_tokens,
        )


class _Place:
    """A prompt that is not built yet, as the choice of a subset sees it."""

    category = "random"
    sub_category = None

    def __init__(self, question_id: str) -> None:
        self.question_id = question_id


def _entry(draws: Draws, renderer: VocabularyRenderer) -> str:
    """Draw entries of the vocabulary until one is text: no special token, no part of a character."""
    for _ in range(_TRIES):
        text = renderer.decode([draws.below(len(renderer.tokenizer))])
        if text and "\ufffd" not in text and text.replace(" ", "").replace("\n", "").isprintable():
            return text
    raise SuiteError(f"{_TRIES} entries of the vocabulary in a row are no text; set of: words")


def _word(draws: Draws) -> str:
    return "".join(draws.pick(_VOWELS if place % 2 else _CONSONANTS) for place in range(draws.between(2, 8)))
