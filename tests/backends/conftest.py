"""Models for the tests of all backends: a cache folder of a test's own, and folders that hold small models."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test's own."""
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def write_safetensors() -> Callable[[Path, Mapping[str, Sequence[int]]], None]:
    """Write a safetensors file of tensors of these shapes: its header alone."""

    def write(path: Path, shapes: Mapping[str, Sequence[int]]) -> None:
        header = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()}
        text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text)

    return write


@pytest.fixture
def model_folder(write_safetensors: Callable[[Path, Mapping[str, Sequence[int]]], None]) -> Callable[..., Path]:
    """Make a folder that holds a model of 45 parameters."""

    def make(path: Path, vocabulary: int = 10) -> Path:
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps({"vocab_size": vocabulary}))
        write_safetensors(path / "model.safetensors", {"embedding": [10, 4], "norm": [4], "scale": []})
        return path

    return make
