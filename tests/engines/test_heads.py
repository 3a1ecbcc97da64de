"""The checkpoints written for engine tests have the tensors that vLLM's loaders name; no engine runs here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch")
load_file = pytest.importorskip("safetensors.torch").load_file

TARGET = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 20,
    "hidden_size": 8,
    "intermediate_size": 48,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 3,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
}
LAYER = {
    "input_layernorm.weight": (8,),
    "post_attention_layernorm.weight": (8,),
    "self_attn.q_proj.weight": (12, 8),
    "self_attn.k_proj.weight": (6, 8),
    "self_attn.v_proj.weight": (6, 8),
    "self_attn.o_proj.weight": (8, 12),
    "mlp.gate_proj.weight": (8, 8),
    "mlp.up_proj.weight": (8, 8),
    "mlp.down_proj.weight": (8, 8),
}
QWEN3_LAYER = LAYER | {"self_attn.q_norm.weight": (3,), "self_attn.k_norm.weight": (3,)}
BLOCK = {
    "fc.weight": (8, 16),
    "hidden_norm.weight": (8,),
    "norm.weight": (8,),
    "lm_head.weight": (10, 8),
    "d2t": (10,),
    "t2d": (20,),
    **{f"layers.0.{name}": shape for name, shape in QWEN3_LAYER.items()},
    **{f"layers.1.{name}": shape for name, shape in QWEN3_LAYER.items()},
}
TENSORS: dict[str, dict[str, tuple[int, ...]]] = {
    "eagle": {
        "fc.weight": (8, 16),
        **{f"layers.0.{name}": shape for name, shape in LAYER.items() if name != "input_layernorm.weight"},
    },
    "eagle3": {
        "fc.weight": (8, 24),
        "mask_hidden": (1, 24),
        "norm.weight": (8,),
        "lm_head.weight": (10, 8),
        "d2t": (10,),
        "t2d": (20,),
        **{f"midlayer.{name}": shape for name, shape in LAYER.items()},
        "midlayer.hidden_norm.weight": (8,),
        "midlayer.self_attn.q_proj.weight": (12, 16),
        "midlayer.self_attn.k_proj.weight": (6, 16),
        "midlayer.self_attn.v_proj.weight": (6, 16),
    },
    "medusa": {
        "blocks.0.layers.0.weight": (8, 8),
        "blocks.1.layers.0.weight": (8, 8),
        "blocks.2.layers.0.weight": (8, 8),
        "lm_head.weight": (20, 8),
    },
    "dflash": BLOCK,
    "dspark": BLOCK | {"markov_head.markov_w1.weight": (20, 16), "markov_head.markov_w2.weight": (10, 16)},
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("target")
    (folder / "config.json").write_text(json.dumps(TARGET), encoding="utf-8")
    return folder


def config(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("head", TENSORS)
def test_a_head_holds_the_tensors_of_its_layout_and_no_others(
    checkpoint: Callable[..., Path], target: Path, head: str
) -> None:
    tensors = load_file(checkpoint(head, target) / "model.safetensors")
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == TENSORS[head]


@pytest.mark.parametrize(
    ("head", "architecture", "own"),
    [
        ("eagle", "LlamaForCausalLM", {"num_hidden_layers": 1}),
        ("eagle3", "LlamaForCausalLMEagle3", {"draft_vocab_size": 10, "eagle_aux_hidden_state_layer_ids": [1, 3, 5]}),
        ("medusa", "MedusaModel", {"num_heads": 3, "original_lm_head": True}),
        ("dflash", "DFlashDraftModel", {"num_target_layers": 6, "block_size": 8, "draft_vocab_size": 10}),
        ("dspark", "Qwen3DSparkModel", {"block_size": 8, "draft_vocab_size": 10, "markov_rank": 16}),
    ],
)
def test_a_head_says_what_it_is_in_its_config(
    checkpoint: Callable[..., Path], target: Path, head: str, architecture: str, own: dict[str, Any]
) -> None:
    says = config(checkpoint(head, target))
    assert says["architectures"] == [architecture]
    assert says["hidden_size"] == 8
    assert says["vocab_size"] == 20
    assert own.items() <= says.items()


@pytest.mark.parametrize("head", ["eagle3", "dflash", "dspark"])
def test_a_head_of_ten_tokens_drafts_every_second_of_its_targets_twenty(
    checkpoint: Callable[..., Path], target: Path, head: str
) -> None:
    tensors = load_file(checkpoint(head, target) / "model.safetensors")
    assert (torch.arange(10) + tensors["d2t"]).tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert tensors["t2d"].nonzero().flatten().tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]


def test_a_head_is_the_same_whenever_it_is_written(heads: Any, target: Path, tmp_path: Path) -> None:
    first, second = (heads.eagle(tmp_path / name, target) / "model.safetensors" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_the_session_writes_a_checkpoint_once(checkpoint: Callable[..., Path], target: Path) -> None:
    assert checkpoint("medusa", target) == checkpoint("medusa", target)
    assert checkpoint("medusa", target) != checkpoint("medusa", target, heads=1)


def test_transformers_misses_nothing_in_a_random_llama(checkpoint: Callable[..., Path]) -> None:
    transformers = pytest.importorskip("transformers")
    folder = checkpoint("random_llama")
    model, about = transformers.LlamaForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not about["missing_keys"]
    assert not about["unexpected_keys"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    said = tokenizer.apply_chat_template([{"role": "user", "content": "Straße"}], tokenize=False)
    ids = tokenizer(said).input_ids
    assert len(ids) == len("user: Straße\n".encode())
    assert tokenizer.decode(ids) == said
    assert model(torch.tensor([ids])).logits.shape == (1, 14, 257)


def test_a_mimo_is_a_qwen2_with_one_layer_more(checkpoint: Callable[..., Path]) -> None:
    transformers = pytest.importorskip("transformers")
    folder = checkpoint("mimo")
    _, about = transformers.Qwen2ForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not about["missing_keys"]
    extra = {name.removeprefix("model.mtp_layers.0.") for name in about["unexpected_keys"]}
    assert extra == {
        "token_layernorm.weight",
        "hidden_layernorm.weight",
        "final_layernorm.weight",
        "input_proj.weight",
        "input_layernorm.weight",
        "post_attention_layernorm.weight",
        "self_attn.q_proj.weight",
        "self_attn.q_proj.bias",
        "self_attn.k_proj.weight",
        "self_attn.k_proj.bias",
        "self_attn.v_proj.weight",
        "self_attn.v_proj.bias",
        "self_attn.o_proj.weight",
        "mlp.gate_proj.weight",
        "mlp.up_proj.weight",
        "mlp.down_proj.weight",
    }
    assert config(folder)["num_nextn_predict_layers"] == 1


def test_a_target_less_a_layer_computes_what_the_whole_one_does_without_it(
    checkpoint: Callable[..., Path], tiny_target: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    ids = torch.tensor([[72, 5, 19, 200]])
    whole = transformers.LlamaForCausalLM.from_pretrained(tiny_target)
    del whole.model.layers[0]
    folder = checkpoint("without_layers", tiny_target, [0])
    less, about = transformers.LlamaForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not about["missing_keys"]
    assert not about["unexpected_keys"]
    expected = whole(ids, use_cache=False).logits
    torch.testing.assert_close(less(ids, use_cache=False).logits, expected, rtol=0, atol=0)
    assert config(folder)["num_hidden_layers"] == 1
    assert (folder / "tokenizer.json").read_bytes() == (tiny_target / "tokenizer.json").read_bytes()


def test_the_repeating_proposer_drafts_the_last_token_where_one_was_sampled(
    repeat_last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib
    from types import SimpleNamespace

    module, name = repeat_last.rsplit(".", 1)
    proposer_class = getattr(importlib.import_module(module), name)
    proposer = proposer_class(SimpleNamespace(speculative_config=SimpleNamespace(num_speculative_tokens=3)))
    assert proposer.propose([[4], [], [7, 9]], [5, 2, 8], None) == [[4, 4, 4], [], [9, 9, 9]]
