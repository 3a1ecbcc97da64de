"""The KV cache and the attention give what a fresh forward pass gives, for several kinds of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, MambaConfig, MistralConfig, MistralForCausalLM

from draftmark.backends.base import BackendError
from draftmark.backends.reference import attention
from draftmark.backends.reference.cache import RollbackCache, cache_layers
from draftmark.results.records import Arm

if TYPE_CHECKING:
    from collections.abc import Callable

NONE = Arm(drafter="none", draft_length=0)
SIZES = {"vocab_size": 40, "bos_token_id": None, "eos_token_id": None, "initializer_range": 0.3}


def sliding() -> Any:
    """Attention over the last 8 tokens only."""
    return MistralForCausalLM(
        MistralConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            sliding_window=8,
            max_position_embeddings=128,
            **SIZES,
        )
    )


def gpt2() -> Any:
    return GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, n_positions=128, **SIZES))


@pytest.fixture(scope="module", params=["llama", "sliding", "gpt2"])
def model(request: Any, tmp_path_factory: pytest.TempPathFactory, save_model: Any, target: str) -> str:
    if request.param == "llama":
        return target
    torch.manual_seed(4)
    build: Callable[[], Any] = {"sliding": sliding, "gpt2": gpt2}[request.param]
    return str(save_model(tmp_path_factory.mktemp("kinds") / request.param, build().eval()))


@pytest.fixture
def reader(start: Any, model: str) -> Any:
    return start(model, NONE)._target


def fresh(reader: Any, ids: list[int]) -> torch.Tensor:
    """Logits of all positions from transformers' own forward pass, attention and no cache."""
    module = reader.model.module
    with torch.inference_mode():
        logits: torch.Tensor = module(torch.tensor([ids]), use_cache=False).logits
    return logits[0]


@torch.inference_mode()
def test_after_rollbacks_of_any_length_the_logits_are_those_of_a_fresh_pass(reader: Any) -> None:
    """30 tokens are accepted in blocks, each followed by rejected ones; the window of 8 is passed on the way."""
    ids = torch.randint(1, 40, (30,), generator=torch.Generator().manual_seed(3)).tolist()
    reader.restart(8)
    rows = [reader.extend(torch.tensor(ids[:5]), keep=5)]
    while reader.length < 30:
        accepted = ids[reader.length : reader.length + 1 + reader.length % 4]
        rejected = [7] * (reader.length % 6)
        held = reader.length + len(accepted)
        rows.append(reader.extend(torch.tensor(accepted + rejected), keep=len(accepted + rejected))[: len(accepted)])
        reader.rollback(held)
    torch.testing.assert_close(torch.cat(rows), fresh(reader, ids), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("drafter", ["ngram", "draft-model"])
def test_drafting_leaves_the_greedy_answer_of_transformers(
    drafter: str, start: Any, ask: Any, model: str, other: str
) -> None:
    drafting = Arm(drafter=drafter, draft_length=4, options={"model": other} if drafter == "draft-model" else {})
    backend = start(model, NONE, drafting)
    prompt = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    module = backend._target.model.module
    told = module.generate(torch.tensor([prompt]), max_new_tokens=60, do_sample=False, eos_token_id=None)
    for arm in (NONE, drafting):
        assert ask(backend, arm, prompt, max_tokens=60, ignore_eos=True).output_ids == told[0, len(prompt) :].tolist()


def test_grouped_attention_is_transformers_sdpa() -> None:
    """Six query heads on two key heads, blocks of one and of four tokens over 11 positions."""
    generator = torch.Generator().manual_seed(1)
    module = torch.nn.Module()
    module.num_key_value_groups = 3
    keys, values = (torch.randn(1, 2, 11, 8, generator=generator) for _ in range(2))
    for count in (1, 4):
        query = torch.randn(1, 6, count, 8, generator=generator)
        mask = (torch.arange(11) <= torch.arange(11 - count, 11)[:, None])[None, None] if count > 1 else None
        ours, _ = attention.grouped_attention(module, query, keys, values, mask, scaling=0.3)
        stock, _ = attention.sdpa_attention_forward(module, query, keys, values, mask, scaling=0.3)
        assert ours.shape == (1, count, 6, 8)
        torch.testing.assert_close(ours, stock)


def test_the_attention_in_use_is_told(start: Any, target: str) -> None:
    assert start(target, NONE).resolved(NONE)["attention"] == attention.NAME


def test_the_buffer_grows_and_keeps_what_it_holds() -> None:
    cache = RollbackCache(1)
    cache.reserve(2)
    states = torch.arange(600.0).reshape(1, 1, 600, 1)
    cache.update(states[:, :, :250], states[:, :, :250], 0)
    keys, values = cache.update(states[:, :, 250:], -states[:, :, 250:], 0)
    assert cache.length == 600
    assert keys[0, 0, :, 0].tolist() == list(range(600))
    assert values[0, 0, 599, 0] == -599
    cache.rollback(10)
    keys, _ = cache.update(states[:, :, :1] + 77, states[:, :, :1], 0)
    assert keys[0, 0, :, 0].tolist() == [*range(10), 77]


def test_a_rollback_beyond_what_is_held_does_nothing() -> None:
    cache = RollbackCache(1)
    cache.update(torch.ones(1, 1, 3, 1), torch.ones(1, 1, 3, 1), 0)
    cache.rollback(9)
    assert cache.length == 3


def test_a_model_whose_state_cannot_be_rolled_back_is_refused() -> None:
    assert cache_layers(LlamaConfig(num_hidden_layers=3), "llama") == 3
    with pytest.raises(BackendError, match="'mamba' keeps state that cannot be rolled back"):
        cache_layers(MambaConfig(num_hidden_layers=2), "mamba")
