"""What each format of checkpoint says of itself: vLLM's own, exports of speculators, exports of Model-Optimizer."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.checkpoints import problems_with, read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.backends.checkpoints import DraftCheckpoint


def speculators(told: str, tokens: int, **own: Any) -> dict[str, Any]:
    """A configuration as the speculators library writes it."""
    return {
        "architectures": [f"{told.title()}DraftModel"],
        "speculators_model_type": told,
        "speculators_version": "0.5.0",
        "speculators_config": {
            "algorithm": told,
            "default_proposal_method": "greedy",
            "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": tokens, "verifier_accept_k": 1}],
            "verifier": {"name_or_path": "meta-llama/Llama-3.1-8B-Instruct", "architectures": ["LlamaForCausalLM"]},
        },
        "transformer_layer_config": {
            "model_type": "llama",
            "hidden_size": 4096,
            "num_hidden_layers": 1,
            "vocab_size": 128256,
        },
        "draft_vocab_size": 32000,
        **own,
    }


def test_a_real_head_is_read_from_its_files_alone(trained_head: Path) -> None:
    found = read_checkpoint(trained_head)
    assert (found.kind, found.architecture, found.dtype) == ("eagle3", "LlamaForCausalLMEagle3", "bfloat16")
    assert (found.hidden_size, found.layers, found.vocabulary, found.draft_vocabulary) == (576, 1, 49152, 4096)
    assert (found.hidden_states, found.target_layers, found.draft_length) == (3, None, None)
    assert found.quantisation is None
    assert found.parallel is False
    assert found.weights.size_bytes == 14_981_008
    assert found.weights.dtypes() == {"BF16": 14_897_664, "BOOL": 49_152, "I64": 32_768}
    assert found.notes == ()
    assert problems_with(found) == []


def test_reading_needs_no_engine_and_no_array_library(trained_head: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom draftmark.backends.checkpoints import *\n"
        "problems_with(read_checkpoint(Path(sys.argv[1])))\n"
        "print(*[m for m in ('torch', 'transformers', 'vllm', 'numpy', 'safetensors') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, trained_head], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_an_eagle3_export_of_speculators(read: Callable[..., DraftCheckpoint]) -> None:
    found = read(speculators("eagle3", 5, eagle_aux_hidden_state_layer_ids=[2, 16, 29], target_hidden_size=5120))
    assert (found.kind, found.written_by) == ("eagle3", "speculators 0.5.0")
    assert found.made_for == "meta-llama/Llama-3.1-8B-Instruct"
    assert (found.hidden_size, found.target_hidden_size) == (4096, 5120)
    assert (found.vocabulary, found.draft_vocabulary, found.draft_length) == (128256, 32000, 5)
    assert (found.target_layers, found.hidden_states) == ((2, 16, 29), 3)
    assert found.notes == ()


def test_a_peagle_export_of_speculators_proposes_all_tokens_in_one_pass(read: Callable[..., DraftCheckpoint]) -> None:
    found = read(speculators("peagle", 7, mask_token_id=128255))
    assert (found.kind, found.parallel, found.mask_token, found.draft_length) == ("eagle3", True, 128255, 7)


def test_a_dflash_export_of_speculators_counts_layers_as_hidden_states(read: Callable[..., DraftCheckpoint]) -> None:
    config = speculators("dflash", 7, block_size=8, mask_token_id=3, aux_hidden_state_layer_ids=[2, 10, 18])
    found = read(config)
    assert (found.kind, found.draft_length, found.block_size, found.mask_token) == ("dflash", 7, 8, 3)
    assert (found.target_layers, found.hidden_states) == ((2, 10, 18), 3)
    assert found.parallel is False  # a plan does not have to ask for what dflash always does


def test_a_dspark_export_of_speculators(read: Callable[..., DraftCheckpoint]) -> None:
    config = speculators("dspark", 6, block_size=7, mask_token_id=3, markov_rank=64, aux_hidden_state_layer_ids=[2, 9])
    found = read(config)
    assert (found.kind, found.draft_length, found.block_size, found.target_layers) == ("dspark", 6, 7, (2, 9))
    assert found.notes == ()


@pytest.mark.parametrize(("told", "said"), [("eagle", "not eagle: convert it first"), ("mtp", "stitch its layers")])
def test_exports_that_vllm_does_not_load_as_they_are_say_so(
    read: Callable[..., DraftCheckpoint], told: str, said: str
) -> None:
    found = read(speculators(told, 3))
    assert (found.kind, found.draft_length) == (told, 3)
    assert said in found.notes[0]


def test_dflash_in_vllms_layout_names_layers_from_0_and_drafts_one_less_than_its_block(
    read: Callable[..., DraftCheckpoint],
) -> None:
    found = read(
        {
            "architectures": ["DFlashDraftModel"],
            "model_type": "qwen3",
            "block_size": 16,
            "num_target_layers": 36,
            "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]},
            "hidden_size": 4096,
            "num_hidden_layers": 5,
            "vocab_size": 151936,
        },
        {"fc.weight": ("BF16", 4096, 20480)},
    )
    assert (found.draft_length, found.block_size, found.mask_token) == (15, 16, 151669)
    assert found.target_layers == (2, 10, 18, 26, 34)
    assert (found.hidden_states, found.target_layer_count, found.layers) == (5, 36, 5)
    assert problems_with(found) == []


def test_dspark_in_vllms_layout_drafts_its_whole_block(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"architectures": ["Qwen3DSparkModel"], "block_size": 7, "target_layer_ids": [1, 9], "mask_token_id": 5}
    found = read(config | {"hidden_size": 64, "vocab_size": 500, "markov_rank": 16})
    assert (found.draft_length, found.target_layers, found.mask_token) == (7, (2, 10), 5)


def test_an_eagle3_export_of_model_optimizer(read: Callable[..., DraftCheckpoint]) -> None:
    quantised = {
        "quant_algo": "NVFP4",
        "quant_method": "modelopt",
        "producer": {"name": "modelopt", "version": "0.41.0"},
        "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
        "kv_cache_scheme": {"num_bits": 8, "type": "float"},
        "ignore": ["lm_head", "fc"],
    }
    found = read(
        {
            "architectures": ["LlamaForCausalLMEagle3"],
            "model_type": "llama",
            "hidden_size": 2880,
            "num_hidden_layers": 1,
            "vocab_size": 201088,
            "draft_vocab_size": 32768,
            "torch_dtype": "bfloat16",
            "eagle_config": {
                "eagle_aux_hidden_state_layer_ids": [1, 17, 32],
                "use_aux_hidden_state": True,
                "next_layer_regular": True,
                "parallel_draft_step": 1,
            },
            "quantization_config": quantised,
        },
        {
            "fc.weight": ("BF16", 2880, 8640),
            "layers.0.self_attn.q_proj.weight": ("U8", 4096, 2880),
            "d2t": ("I64", 32768),
            "lm_head.weight": ("BF16", 32768, 2880),
        },
    )
    assert (found.kind, found.written_by) == ("eagle3", "NVIDIA Model-Optimizer 0.41.0")
    assert (found.target_layers, found.draft_vocabulary) == ((1, 17, 32), 32768)
    assert found.quantisation is not None
    assert found.quantisation.words() == "NVFP4, groups of 16, KV cache FP8, 2 exceptions (modelopt)"
    assert problems_with(found) == []


def test_heads_that_an_engine_leaves_out_are_noted(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": {"parallel_draft_step": 4}}
    assert "heads for 4 positions" in read(config, name="medusa-like").notes[0]
    config = {"architectures": ["DFlashDraftModel"], "dflash_config": {"projector_type": "domino"}}
    assert "'domino'" in read(config, name="domino").notes[0]


def test_an_eagle3_head_may_do_without_hidden_states_of_several_layers(read: Callable[..., DraftCheckpoint]) -> None:
    sizes = {"hidden_size": 64, "vocab_size": 500}
    config = {"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": {"use_aux_hidden_state": False}} | sizes
    found = read(config)
    assert (found.hidden_states, found.target_layers, found.target_hidden_size) == (None, None, 64)


def test_medusa_in_its_old_layout_is_read_from_its_tensors(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"medusa_num_heads": 3, "medusa_num_layers": 1, "base_model_name_or_path": "lmsys/vicuna-7b-v1.3"}
    tensors = {f"{head}.0.linear.weight": ("F16", 4096, 4096) for head in range(3)}
    found = read(config, tensors)
    assert (found.kind, found.draft_length, found.layers, found.hidden_size) == ("medusa", 3, 1, 4096)
    assert (found.vocabulary, found.made_for, found.dtype) == (None, "lmsys/vicuna-7b-v1.3", "float16")


def test_medusa_in_vllms_layout_may_propose_a_part_of_the_vocabulary(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"architectures": ["MedusaModel"], "hidden_size": 64, "vocab_size": 500, "truncated_vocab_size": 100}
    tensors = {f"blocks.{head}.layers.0.weight": ("BF16", 64, 64) for head in range(4)}
    found = read(config, tensors | {"token_map": ("I64", 100), "lm_head.weight": ("BF16", 100, 64)})
    assert (found.draft_length, found.vocabulary, found.draft_vocabulary) == (4, 500, 100)
    assert problems_with(found) == []


def test_an_mtp_checkpoint_apart_from_its_target(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"architectures": ["MiniMaxM3MTP"], "num_mtp_modules": 3, "hidden_size": 64, "vocab_size": 500}
    assert (read(config, name="a").kind, read(config, name="b").draft_length) == ("mtp", 3)
    config = {"model_type": "gemma4_assistant", "hidden_size": 64, "backbone_hidden_size": 256, "vocab_size": 500}
    found = read(config, name="c")
    assert (found.draft_length, found.hidden_size, found.target_hidden_size) == (1, 64, 256)


def test_an_eagle_configuration_keeps_its_sizes_in_the_model_within(read: Callable[..., DraftCheckpoint]) -> None:
    within = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64, "vocab_size": 500, "num_hidden_layers": 1}
    found = read({"model_type": "eagle", "architectures": ["EAGLEModel"], "model": within})
    assert (found.kind, found.hidden_size, found.target_hidden_size, found.layers) == ("eagle", 64, 64, 1)


@pytest.mark.parametrize("key", ["pard_token", "ptd_token_id"])
def test_a_draft_model_that_was_trained_for_it_proposes_in_one_pass(
    read: Callable[..., DraftCheckpoint], key: str
) -> None:
    found = read({"architectures": ["LlamaForCausalLM"], "vocab_size": 500, key: 7})
    assert (found.kind, found.parallel, found.mask_token) == ("language-model", True, 7)


def test_sizes_of_a_model_of_several_modalities_are_those_of_its_text(read: Callable[..., DraftCheckpoint]) -> None:
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "hidden_size": 1,
        "text_config": {"hidden_size": 2560, "num_hidden_layers": 34, "vocab_size": 262208, "dtype": "bfloat16"},
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
    }
    found = read(config)
    assert (found.hidden_size, found.layers, found.vocabulary, found.dtype) == (2560, 34, 262208, "bfloat16")


def test_infinity_where_nothing_is_read_does_no_harm(write: Callable[..., Path]) -> None:
    folder = write({"architectures": ["NemotronHForCausalLM"], "vocab_size": 500})
    (folder / "config.json").write_text(
        '{"architectures": ["NemotronHForCausalLM"], "vocab_size": 500, "time_step_limit": [0.0, Infinity]}'
    )
    assert read_checkpoint(folder).vocabulary == 500
