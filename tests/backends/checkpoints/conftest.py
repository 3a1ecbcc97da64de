"""Folders of model files for tests: a config.json, and safetensors files that have headers and no numbers."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.checkpoints import DraftCheckpoint, read_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRAINED_HEAD = Path(__file__).parents[2] / "data" / "smollm2-135m-eagle3"

WIDTHS = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "BOOL": 1, "U8": 1, "F8_E4M3": 1}
"""Bytes of an element."""


def write_safetensors(path: Path, tensors: Mapping[str, tuple[Any, ...]]) -> None:
    """Write the header of a file; a tensor is (type, size, size, ...). The numbers are a hole in the file."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, *shape) in tensors.items():
        start, end = end, end + WIDTHS[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        stream.truncate(8 + len(text) + end)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a folder: its config.json, tensors of model.safetensors (null: none), and more JSON files by name."""

    def folder(
        config: Any, tensors: Mapping[str, tuple[Any, ...]] | None = None, *, name: str = "head", **files: Any
    ) -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        if tensors is not None:
            write_safetensors(path / "model.safetensors", tensors)
        for stem, content in files.items():
            (path / f"{stem}.json").write_text(json.dumps(content), encoding="utf-8")
        return path

    return folder


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., DraftCheckpoint]:
    """Write such a folder and read it."""

    def checkpoint(*arguments: Any, **options: Any) -> DraftCheckpoint:
        return read_checkpoint(write(*arguments, **options))

    return checkpoint


@pytest.fixture
def trained_head() -> Path:
    """The folder of a real EAGLE-3 head."""
    return TRAINED_HEAD
