"""What an engine really runs with: vLLM's resolved configuration as flat names to plain values, to compare arms by."""

from __future__ import annotations

import dataclasses
import enum
import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

PARTS = (
    "model_config",
    "cache_config",
    "parallel_config",
    "scheduler_config",
    "device_config",
    "load_config",
    "attention_config",
    "kernel_config",
    "compilation_config",
    "lora_config",
    "observability_config",
)
"""Parts of `VllmConfig` that are recorded; the drafter's own (`speculative_config`) is what arms differ in anyway."""

_NOISE = re.compile(
    r"(hash|uuid|instance_id|port|_ip$|_addr$|address|endpoint|domains|path|_dir$|_class$|_cls$|plugin|time|counter"
    r"|^model$|_token$|extra_config|placement_group|spec_decode_metrics|hf_config|hf_text_config|encoder_config"
    r"|generation_config|override|architectures_info|static_forward_context|model_class|pickled|served_model_name"
    r"|tokenizer$|model_weights|^_|enabled_custom_ops|disabled_custom_ops|traced_files|inductor_compile_config"
    r"|inductor_passes|local_cache|num_gpu_blocks$|num_cpu_blocks)"
)
"""Settings that name a place, a moment or an object of one process, that may hold a password or a token for somebody
else's service, that say nothing of speed, or are told elsewhere."""
_LONGEST = 64


def flat(config: Any) -> dict[str, Any]:
    """Return a `VllmConfig` as names like `scheduler.async_scheduling` to plain JSON values."""
    found: dict[str, Any] = {}
    for part in PARTS:
        value = getattr(config, part, None)
        if value is not None:
            _walk(part.removesuffix("_config"), value, found, depth=0)
    return dict(sorted(found.items()))


def _walk(name: str, value: Any, found: dict[str, Any], depth: int) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if depth > 2:
            return
        for item in dataclasses.fields(value):
            if not _NOISE.search(item.name):
                _walk(f"{name}.{item.name}", getattr(value, item.name, None), found, depth + 1)
        return
    plain = _plain(value)
    if plain is not _UNKNOWN:
        found[name] = plain


_UNKNOWN = object()


def _plain(value: Any) -> Any:
    """Return a value as plain JSON, or `_UNKNOWN` for objects, which say nothing that could be compared."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain(item) for item in value]
        if len(items) > _LONGEST or any(item is _UNKNOWN for item in items):
            return _UNKNOWN
        return sorted(items, key=str) if isinstance(value, set | frozenset) else items
    if isinstance(value, Mapping):
        pairs = {str(key): _plain(item) for key, item in value.items()}
        return _UNKNOWN if len(pairs) > _LONGEST or any(item is _UNKNOWN for item in pairs.values()) else pairs
    text = str(value)  # paths and the types of torch
    return text if isinstance(value, PurePath) or text.startswith("torch.") else _UNKNOWN
