"""Random prompts of an exact length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.suites.loaders.random_tokens import RandomSpec
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from draftmark.suites.rendering import Renderer


@pytest.mark.parametrize("of", ["tokens", "words"])
def test_every_prompt_has_exactly_the_tokens_that_were_asked_for(renderer: Renderer, of: str) -> None:
    suite = RandomSpec(prompts=5, prompt_tokens=120, of=of).load(renderer)  # type: ignore[arg-type]
    for prompt in suite.prompts:
        assert len(renderer.prompt_ids([{"role": "user", "content": prompt.turns[0]}])) == 120
        assert prompt.prompt_tokens == 120
    assert len({prompt.turns for prompt in suite.prompts}) == 5


def test_the_same_seed_draws_the_same_and_another_does_not(renderer: Renderer) -> None:
    first, again, other = (RandomSpec(prompts=3, prompt_tokens=60, seed=seed).load(renderer).hash for seed in (1, 1, 2))
    assert first == again != other


def test_a_subset_holds_prompts_of_the_whole(renderer: Renderer) -> None:
    whole = RandomSpec(prompts=6, prompt_tokens=40).load(renderer)
    part = RandomSpec(prompts=6, prompt_tokens=40, limit=2).load(renderer)
    assert len(part.prompts) == 2
    assert set(part.prompts) <= set(whole.prompts)


def test_the_warning_names_number_and_source_for_every_arm(renderer: Renderer) -> None:
    caution = RandomSpec(prompts=1, prompt_tokens=40).load(renderer).caution
    assert caution is not None
    assert "about 23%" in caution.text
    assert "2604.09557" in caution.text
    assert caution.drafters == ()


def test_without_a_target_it_says_what_it_needs() -> None:
    with pytest.raises(SuiteError, match="name a target whose tokenizer can be loaded"):
        RandomSpec().load(None)


def test_a_length_below_the_templates_own_is_refused(renderer: Renderer) -> None:
    with pytest.raises(SuiteError, match=r"random-tokens-1-1: it has at least \d+ tokens"):
        RandomSpec(prompts=1, prompt_tokens=1).load(renderer)
