"""Above temperature 0 whole answers follow the target's distribution, whoever drafts; a wrong drafter fails the test.

The targets are small enough to enumerate every answer of three tokens. Where a stand-in is used its logits depend on
the whole prefix, so a cache that holds a rejected token shows too.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import torch

from draftmark.backends.base import TurnRequest
from draftmark.backends.reference.choosing import Greedy
from draftmark.backends.reference.clock import HostClock
from draftmark.backends.reference.drafters import Draft
from draftmark.backends.reference.drafters.draft_model import DraftModelDrafter
from draftmark.backends.reference.drafters.ngram import NgramDrafter
from draftmark.backends.reference.engine import Engine
from draftmark.backends.reference.sampling import probabilities
from draftmark.results.metrics.distribution import goodness_of_fit
from draftmark.results.records import Arm, Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

VOCABULARY = 8
PROMPT = (1, 2, 3, 1, 2)
CPU = torch.device("cpu")
SAMPLINGS = [
    Sampling(temperature=1.0, max_tokens=3),
    Sampling(temperature=1.5, top_k=4, max_tokens=3),
    Sampling(temperature=0.7, top_p=0.8, max_tokens=3),
]


def prefix_model(salt: int) -> Callable[[tuple[int, ...]], torch.Tensor]:
    """Random logits of their own for every prefix."""

    @functools.cache
    def logits_after(prefix: tuple[int, ...]) -> torch.Tensor:
        seed = functools.reduce(lambda seed, token: (seed * 31 + token + 1) % 2**40, prefix, salt)
        return 2 * torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(seed))

    return logits_after


def answers(next_token: Callable[[Sequence[int]], list[float]]) -> dict[tuple[int, ...], float]:
    """Every answer of three tokens and its probability."""
    found = {(): 1.0}
    for _ in range(3):
        found = {
            (*answer, token): chance * share
            for answer, chance in found.items()
            for token, share in enumerate(next_token([*PROMPT, *answer]) if chance else [])
        }
    return found


def fit(expected: dict[tuple[int, ...], float], drawn: Counter[tuple[int, ...]]) -> Any:
    assert set(drawn) <= set(expected)
    total = sum(expected.values())
    return goodness_of_fit([drawn[answer] for answer in expected], [share / total for share in expected.values()])


class GreedyInDisguise(DraftModelDrafter):
    """Proposes the draft model's likeliest tokens, but claims to have drawn them."""

    def propose(self, context: Sequence[int], room: int, chooser: Any) -> Draft:
        honest = super().propose(context, room, chooser)
        if room == 0:
            return honest
        self.rollback(len(context) - 1)
        certain = super().propose(context, room, Greedy())
        return Draft(certain.tokens, honest.probabilities)


@pytest.fixture
def draw_answers(stand_ins: Any) -> Callable[..., Counter[tuple[int, ...]]]:
    """Draw answers of three tokens from an engine on the prefix model 1, seeds 0 to n - 1."""

    def run(drafter: Any, sampling: Sampling, n: int = 1500) -> Counter[tuple[int, ...]]:
        reader = stand_ins.Reader(stand_ins.Model(vocabulary=VOCABULARY), prefix_model(1))
        engine = Engine(reader, HostClock())
        seen: Counter[tuple[int, ...]] = Counter()
        for seed in range(n):
            seen[tuple(engine.answer(TurnRequest(PROMPT, sampling, seed), drafter, 2).output_ids or ())] += 1
        return seen

    return run


@pytest.fixture
def draft_model(stand_ins: Any) -> Callable[..., DraftModelDrafter]:
    """A draft model with another distribution than the target's."""

    def build(kind: type[DraftModelDrafter] = DraftModelDrafter) -> DraftModelDrafter:
        reader = stand_ins.Reader(stand_ins.Model(vocabulary=VOCABULARY), prefix_model(2))
        return kind(reader, VOCABULARY, {})

    return build


def truth(sampling: Sampling) -> dict[tuple[int, ...], float]:
    model = prefix_model(1)
    return answers(lambda prefix: probabilities(model(tuple(prefix))[None], sampling)[0].tolist())


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=lambda sampling: f"T{sampling.temperature}")
def test_a_draft_model_of_another_distribution_leaves_the_targets(
    sampling: Sampling, draft_model: Any, draw_answers: Any
) -> None:
    found = fit(truth(sampling), draw_answers(draft_model(), sampling))
    assert found.passed, found.reason


@pytest.mark.parametrize("sampling", SAMPLINGS[1:], ids=lambda sampling: f"T{sampling.temperature}")
def test_prompt_lookup_leaves_the_targets_distribution(sampling: Sampling, draw_answers: Any) -> None:
    found = fit(truth(sampling), draw_answers(NgramDrafter(1, 3, CPU), sampling))
    assert found.passed, found.reason


def test_a_drafter_that_proposes_its_likeliest_token_and_claims_to_sample_is_found_out(
    draft_model: Any, draw_answers: Any
) -> None:
    sampling = SAMPLINGS[0]
    assert fit(truth(sampling), draw_answers(draft_model(GreedyInDisguise), sampling, 500)).passed is False


def test_a_distribution_of_another_temperature_is_found_out(draft_model: Any, draw_answers: Any) -> None:
    drawn = draw_answers(draft_model(), SAMPLINGS[2], 500)
    assert fit(truth(SAMPLINGS[0]), drawn).passed is False


def test_a_real_model_drafting_for_another_leaves_the_targets_distribution(
    start: Any, ask: Any, target: str, other: str
) -> None:
    """Everything real: KV caches, rollback, two models; top-k keeps the answers enumerable."""
    arm = Arm(drafter="draft-model", draft_length=2, options={"model": other})
    backend = start(target, arm)
    rule = {"temperature": 1.6, "top_k": 3, "max_tokens": 3, "ignore_eos": True}
    expected = answers(lambda prefix: backend.next_token_probabilities(prefix, Sampling(**rule)))
    drawn = Counter(tuple(ask(backend, arm, PROMPT, seed, **rule).output_ids) for seed in range(400))
    found = fit({answer: share for answer, share in expected.items() if share > 0}, drawn)
    assert found.passed, found.reason
    assert found.degrees > 5


@pytest.mark.parametrize("drafter", ["ngram", "draft-model"])
def test_the_same_seed_gives_the_same_answer_and_another_seed_another(
    drafter: str, start: Any, ask: Any, target: str, other: str
) -> None:
    options = {"model": other} if drafter == "draft-model" else {}
    arm = Arm(drafter=drafter, draft_length=3, options=options)
    backend = start(target, arm)
    first, again, changed = (
        ask(backend, arm, PROMPT, seed, temperature=1.0, max_tokens=24).output_ids for seed in (5, 5, 6)
    )
    assert first == again
    assert first != changed


def test_sampling_uses_the_draft_models_tokens(start: Any, ask: Any, target: str) -> None:
    """The target drafting for itself is nearly always right, also when sampling."""
    arm = Arm(drafter="draft-model", draft_length=3, options={"model": target})
    backend = start(target, arm)
    seen = ask(backend, arm, PROMPT, 1, temperature=1.0, max_tokens=41, ignore_eos=True)
    assert seen.steps.drafted == [3] * 10
    assert seen.steps.accepted == list(itertools.repeat(3, 10))
