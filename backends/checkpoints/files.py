"""What a checkpoint's files say of themselves: its JSON, and the headers of its safetensors files; no tensor is read.

The files are other people's: sizes are bounded before anything is read, and nothing is opened that they name.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MOST_JSON_BYTES = 64 << 20
"""Of a JSON file or a safetensors header; those of the largest models published have a third of it."""
LARGEST_DIMENSION = 1 << 48

INDEX = "model.safetensors.index.json"
_ADAPTER = "adapter_model"
_DUPLICATE = "consolidated"
"""Mistral's own layout, which its repositories hold beside the usual one."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor, as a safetensors header describes it."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight files of a folder."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    """By name; empty where no header could be read."""
    files: int = 0
    size_bytes: int = 0
    missing: tuple[str, ...] = ()
    """Files that the index names and the folder lacks."""
    pickled: bool = False
    """The weights are PyTorch pickles, which are never opened: their tensors are unknown."""

    def find(self, *names: str) -> Tensor | None:
        """Return the first tensor of these names, bare or below `model.`; null where there is none."""
        for name in names:
            for full in (name, f"model.{name}"):
                if full in self.tensors:
                    return self.tensors[full]
        return None

    def dtypes(self) -> dict[str, int]:
        """Return bytes by stored type, the most first."""
        counted: dict[str, int] = {}
        for tensor in self.tensors.values():
            counted[tensor.dtype] = counted.get(tensor.dtype, 0) + tensor.bytes
        return dict(sorted(counted.items(), key=lambda entry: -entry[1]))


def read_json(file: Path) -> dict[str, Any] | None:
    """Return the object that a JSON file holds; null where there is no such file.

    NaN and infinities pass here, since published configurations have some; whoever reads a number refuses them.

    Raises:
        BackendError: the file is too large, cannot be read, or is no JSON object.
    """
    try:
        if not file.is_file():
            return None
        if file.stat().st_size > MOST_JSON_BYTES:
            raise BackendError(
                f"{file} has {file.stat().st_size} bytes, too many for a configuration; it is another file"
            )
        data = file.read_bytes()
    except OSError as fault:
        raise BackendError(f"{file} cannot be read: {fault.strerror or fault}") from fault
    return _object(data, str(file))


def _object(data: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise BackendError(f"{where} is not valid JSON ({fault}); get the file again") from fault
    if not isinstance(value, dict):
        raise BackendError(f"{where} holds {_named(value)} where a JSON object belongs; get the file again")
    return value


def _named(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def read_weights(folder: Path) -> Weights:
    """Read the headers of a folder's safetensors files, those that its index names where it has one.

    Raises:
        BackendError: a file cannot be read, is cut off, or is not safetensors.
    """
    try:
        here = {file.name: file for file in sorted(folder.iterdir()) if file.is_file()}
    except OSError as fault:
        raise BackendError(f"{folder} cannot be read: {fault.strerror or fault}") from fault
    index = read_json(folder / INDEX)
    named = _named_by(index, str(folder / INDEX)) if index is not None else None
    chosen = [here[name] for name in (named if named is not None else _safetensors(here)) if name in here]
    missing = tuple(name for name in named or () if name not in here)
    if not chosen and not missing:
        pickles = [file for name, file in here.items() if name.endswith((".bin", ".pt", ".pth"))]
        return Weights(files=len(pickles), size_bytes=_size(pickles), pickled=bool(pickles))
    tensors: dict[str, Tensor] = {}
    for file in chosen:
        tensors |= _header(file)
    return Weights(tensors=tensors, files=len(chosen), size_bytes=_size(chosen), missing=missing)


def _safetensors(names: Iterable[str]) -> list[str]:
    found = [name for name in names if name.endswith(".safetensors") and not name.startswith(_ADAPTER)]
    usual = [name for name in found if not name.startswith(_DUPLICATE)]
    return usual or found


def _named_by(index: dict[str, Any], where: str) -> list[str]:
    files = index.get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        raise BackendError(f"{where} has no weight_map from tensors to files; get the file again")
    return sorted(set(files.values()))


def _size(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _header(file: Path) -> dict[str, Tensor]:
    """Return the tensors of one file. Layout: a length of 8 bytes, so many bytes of JSON, then the tensors."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else None
            if length is None or length > size - 8:
                raise BackendError(f"{file} is cut off or not safetensors: its header does not fit into {size} bytes")
            if length > MOST_JSON_BYTES:
                raise BackendError(f"{file} has a header of {length} bytes, too many for safetensors; get it again")
            header = _object(stream.read(length), f"the header of {file}")
    except OSError as fault:
        raise BackendError(f"{file} cannot be read: {fault.strerror or fault}") from fault
    room = size - 8 - length
    return {name: _tensor(file, name, entry, room) for name, entry in header.items() if name != "__metadata__"}


def _tensor(file: Path, name: str, entry: object, room: int) -> Tensor:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [int(first), int(last)]} if (
            all(isinstance(size, int) and 0 <= size < LARGEST_DIMENSION for size in shape) and 0 <= first <= last
        ):
            if last > room:
                raise BackendError(
                    f"{file} is cut off: its tensors take {last} bytes, and {room} are there; get it again"
                )
            return Tensor(dtype, tuple(shape), last - first)
    raise BackendError(f"{file} does not describe its tensor {name[:80]!r} as safetensors does; get it again")
