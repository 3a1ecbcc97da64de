"""What a model's files hold, read without torch."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.model_files import context_limit, identity, layer_count
from draftmark.backends.models import LocalModel, locate
from draftmark.results.cache_folder import cache_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("cache")


def test_identity_hashes_what_answers_depend_on_and_counts_parameters(
    tmp_path: Path, model_folder: Callable[..., Path]
) -> None:
    folder = model_folder(tmp_path / "mine", vocabulary=77)
    (folder / "README.md").write_text("not part of it")
    (folder / ".hidden.json").write_text("{}")
    found = identity(locate(str(folder)))
    assert set(found.files) == {"config.json", "model.safetensors"}
    assert found.files["config.json"] == hashlib.sha256(b'{"vocab_size": 77}').hexdigest()
    assert found.parameters == 10 * 4 + 4 + 1
    assert found.vocabulary == 77


def test_identity_sums_shards_and_finds_a_nested_vocabulary(
    tmp_path: Path, write_safetensors: Callable[..., None]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text('{"text_config": {"vocab_size": 5}}')
    write_safetensors(folder / "model-00001-of-00002.safetensors", {"a": [2, 3]})
    write_safetensors(folder / "model-00002-of-00002.safetensors", {"b": [7]})
    found = identity(locate(str(folder)))
    assert (found.parameters, found.vocabulary) == (13, 5)


def test_weights_that_a_repository_holds_twice_count_once(
    tmp_path: Path, write_safetensors: Callable[..., None]
) -> None:
    # As Mistral's repositories: shards under one set of names, and one file with the same weights under its own.
    folder = tmp_path / "mistral"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "mistral", "vocab_size": 6}))
    write_safetensors(folder / "model-00001-of-00002.safetensors", {"model.embed_tokens.weight": [6, 4]})
    write_safetensors(folder / "model-00002-of-00002.safetensors", {"model.norm.weight": [4], "lm_head.weight": [6, 4]})
    write_safetensors(
        folder / "consolidated.safetensors",
        {"tok_embeddings.weight": [6, 4], "norm.weight": [4], "output.weight": [6, 4]},
    )
    write_safetensors(folder / "adapter_model.safetensors", {"lora_A.weight": [2, 4]})
    found = identity(locate(str(folder)))
    assert found.parameters == 24 + 4 + 24
    assert "consolidated.safetensors" in found.files

    (folder / "model.safetensors.index.json").write_text(
        json.dumps(
            {
                "weight_map": {
                    "model.embed_tokens.weight": "model-00001-of-00002.safetensors",
                    "model.norm.weight": "model-00002-of-00002.safetensors",
                    "lm_head.weight": "model-00002-of-00002.safetensors",
                }
            }
        )
    )
    assert identity(locate(str(folder))).parameters == 24 + 4 + 24
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert identity(locate(str(folder))).parameters is None


@pytest.mark.parametrize(
    "config",
    [
        {"num_hidden_layers": 3, "max_position_embeddings": 96},
        {"text_config": {"num_hidden_layers": 3, "max_position_embeddings": 96}},
        {"thinker_config": {"text_config": {"num_hidden_layers": 3, "max_position_embeddings": 96}}},
        {"max_position_embeddings": 7, "llm_config": {"num_hidden_layers": 3, "max_position_embeddings": 96}},
    ],
    ids=["plain", "with pictures", "with speech", "the model's own comes first"],
)
def test_sizes_are_those_of_the_transformer_within(tmp_path: Path, config: dict[str, Any]) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert context_limit(str(tmp_path)) == 96
    assert layer_count(locate(str(tmp_path))) == 3


@pytest.mark.parametrize(
    "text", ["{}", "[]", "{", '{"max_position_embeddings": -1}', '{"max_position_embeddings": "8"}']
)
def test_a_size_that_is_none_is_not_known(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert context_limit(str(tmp_path)) is None


@pytest.mark.parametrize("content", [b"", b"short", struct.pack("<Q", 1 << 40) + b"{}", struct.pack("<Q", 2) + b"[]"])
def test_a_damaged_weight_file_has_unknown_parameters_not_zero(
    tmp_path: Path, content: bytes, model_folder: Callable[..., Path]
) -> None:
    folder = model_folder(tmp_path / "mine")
    (folder / "model.safetensors").write_bytes(content)
    assert identity(locate(str(folder))).parameters is None


def test_a_hub_model_that_is_not_in_the_local_cache_has_a_name_and_no_more() -> None:
    found = identity(LocalModel("nobody/nothing-of-this-name", None))
    assert (found.files, found.revision, found.parameters) == ({}, None, None)


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, model_folder: Callable[..., Path]) -> None:
    folder = model_folder(tmp_path / "mine")
    first = identity(locate(str(folder))).files
    memory = cache_root() / "digests.json"
    known = json.loads(memory.read_text())
    key = str(folder / "config.json")
    known[key][2] = "remembered"
    memory.write_text(json.dumps(known))
    assert identity(locate(str(folder))).files["config.json"] == "remembered"
    stat = (folder / "config.json").stat()
    os.utime(folder / "config.json", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert identity(locate(str(folder))).files == first


def test_digests_are_made_afresh_where_the_memory_is_damaged_or_cannot_be_kept(
    tmp_path: Path, cache: Path, model_folder: Callable[..., Path]
) -> None:
    folder = model_folder(tmp_path / "mine")
    cache.mkdir()
    (cache / "digests.json").write_text("[1")
    first = identity(locate(str(folder))).files
    (cache / "digests.json").unlink()
    (cache / "digests.json").mkdir()  # neither readable nor replaceable
    assert identity(locate(str(folder))).files == first
