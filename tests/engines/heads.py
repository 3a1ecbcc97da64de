"""Random checkpoints of learned drafters, and of small targets to try them on, in the layouts that vLLM loads.

The weights are random, so a target accepts next to nothing: such a head shows that a method runs, what it costs and how
it is counted, never how good it is. Each function fills one new folder with config.json and model.safetensors, the same
for the same arguments, and returns the folder. Heads fit the target whose folder they are given.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

Shapes = dict[str, tuple[int, ...]]
Tensors = dict[str, torch.Tensor]
Config = dict[str, Any]

DRAFT_VOCABULARY = 4096
"""Most output tokens of a head whose layout allows it fewer than the target has."""
MASK_TOKEN = 0
"""Stands at the places that parallel drafters fill; a token of every vocabulary, since nothing was trained."""
INHERITED = [
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "max_position_embeddings",
    "rms_norm_eps",
    "rope_parameters",
    "hidden_act",
    "bos_token_id",
    "eos_token_id",
]
"""What a head's config.json repeats from its target's."""
CHAT_TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"


def eagle(folder: Path, target: Path) -> Path:
    """EAGLE: one decoder layer on the target's last hidden states; embeddings and output head are the target's."""
    config = _head_config(target, architectures=["LlamaForCausalLM"], model_type="llama")
    width = config["hidden_size"]
    shapes = {"fc.weight": (width, 2 * width)} | _layer("layers.0.", config)
    del shapes["layers.0.input_layernorm.weight"]  # this layout skips the first norm
    return _write(folder, config, _random(shapes))


def eagle3(folder: Path, target: Path) -> Path:
    """EAGLE-3: one decoder layer on three of the target's four or more layers, with an output head of fewer tokens.

    It also has what `parallel_drafting` asks for, a mask token and the hidden states that stand in for it.
    """
    config = _head_config(target, architectures=["LlamaForCausalLMEagle3"], model_type="llama")
    layers, width = _read(target)["num_hidden_layers"], config["hidden_size"]
    config |= {
        "draft_vocab_size": _draft_vocabulary(config),
        "eagle_aux_hidden_state_layer_ids": [1, layers // 2, layers - 1],
        "ptd_token_id": MASK_TOKEN,
    }
    shapes = {
        "fc.weight": (width, 3 * width),
        "mask_hidden": (1, 3 * width),
        "norm.weight": (width,),
        "lm_head.weight": (config["draft_vocab_size"], width),
        "midlayer.hidden_norm.weight": (width,),
    }
    shapes |= _layer("midlayer.", config, attention_input=2 * width)
    return _write(folder, config, _random(shapes) | _vocabulary_map(config))


def medusa(folder: Path, target: Path, heads: int = 3) -> Path:
    """Medusa: one residual block per position, and one output head that all of them share.

    The output head has the target's whole vocabulary: vLLM 0.32 refuses a checkpoint with a `token_map` as incomplete.
    Drafts may be as long as there are blocks.
    """
    its = _read(target)
    width = its["hidden_size"]
    config = {
        "architectures": ["MedusaModel"],
        "model_type": "medusa",
        "hidden_size": width,
        "vocab_size": its["vocab_size"],
        "original_lm_head": True,
        "num_heads": heads,
        "num_hidden_layers": 1,
        "max_position_embeddings": its["max_position_embeddings"],
    }
    shapes: Shapes = {f"blocks.{head}.layers.0.weight": (width, width) for head in range(heads)}
    shapes["lm_head.weight"] = (its["vocab_size"], width)
    return _write(folder, config, _random(shapes))


def dflash(folder: Path, target: Path) -> Path:
    """DFlash: two Qwen3 layers that fill a block of up to 8 tokens, on two of the target's layers."""
    config = _block_config(target, "DFlashDraftModel")
    return _write(folder, config, _random(_block_shapes(config)) | _vocabulary_map(config))


def dspark(folder: Path, target: Path, rank: int = 16) -> Path:
    """DSpark: what DFlash has, and a Markov head of a low rank through which each token sees the one before it."""
    config = _block_config(target, "Qwen3DSparkModel") | {"markov_rank": rank, "markov_head_type": "vanilla"}
    shapes = _block_shapes(config) | {
        "markov_head.markov_w1.weight": (config["vocab_size"], rank),
        "markov_head.markov_w2.weight": (config["draft_vocab_size"], rank),
    }
    return _write(folder, config, _random(shapes) | _vocabulary_map(config))


def mimo(folder: Path, layers: int = 2, width: int = 64, heads: int = 2) -> Path:
    """A whole target of the MiMo family, a token per byte, with the one MTP layer it brings along.

    Its layers are Qwen2's, and vLLM tells the family by its architecture alone. `width / heads` must be a size that
    vLLM's attention on CPUs knows, such as 32.
    """
    config = _target_config(folder, layers, width, heads)
    config |= {"architectures": ["MiMoForCausalLM"], "model_type": "qwen2", "num_nextn_predict_layers": 1}
    head = "model.mtp_layers.0."
    shapes = _stack(config) | _layer(head, config)
    shapes |= {f"{head}{norm}.weight": (width,) for norm in ("token_layernorm", "hidden_layernorm", "final_layernorm")}
    shapes[f"{head}input_proj.weight"] = (width, 2 * width)
    for name, shape in list(shapes.items()):
        if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight")):
            shapes[name.replace(".weight", ".bias")] = shape[:1]
    return _write(folder, config, _random(shapes))


