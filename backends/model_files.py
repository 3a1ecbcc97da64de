"""What a model's files hold: which weights, how many parameters, and the sizes that its config.json declares.

Nothing here imports torch. Weights and configurations are read as `checkpoints` reads them, but what cannot be told is
null here, where a checkpoint is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError
from draftmark.backends.checkpoints.files import read_json, read_weights
from draftmark.backends.checkpoints.settings import Settings
from draftmark.backends.models import SOURCE_FILE, LocalModel, hub_snapshot, locate
from draftmark.results.cache_folder import cache_root
from draftmark.results.records import ModelIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_IDENTITY_SUFFIXES = {".safetensors", ".bin", ".gguf", ".json", ".jinja", ".txt", ".model", ".tiktoken"}


def identity(model: LocalModel) -> ModelIdentity:
    """Return which weights a model holds: sha256 of its weight, tokenizer and config files, size and vocabulary.

    A hub name is described by its snapshot in the hub's local cache, and by its name alone where there is none yet.
    Reads every byte once; digests are remembered by path, size and modification time. Parameters are the elements of
    all stored tensors, from file headers alone, each weight once; null where no header tells them.

    Raises:
        BackendError: a file of the model cannot be read.
    """
    try:
        return _identity(model)
    except OSError as fault:
        raise BackendError(
            f"model {model.name!r}: {fault.filename} cannot be read: {fault.strerror or fault}"
        ) from fault


def _identity(model: LocalModel) -> ModelIdentity:
    folder, revision = model.folder, None
    if folder is None:
        folder = hub_snapshot(model.name)
        revision = folder.name if folder else None
    if folder is None:
        return ModelIdentity(name=model.name)
    if model.gguf_file is not None:
        files = [folder / model.gguf_file]
        parameters, vocabulary = _gguf_sizes(files[0])
    else:
        files = sorted(
            file for file in folder.iterdir() if file.suffix in _IDENTITY_SUFFIXES and not file.name.startswith(".")
        )
        parameters, vocabulary = _parameters(folder), _declared(folder, "vocab_size")
    with suppress(OSError, ValueError, KeyError):
        source = json.loads((folder / SOURCE_FILE).read_text(encoding="utf-8"))
        revision = f"{source['package']}=={source['version']}"
    return ModelIdentity(
        name=model.name, files=_digests(files), revision=revision, parameters=parameters, vocabulary=vocabulary
    )


def _digests(files: list[Path]) -> dict[str, str]:
    """Return file name to sha256, reusing digests of files that did not change since; the memory may be lost."""
    memory = cache_root() / "digests.json"
    known: dict[str, list[Any]] = {}
    with suppress(OSError, ValueError):
        loaded = json.loads(memory.read_text(encoding="utf-8"))
        known = loaded if isinstance(loaded, dict) else {}
    found, changed = {}, False
    for file in files:
        stat = file.stat()
        key, stamp = str(file.resolve()), [stat.st_size, stat.st_mtime_ns]
        entry = known.get(key)
        if not (isinstance(entry, list) and entry[:2] == stamp):
            with file.open("rb") as stream:
                entry = [*stamp, hashlib.file_digest(stream, "sha256").hexdigest()]
            known[key], changed = entry, True
        found[file.name] = str(entry[2])
    if changed:
        with suppress(OSError):
            memory.parent.mkdir(parents=True, exist_ok=True)
            fresh = memory.with_name(f"digests.{os.getpid()}.tmp")
            fresh.write_text(json.dumps(known), encoding="utf-8")
            fresh.replace(memory)
    return found


def _parameters(folder: Path) -> int | None:
    """Sum the elements of all tensors of the weights; null where their headers cannot be read, or some are missing."""
    with suppress(BackendError):
        weights = read_weights(folder)
        if weights.tensors and not weights.missing:
            return sum(math.prod(tensor.shape) for tensor in weights.tensors.values())
    return None


def layer_count(model: LocalModel) -> int | None:
    """Return the decoder layers that a local model's config.json declares; null where it cannot be told cheaply."""
    return None if model.folder is None else _declared(model.folder, "num_hidden_layers")


def context_limit(name: str) -> int | None:
    """Return the tokens that a local model's config.json says it was made for; null where it cannot be told cheaply.

    Raises `BackendError` as `locate`.
    """
    folder = locate(name).folder
    return None if folder is None else _declared(folder, "max_position_embeddings")


def dropped_layers_problem(name: str, dropped: Sequence[int], layers: int) -> str | None:
    """Say why these layers cannot be left out of a model of so many; null if they can."""
    wrong = sorted(index for index in set(dropped) if not 0 <= index < layers)
    if not wrong and len(set(dropped)) < layers:
        return None
    what = f"there is no layer {wrong[0]}" if wrong else "no layer would be left"
    return f"drop_layers of {name!r}: {what}; the model has layers 0 to {layers - 1}"


def _declared(folder: Path, name: str) -> int | None:
    """Return a size of the transformer as config.json declares it; null where it does not, or is damaged."""
    file = folder / "config.json"
    with suppress(BackendError):
        config = read_json(file)
        return None if config is None else Settings.of(config, str(file)).inner.whole(name)
    return None


def _gguf_sizes(file: Path) -> tuple[int | None, int | None]:
    """Return (parameters, vocabulary) of a GGUF file; nulls without the package `gguf`."""
    try:
        from gguf import GGUFReader
    except ImportError:
        return None, None
    reader = GGUFReader(file)
    parameters = sum(int(tensor.n_elements) for tensor in reader.tensors)
    tokens = reader.get_field("tokenizer.ggml.tokens")
    return parameters, len(tokens.data) if tokens else None
