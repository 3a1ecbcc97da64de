"""The reference engine against transformers' generate: same weights, prompts, threads, precision and token counts.

transformers gets the fastest of several configurations, found in the same run. Both sides answer the same prompts in
turns, so that what drifts on the machine drifts for both. Times are end to end, prefill included.
"""

from __future__ import annotations

import asyncio
import copy
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from draftmark.backends.base import TurnRequest
from draftmark.backends.models import locate
from draftmark.backends.reference import ReferenceSpec
from draftmark.backends.reference.backend import ReferenceBackend
from draftmark.backends.registry import DRAFTERS
from draftmark.results.records import Sampling
from draftmark.suites.builtin import BuiltinSpec
from draftmark.suites.rendering import Renderer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

MODEL = "smollm2-135m"
TOKENS = 48
ROUNDS = 5
DROPPED = [3, 12, 14, 17, 25, 26]
SAMPLING = Sampling(max_tokens=TOKENS, ignore_eos=True)

ARMS: dict[str, dict[str, Any]] = {
    "none": {"kind": "none"},
    "ngram": {"kind": "ngram", "draft_length": 3, "max_match": 3},
    "draft-model": {"kind": "draft-model", "model": MODEL, "drop_layers": DROPPED, "draft_length": 3},
}


@dataclass(frozen=True)
class Sides:
    """Both sides, loaded."""

    backend: ReferenceBackend
    theirs: Any
    assistant: Any
    prompts: list[tuple[int, ...]]


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    place, arguments = locate(MODEL).pretrained()
    renderer = Renderer.load(place, **arguments)
    suites = [BuiltinSpec(kind="builtin", name=name, limit=2).load(renderer) for name in ("coding", "summarization")]
    turns = [prompt.turns[0] for suite in suites for prompt in suite.prompts]
    backend = ReferenceBackend(MODEL, ReferenceSpec(kind="reference"))
    backend.start([arm for spec in ARMS.values() for arm in DRAFTERS.resolve(spec["kind"]).model_validate(spec).arms()])
    theirs = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **arguments).eval()
    yield Sides(
        backend=backend,
        theirs=theirs,
        assistant=_without_layers(theirs),
        prompts=[tuple(renderer.prompt_ids([{"role": "user", "content": turn}])) for turn in turns],
    )
    backend.stop()


def _without_layers(model: Any) -> Any:
    """Return transformers' own model less the dropped layers, as the draft model has it."""
    smaller = copy.deepcopy(model)
    smaller.model.layers = torch.nn.ModuleList(
        layer for index, layer in enumerate(smaller.model.layers) if index not in DROPPED
    )
    for place, layer in enumerate(smaller.model.layers):
        layer.self_attn.layer_idx = place
    smaller.config.num_hidden_layers = len(smaller.model.layers)
    smaller.generation_config.num_assistant_tokens = 3
    smaller.generation_config.num_assistant_tokens_schedule = "constant"
    smaller.generation_config.assistant_confidence_threshold = 0.0
    return smaller


def _ours(sides: Sides, arm: str) -> list[list[int]]:
    (wanted,) = DRAFTERS.resolve(ARMS[arm]["kind"]).model_validate(ARMS[arm]).arms()
    answers = []
    for prompt in sides.prompts:
        request = TurnRequest(prompt_ids=prompt, sampling=SAMPLING, seed=0)
        answers.append(asyncio.run(sides.backend.generate(wanted, request)).output_ids or [])
    return answers


def _theirs(sides: Sides, attention: str, options: dict[str, Any]) -> list[list[int]]:
    sides.theirs.set_attn_implementation(attention)
    sides.assistant.set_attn_implementation(attention)
    answers = []
    for prompt in sides.prompts:
        ids = torch.tensor([prompt])
        found = sides.theirs.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=TOKENS,
            min_new_tokens=TOKENS,
            **options,
        )
        answers.append(found[0, len(prompt) :].tolist())
    return answers


