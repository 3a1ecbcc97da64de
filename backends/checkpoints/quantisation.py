"""How a checkpoint's weights were quantised, as NVIDIA Model-Optimizer, compressed-tensors and others write it down.

Read from `quantization_config` (or `compression_config`) in config.json, else from hf_quant_config.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.backends.checkpoints.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

LEGACY_FILE = "hf_quant_config.json"
"""Where Model-Optimizer up to 0.29 wrote it, and where later ones repeat it."""

_MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class Quantisation:
    """What is said of the weights; only what is said is filled in."""

    name: str
    """Of the numbers: `NVFP4`, `FP8`, `INT4`, or the method's own name where it tells no more."""
    method: str
    """As loaders call it: `modelopt`, `compressed-tensors`, `fp8`, `awq`."""
    group: int | None = None
    """Weights that share a scale, where they do so in groups."""
    block: tuple[int, ...] | None = None
    """Shape of the blocks that share a scale."""
    kv_cache: str | None = None
    """Type of the keys and values that it was calibrated for."""
    kept: int | None = None
    """Entries in the list of modules that were left as they were."""

    def words(self) -> str:
        """Return it as a phrase."""
        parts = [self.name]
        if self.block:
            parts.append(f"blocks of {'x'.join(map(str, self.block))}")
        if self.group:
            parts.append(f"groups of {self.group}")
        if self.kv_cache:
            parts.append(f"KV cache {self.kv_cache}")
        if self.kept:
            parts.append(f"{self.kept} exception{'' if self.kept == 1 else 's'}")
        told = ", ".join(parts)
        return told if told.lower().startswith(self.method) else f"{told} ({self.method})"


def quantisation(config: Settings, legacy: Mapping[str, Any] | None, where: str) -> Quantisation | None:
    """Return how the weights are quantised; null where nothing says that they are.

    `legacy` is the content of hf_quant_config.json and `where` its path.

    Raises:
        BackendError: a number in it is none.
    """
    found = config.section("quantization_config")
    if not any(found.levels):
        found = config.section("compression_config")
    if not any(found.levels) and legacy is not None:
        found = Settings(where, (legacy,))
    if not any(found.levels):
        return None
    method = (found.text("quant_method") or _producer(found) or "unnamed").lower().replace("_tensors", "-tensors")
    if method.startswith("modelopt") or found.has("quantization") or found.has("quant_algo"):
        return _modelopt(found, method)
    if method == "compressed-tensors" or found.has("config_groups"):
        return _compressed(found, method)
    return _by_method(found, method)


def _producer(found: Settings) -> str | None:
    return found.section("producer").text("name")


def _modelopt(found: Settings, method: str) -> Quantisation:
    """Read both layouts: the legacy one nests everything in `quantization`, the newer one does not."""
    nested = found.section("quantization")
    facts = nested if nested.levels else found
    name = (facts.text("quant_algo") or "none named").upper()
    if name == "MIXED_PRECISION":
        name = " and ".join(_mixed(facts)) or "mixed"
    return Quantisation(
        name=name,
        method="modelopt" if method == "unnamed" else method,
        group=_size(facts, "group_size") or _size(_group_weights(facts), "group_size"),
        kv_cache=facts.text("kv_cache_quant_algo", "kv_cache_scheme") or _number(facts.section("kv_cache_scheme")),
        kept=_count(facts, "exclude_modules", "ignore"),
    )


def _mixed(facts: Settings) -> list[str]:
    layers = facts.section("quantized_layers")
    entries = layers.levels[0].values() if layers.levels else ()
    names = {
        entry["quant_algo"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("quant_algo"), str)
    }
    return sorted(name.upper() for name in names)


def _compressed(found: Settings, method: str) -> Quantisation:
    weights = _group_weights(found)
    form = found.text("format") or ""
    group = _size(weights, "group_size")
    name = _number(weights) or form or method
    if name == "FP4":
        name = "MXFP4" if "mxfp4" in form or group == 32 else "NVFP4"
    return Quantisation(
        name=name,
        method=method,
        group=group,
        block=_shape(weights, "block_structure"),
        kv_cache=_number(found.section("kv_cache_scheme")),
        kept=_count(found, "ignore"),
    )


def _group_weights(found: Settings) -> Settings:
    """Return the `weights` of the first group; groups that differ are rare and say so in their format."""
    groups = found.section("config_groups")
    first = next((group for group in groups.levels[0].values() if isinstance(group, dict)), {}) if groups.levels else {}
    return Settings(groups.where, (first,)).section("weights")


def _by_method(found: Settings, method: str) -> Quantisation:
    names = {"awq": "AWQ", "gptq": "GPTQ", "fp8": "FP8", "fbgemm_fp8": "FP8", "mxfp4": "MXFP4", "mxfp8": "MXFP8"}
    name = names.get(method, method)
    bits = found.whole("bits", "w_bit", most=_MOST_BITS)
    if method == "bitsandbytes":
        bits = 4 if found.yes("load_in_4bit") or found.yes("_load_in_4bit") else 8
    return Quantisation(
        name=f"{name}, {bits} bits" if bits else name,
        method=method,
        group=_size(found, "group_size", "q_group_size"),
        block=_shape(found, "weight_block_size"),
        kept=_count(found, "modules_to_not_convert", "ignored_layers"),
    )


def _number(scheme: Settings) -> str | None:
    """Return `FP8`, `INT4` and the like from `num_bits` and `type`."""
    bits = scheme.whole("num_bits", most=_MOST_BITS)
    if bits is None:
        return None
    return f"{'FP' if scheme.text('type') == 'float' else 'INT'}{bits}"


def _size(facts: Settings, *names: str) -> int | None:
    """Return the size of groups; null where there are none, which some write as 0 or -1."""
    size = facts.whole(*names, least=-1)
    return size if size is not None and size > 0 else None


def _shape(facts: Settings, name: str) -> tuple[int, ...] | None:
    """Return a list of sizes; null where it is written in some other way."""
    found: list[Any] = next((level[name] for level in facts.levels if isinstance(level.get(name), list)), [])
    return tuple(found) if found and all(isinstance(size, int) for size in found) else None


def _count(facts: Settings, *names: str) -> int | None:
    lists = [level[name] for level in facts.levels for name in names if isinstance(level.get(name), list)]
    return len(lists[0]) if lists else None
