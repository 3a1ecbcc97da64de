"""Files that are damaged, hostile or something else altogether end in one sentence, whatever they hold."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from draftmark.backends.base import BackendError
from draftmark.backends.checkpoints import find_checkpoint, plan_line, problems_with, read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "vocab_size": 500}


def header(content: Any, *, length: int | None = None, data: int = 0) -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + bytes(data)


def refusal(folder: Path) -> str:
    with pytest.raises(BackendError) as said:
        read_checkpoint(folder)
    return str(said.value)


def test_there_is_no_such_folder(tmp_path: Path) -> None:
    assert "is no folder" in refusal(tmp_path / "nowhere")


def test_a_folder_without_a_configuration(tmp_path: Path) -> None:
    assert "holds no config.json" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]", "holds a list where a JSON object belongs"),
        ("null", "holds null where"),
        ("3", "holds a number where"),
        ('{"architectures": ["Llama', "is not valid JSON"),
        ("", "is not valid JSON"),
        ('"text"', "holds a text where"),
        ("[" * 100_000, "is not valid JSON"),
        ("1" * 5000, "is not valid JSON"),
    ],
)
def test_a_configuration_that_is_no_object(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert said in refusal(tmp_path)


def test_a_configuration_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00{")
    assert "is not valid JSON" in refusal(tmp_path)


def test_a_configuration_too_large_to_be_one_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as stream:
        stream.truncate(1 << 40)
    assert "too many for a configuration" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("NaN", "nan"),
        ("Infinity", "inf"),
        ("-64", "-64"),
        ("0", "0"),
        ("64.5", "64.5"),
        ("true", "True"),
        ('"64"', "'64'"),
        ("[64]", "[64]"),
        ("1" + "0" * 4000, "a number of more than 77 digits"),
        (json.dumps("x" * 5000), "xxxx…"),
    ],
)
def test_a_size_that_is_none_is_named_by_file_and_key(tmp_path: Path, value: str, shown: str) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": ' + value + "}")
    said = refusal(tmp_path)
    assert "config.json: hidden_size is " in said
    assert shown in said
    assert len(said) < 300 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("eagle_aux_hidden_state_layer_ids", [2, None], r"eagle_aux_hidden_state_layer_ids\[1\] is None"),
        ("eagle_aux_hidden_state_layer_ids", "2, 15, 27", "a list of whole numbers belongs there"),
        ("eagle_aux_hidden_state_layer_ids", [-3], r"\[0\] is -3; a whole number of at least 0"),
    ],
)
def test_layers_that_are_none_are_named(write: Callable[..., Path], key: str, value: object, said: str) -> None:
    with pytest.raises(BackendError, match=said):
        read_checkpoint(write(HEAD | {key: value}))


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_block_that_no_plan_could_ask_for(write: Callable[..., Path], size: int) -> None:
    config = HEAD | {"architectures": ["DFlashDraftModel"], "block_size": size}
    with pytest.raises(BackendError, match=f"block_size is {size}; a whole number from 2 to 1024 belongs there"):
        read_checkpoint(write(config))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is cut off or not safetensors"),
        (b"1234567", "is cut off or not safetensors"),
        (header({}, length=1 << 62), "is cut off or not safetensors"),
        (header({})[:-1], "is cut off or not safetensors"),
        (header(b"not json"), "is not valid JSON"),
        (header([]), "holds a list"),
        (header({"w": 3}), "does not describe its tensor 'w'"),
        (header({"w": {"dtype": "BF16", "shape": [2]}}), "does not describe its tensor 'w'"),
        (header({"w": {"dtype": 1, "shape": [2], "data_offsets": [0, 4]}}), "does not describe"),
        (header({"w": {"dtype": "BF16", "shape": [-2], "data_offsets": [0, 4]}}, data=4), "does not describe"),
        (header({"w": {"dtype": "BF16", "shape": [1 << 99], "data_offsets": [0, 4]}}, data=4), "does not describe"),
        (header({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [4, 0]}}, data=4), "does not describe"),
        (
            header({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, data=3),
            "is cut off: its tensors take 4",
        ),
    ],
)
def test_weights_that_are_cut_off_or_no_safetensors(write: Callable[..., Path], data: bytes, said: str) -> None:
    folder = write(HEAD)
    (folder / "model.safetensors").write_bytes(data)
    assert said in refusal(folder)


def test_a_header_of_absurd_size_is_not_read(write: Callable[..., Path]) -> None:
    folder = write(HEAD)
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", 1 << 40))
        stream.truncate(1 << 41)
    assert "too many for safetensors" in refusal(folder)


@pytest.mark.parametrize("index", [{}, {"weight_map": ["a"]}, {"weight_map": {"a": 3}}])
def test_an_index_without_a_map(write: Callable[..., Path], index: object) -> None:
    folder = write(HEAD, **{"model.safetensors.index": index})
    assert "no weight_map" in refusal(folder)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    assert "holds no config.json" in refusal(tmp_path)


def test_an_index_leads_to_no_file_outside_the_folder(write: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "outside.safetensors").write_bytes(header({"secret": 1}))
    folder = write(HEAD, **{"model.safetensors.index": {"weight_map": {"a": "../outside.safetensors"}}})
    assert read_checkpoint(folder).weights.missing == ("../outside.safetensors",)


def test_adapters_and_a_second_copy_of_the_weights_are_left_out(write: Callable[..., Path]) -> None:
    folder = write(HEAD, {"norm.weight": ("BF16", 64)})
    for name in ("adapter_model.safetensors", "consolidated.safetensors"):
        (folder / name).write_bytes(
            header({"other.weight": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, data=1)
        )
    found = read_checkpoint(folder).weights
    assert (set(found.tensors), found.files) == ({"norm.weight"}, 1)


@pytest.mark.parametrize("name", ["", " ", "no/such/folder", "nobody/nothing", "a--b/..c", "\0", "x" * 5000])
def test_a_name_that_leads_nowhere_is_one_sentence(name: str) -> None:
    with pytest.raises(BackendError):
        find_checkpoint(name)


def test_a_gguf_file_is_named_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(BackendError, match="GGUF file: a language model"):
        find_checkpoint(str(tmp_path / "model.gguf"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 70) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
KEYS = [
    "architectures",
    "model_type",
    "speculators_model_type",
    "speculators_config",
    "transformer_layer_config",
    "text_config",
    "hidden_size",
    "vocab_size",
    "draft_vocab_size",
    "num_hidden_layers",
    "num_nextn_predict_layers",
    "block_size",
    "eagle_config",
    "dflash_config",
    "mask_token_id",
    "eagle_aux_hidden_state_layer_ids",
    "quantization_config",
    "medusa_num_heads",
    "dtype",
]
NAMES = [
    "LlamaForCausalLMEagle3",
    "DFlashDraftModel",
    "Qwen3DSparkModel",
    "MedusaModel",
    "MiMoMTPModel",
    "LlamaForCausalLM",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    config=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6),
    name=st.sampled_from(NAMES),
    told=st.sampled_from(["eagle3", "dflash", "mtp", None]),
)
def test_any_configuration_is_read_or_refused_in_a_sentence(
    tmp_path: Path, config: dict[str, Any], name: str, told: str | None
) -> None:
    whole = {"architectures": [name]} | ({"speculators_model_type": told} if told else {}) | config
    (tmp_path / "config.json").write_text(json.dumps(whole))
    try:
        found = read_checkpoint(tmp_path)
    except BackendError as fault:
        assert "config.json" in str(fault)
        return
    assert all(sentence and "nan" not in sentence for sentence in problems_with(found))
    assert plan_line(found, "a/b").startswith("- {kind: ")