def _configurations(sides: Sides, arm: str) -> dict[str, Callable[[], list[list[int]]]]:
    """Return the ways in which transformers can do what the arm does."""
    speculation: dict[str, dict[str, Any]] = {
        "none": {},
        "ngram": {"prompt_lookup_num_tokens": 3, "max_matching_ngram_size": 3},
        "draft-model": {"assistant_model": sides.assistant},
    }
    caches: dict[str, dict[str, Any]] = {"dynamic cache": {}}
    if arm == "none":  # assisted generation takes the growing cache only
        caches["static cache"] = {"cache_implementation": "static", "disable_compile": True}
    return {
        f"{attention}, {name}": lambda attention=attention, cache=cache: _theirs(  # type: ignore[misc]
            sides, attention, {**speculation[arm], **cache}
        )
        for attention in ("sdpa", "eager")
        for name, cache in caches.items()
    }


def _timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


@pytest.mark.parametrize("arm", list(ARMS))
def test_against_transformers(arm: str, sides: Sides, benchmark: BenchmarkFixture, tell: Callable[[str], None]) -> None:
    configurations = _configurations(sides, arm)
    trials = {name: min(_timed(run), _timed(run)) for name, run in configurations.items()}
    fastest = min(trials, key=lambda name: trials[name])
    ours, theirs = _ours(sides, arm), configurations[fastest]()
    assert [len(answer) for answer in ours] == [TOKENS] * len(sides.prompts)
    agreed = sum(mine == other for mine, other in zip(ours, theirs, strict=True))

    pairs: list[tuple[float, float]] = []

    def one_round() -> None:
        first = len(pairs) % 2
        timed = [_timed(run) for run in (lambda: _ours(sides, arm), configurations[fastest])[:: -1 if first else 1]]
        pairs.append((timed[first], timed[1 - first]))

    benchmark.pedantic(one_round, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    pairs = pairs[1:]
    tokens = TOKENS * len(sides.prompts)
    ratio = statistics.median(other / mine for mine, other in pairs)
    rates = [tokens / statistics.median(pair[side] for pair in pairs) for side in (0, 1)]
    benchmark.extra_info.update(
        ratio=ratio, ours_tokens_per_s=rates[0], theirs_tokens_per_s=rates[1], theirs=fastest, equal_answers=agreed
    )
    tell(
        f"{arm}: {ratio:.2f}x transformers ({rates[0]:.1f} against {rates[1]:.1f} tok/s with {fastest}; "
        f"{min(o / m for m, o in pairs):.2f} to {max(o / m for m, o in pairs):.2f} over {len(pairs)} rounds; "
        f"{agreed} of {len(ours)} answers equal)"
    )


def test_share_of_the_memory_bandwidth(sides: Sides, benchmark: BenchmarkFixture, tell: Callable[[str], None]) -> None:
    """One token reads every weight once; the bound is what reading them alone would take."""
    (arm,) = DRAFTERS.resolve("none")(kind="none").arms()
    weights = sum(parameter.numel() * parameter.element_size() for parameter in sides.theirs.parameters())
    block = torch.ones(weights // 4)
    reading = min(_timed(block.sum) for _ in range(20))

    def step_time() -> float:
        request = TurnRequest(prompt_ids=sides.prompts[0], sampling=SAMPLING, seed=0)
        seen = asyncio.run(sides.backend.generate(arm, request))
        assert seen.steps is not None
        assert seen.steps.step_s is not None
        return statistics.median(seen.steps.step_s)

    step = benchmark.pedantic(step_time, rounds=3, iterations=1, warmup_rounds=1)
    benchmark.extra_info.update(step_ms=1e3 * step, bound_ms=1e3 * reading)
    tell(
        f"one step of {MODEL} in float32: {1e3 * step:.1f} ms; reading its {weights / 1e6:.0f} MB of weights alone: "
        f"{1e3 * reading:.1f} ms ({weights / reading / 1e9:.1f} GB/s); share of the bound {reading / step:.0%}"
    )