def random_llama(folder: Path, layers: int = 2, width: int = 64, heads: int = 2) -> Path:
    """A target so small that an engine spends its time on everything but the model; a token per byte.

    `width / heads` must be a size that vLLM's attention on CPUs knows, such as 32.
    """
    config = _target_config(folder, layers, width, heads)
    config |= {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    return _write(folder, config, _random(_stack(config)))


def without_layers(folder: Path, target: Path, layers: Collection[int]) -> Path:
    """Save a target less some decoder layers, by index; everything else, tokenizer included, is the target's.

    Its config.json also names the mask token that `parallel_drafting` asks for.
    """
    config = _read(target)
    kept = [index for index in range(config["num_hidden_layers"]) if index not in layers]
    places = {f"model.layers.{old}.": f"model.layers.{new}." for new, old in enumerate(kept)}
    tensors: Tensors = {}
    with safe_open(target / "model.safetensors", framework="pt") as stored:
        for name in stored.keys():  # noqa: SIM118 - the file is no mapping
            start = ".".join(name.split(".")[:3]) + "."
            if start in places or not name.startswith("model.layers."):
                tensors[name.replace(start, places.get(start, start), 1)] = stored.get_tensor(name)
    folder.mkdir(parents=True)
    for file in target.iterdir():
        if file.is_file() and file.name not in {"config.json", "model.safetensors"}:
            shutil.copy(file, folder)
    return _write(folder, config | {"num_hidden_layers": len(kept), "pard_token": MASK_TOKEN}, tensors)


def _read(target: Path) -> Config:
    config: Config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    return config


def _head_config(target: Path, **own: Any) -> Config:
    its = _read(target)
    inherited = {key: its[key] for key in INHERITED if key in its}
    return inherited | {
        "head_dim": its.get("head_dim") or its["hidden_size"] // its["num_attention_heads"],
        "intermediate_size": its["hidden_size"],
        "num_hidden_layers": 1,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
        **own,
    }


def _block_config(target: Path, architecture: str) -> Config:
    config = _head_config(target, architectures=[architecture], model_type="qwen3")
    layers = _read(target)["num_hidden_layers"]
    return config | {
        "num_hidden_layers": 2,
        "num_target_layers": layers,
        "block_size": 8,
        "draft_vocab_size": _draft_vocabulary(config),
        "dflash_config": {"mask_token_id": MASK_TOKEN, "target_layer_ids": [layers // 3, 2 * layers // 3]},
    }


def _target_config(folder: Path, layers: int, width: int, heads: int) -> Config:
    return {
        "vocab_size": _save_byte_tokenizer(folder),
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": width // heads,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
        "bos_token_id": None,
        "eos_token_id": 0,
        "dtype": "bfloat16",
    }


def _save_byte_tokenizer(folder: Path) -> int:
    """Write a tokenizer of one token per byte, an end mark and a chat template; return how many tokens it has."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    symbols = ["<eos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    core = Tokenizer(models.BPE({symbol: index for index, symbol in enumerate(symbols)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>")
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)
    return len(symbols)


def _stack(config: Config) -> Shapes:
    """Return the shapes of a whole decoder: embeddings, layers, last norm and output head."""
    vocabulary, width = config["vocab_size"], config["hidden_size"]
    shapes: Shapes = {"model.embed_tokens.weight": (vocabulary, width), "lm_head.weight": (vocabulary, width)}
    shapes["model.norm.weight"] = (width,)
    for index in range(config["num_hidden_layers"]):
        shapes |= _layer(f"model.layers.{index}.", config)
    return shapes


def _layer(prefix: str, config: Config, attention_input: int | None = None) -> Shapes:
    """Return the shapes of a Llama layer; its attention may take wider rows in than the layer gives out."""
    width, middle, size = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    taken = attention_input or width
    shapes = {
        "input_layernorm": (width,),
        "post_attention_layernorm": (width,),
        "self_attn.q_proj": (queries, taken),
        "self_attn.k_proj": (keys, taken),
        "self_attn.v_proj": (keys, taken),
        "self_attn.o_proj": (width, queries),
        "mlp.gate_proj": (middle, width),
        "mlp.up_proj": (middle, width),
        "mlp.down_proj": (width, middle),
    }
    return {f"{prefix}{name}.weight": shape for name, shape in shapes.items()}


def _block_shapes(config: Config) -> Shapes:
    width, size = config["hidden_size"], config["head_dim"]
    taken = width * len(config["dflash_config"]["target_layer_ids"])
    shapes: Shapes = {"fc.weight": (width, taken), "hidden_norm.weight": (width,), "norm.weight": (width,)}
    shapes["lm_head.weight"] = (config["draft_vocab_size"], width)
    for index in range(config["num_hidden_layers"]):
        shapes |= _layer(f"layers.{index}.", config)
        shapes |= {f"layers.{index}.self_attn.{name}_norm.weight": (size,) for name in "qk"}
    return shapes


def _draft_vocabulary(config: Config) -> int:
    return min(DRAFT_VOCABULARY, config["vocab_size"] // 2)


def _vocabulary_map(config: Config) -> Tensors:
    """Return `d2t`, what a drafted token's number lacks of the target's, and `t2d`, which of those can be drafted."""
    drafted = torch.arange(config["draft_vocab_size"])
    ids = drafted * (config["vocab_size"] // len(drafted))  # spread over the whole vocabulary
    known = torch.zeros(config["vocab_size"], dtype=torch.bool)
    known[ids] = True
    return {"d2t": ids - drafted, "t2d": known}


def _random(shapes: Shapes) -> Tensors:
    """Draw matrices that keep the size of what they are given; norms are ones."""
    generator = torch.Generator().manual_seed(0)
    return {
        name: (
            torch.ones(shape) if "norm" in name else torch.randn(shape, generator=generator) * shape[-1] ** -0.5
        ).bfloat16()
        for name, shape in shapes.items()
    }


def _write(folder: Path, config: Config, tensors: Tensors) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
