"""How weights were quantised is told by name, in each way that it is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.backends.checkpoints import DraftCheckpoint

HEAD = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "vocab_size": 500}


def group(**weights: Any) -> dict[str, Any]:
    return {"group_0": {"targets": ["Linear"], "weights": weights}}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            {"quant_algo": "FP8", "quant_method": "modelopt", "kv_cache_scheme": {"num_bits": 8, "type": "float"}},
            "FP8, KV cache FP8 (modelopt)",
        ),
        (
            {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "nvfp4", "group_size": 16}},
            "NVFP4, groups of 16 (modelopt)",
        ),
        (
            {
                "quant_method": "modelopt",
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                    "a": {"quant_algo": "NVFP4"},
                    "b": {"quant_algo": "FP8"},
                    "c": {"quant_algo": "FP8"},
                },
            },
            "FP8 and NVFP4 (modelopt)",
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": group(num_bits=8, type="float"), "ignore": ["fc"]},
            "FP8, 1 exception (compressed-tensors)",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "nvfp4-pack-quantized",
                "config_groups": group(num_bits=4, type="float", group_size=16),
            },
            "NVFP4, groups of 16 (compressed-tensors)",
        ),
        (
            {
                "quant_method": "compressed_tensors",
                "format": "mxfp4-pack-quantized",
                "config_groups": group(num_bits=4, type="float", group_size=32),
            },
            "MXFP4, groups of 32 (compressed-tensors)",
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": group(num_bits=4, type="int", group_size=128)},
            "INT4, groups of 128 (compressed-tensors)",
        ),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "FP8, blocks of 128x128"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "AWQ, 4 bits, groups of 128"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "GPTQ, 8 bits"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes, 4 bits"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["a", "b"]}, "MXFP4, 2 exceptions"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "group_size": 0}, "FP8 (modelopt)"),
        ({"quant_method": "quark"}, "quark"),
    ],
)
def test_it_is_told_in_a_phrase(read: Callable[..., DraftCheckpoint], config: dict[str, Any], words: str) -> None:
    found = read(HEAD | {"quantization_config": config}).quantisation
    assert found is not None
    assert found.words() == words


def test_nothing_said_is_null(read: Callable[..., DraftCheckpoint]) -> None:
    assert read(HEAD, name="a").quantisation is None
    assert read(HEAD | {"quantization_config": None}, name="b").quantisation is None
    assert read(HEAD | {"quantization_config": {}}, name="c").quantisation is None


def test_a_file_of_its_own_is_read_where_the_configuration_is_silent(read: Callable[..., DraftCheckpoint]) -> None:
    legacy = {
        "producer": {"name": "modelopt", "version": "0.29.0"},
        "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]},
    }
    found = read(HEAD, hf_quant_config=legacy)
    assert found.quantisation is not None
    assert found.quantisation.words() == "FP8, KV cache FP8, 1 exception (modelopt)"
    other = read(HEAD | {"quantization_config": {"quant_method": "awq"}}, name="other", hf_quant_config=legacy)
    assert other.quantisation is not None
    assert other.quantisation.name == "AWQ"


def test_eight_bits_without_a_word_on_how_are_noted(read: Callable[..., DraftCheckpoint]) -> None:
    found = read(HEAD, {"fc.weight": ("F8_E4M3", 64, 192)})
    assert found.quantisation is None
    assert found.notes == ("weights are stored as F8_E4M3, and no file says how they were quantised",)


def test_a_number_that_is_none_is_named_by_its_place(read: Callable[..., DraftCheckpoint]) -> None:
    config = {"quant_method": "awq", "bits": "four"}
    with pytest.raises(
        BackendError, match=r"config\.json: quantization_config: bits is 'four'; a whole number from 1 to"
    ):
        read(HEAD | {"quantization_config": config})
