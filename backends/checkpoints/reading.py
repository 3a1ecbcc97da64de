"""Reading a checkpoint: from its config.json and file headers to one record, without importing torch or an engine.

Keys are those of vLLM's own heads, of exports of vLLM's `speculators` library (sizes in `transformer_layer_config`, the
rest beside it) and of NVIDIA Model-Optimizer (`eagle_config`, `dflash_config`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.backends.base import BackendError
from draftmark.backends.checkpoints.checkpoint import DraftCheckpoint
from draftmark.backends.checkpoints.files import Weights, read_json, read_weights
from draftmark.backends.checkpoints.kinds import (
    MASK_TOKENS,
    Kind,
    carried_layers,
    drafts_in_one_pass,
    kind_of,
)
from draftmark.backends.checkpoints.notes import notes_on
from draftmark.backends.checkpoints.quantisation import LEGACY_FILE, Quantisation, quantisation
from draftmark.backends.checkpoints.settings import Settings
from draftmark.backends.drafters import LONGEST_DRAFT
from draftmark.backends.models import hub_snapshot, locate

if TYPE_CHECKING:
    from pathlib import Path

EAGLE3_HIDDEN_STATES = 3
"""That an EAGLE-3 head reads where its configuration does not count them."""

_STORED = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
_MEDUSA_HEAD = re.compile(r"(?:medusa_heads\.)?(?:blocks\.)?(\d+)\.(?:layers\.)?\d+\.(?:linear\.)?weight")
_BLOCKS: tuple[Kind, ...] = ("dflash", "dspark")


def find_checkpoint(name: str) -> Path:
    """Return the folder of a checkpoint as a plan names it: a folder, an alias, or a hub name that is in the cache.

    Raises:
        BackendError: there is none, or it is a GGUF file.
    """
    model = locate(name)
    if model.gguf_file is not None:
        raise BackendError(
            f"model {name!r} is a GGUF file: a language model, of which only folders with config.json are read here"
        )
    if model.folder is not None:
        return model.folder
    try:
        cached = hub_snapshot(name)
    except ValueError:  # no name that the hub would take
        cached = None
    if cached is None:
        raise BackendError(
            f"model {name!r}: there is no such folder, and the hub's local cache holds no such model; "
            f"fetch it first, or name its folder"
        )
    return cached


def read_checkpoint(folder: Path, name: str | None = None) -> DraftCheckpoint:
    """Return what the model files of a folder are; `name` is what it is called, where that is not the folder's name.

    Raises:
        BackendError: there is no such folder, it holds no checkpoint, a file is damaged, or it is of no known kind.
    """
    file = folder / "config.json"
    found = read_json(file)
    if found is None:
        what = "holds no config.json" if folder.is_dir() else "is no folder"
        raise BackendError(
            f"checkpoint {str(folder)!r} {what}; name the folder that has config.json beside the weights"
        )
    config, weights = Settings.of(found, str(file)), read_weights(folder)
    kind = kind_of(name or folder.name, config, weights)
    quantised = quantisation(config, read_json(folder / LEGACY_FILE), str(folder / LEGACY_FILE))
    return _Reading(folder, kind, config, weights, quantised).checkpoint()


@dataclass(frozen=True, slots=True)
class _Reading:
    folder: Path
    kind: Kind
    config: Settings
    weights: Weights
    quantised: Quantisation | None

    def checkpoint(self) -> DraftCheckpoint:
        config, kind = self.config, self.kind
        width, vocabulary = self._width(), self._vocabulary()
        carries, layers = self._carried()
        parallel = drafts_in_one_pass(kind, config, self.weights)
        one_pass = parallel or kind in _BLOCKS
        return DraftCheckpoint(
            folder=self.folder,
            kind=kind,
            architecture=config.architecture(),
            written_by=self._written_by(),
            weights=self.weights,
            quantisation=self.quantised,
            dtype=self._dtype(),
            hidden_size=width,
            vocabulary=vocabulary,
            layers=config.inner.whole("num_hidden_layers", "n_layer", "num_layers", "medusa_num_layers", least=0),
            draft_vocabulary=self._draft_vocabulary(vocabulary),
            draft_length=layers if carries == "mtp" else self._draft_length(),
            block_size=self._block_size() if kind in _BLOCKS or carries == "dspark" else None,
            parallel=parallel,
            mask_token=self._mask_token() if one_pass else None,
            target_hidden_size=self._target_width(width),
            target_layers=self._target_layers(),
            hidden_states=self._hidden_states(),
            target_layer_count=config.whole("num_target_layers") if kind == "dflash" else None,
            made_for=self._made_for(),
            carries=carries,
            notes=notes_on(kind, config, self.weights, self.quantised),
        )

    def _carried(self) -> tuple[Literal["mtp", "dspark"] | None, int]:
        if self.kind != "language-model":
            return None, 0
        if self.config.has("dspark_block_size", "dspark_target_layer_ids"):
            return "dspark", 0
        layers, there = carried_layers(self.config, self.weights)
        return ("mtp", layers) if there else (None, 0)

    def _width(self) -> int | None:
        width = self.config.inner.whole("hidden_size", "n_embd", "d_model")
        if width is None and self.kind == "medusa":
            block = next(
                (self.weights.tensors[name] for name in self.weights.tensors if _MEDUSA_HEAD.fullmatch(name)), None
            )
            return block.shape[-1] if block and block.shape else None
        return width

    def _vocabulary(self) -> int | None:
        return self.config.inner.whole("vocab_size")

    def _draft_vocabulary(self, vocabulary: int | None) -> int | None:
        if self.kind in {"eagle3", *_BLOCKS}:
            return self.config.whole("draft_vocab_size") or vocabulary
        return self.config.whole("truncated_vocab_size") or vocabulary if self.kind == "medusa" else vocabulary

    def _target_width(self, width: int | None) -> int | None:
        if self.kind == "language-model":
            return None
        named = "backbone_hidden_size" if self.kind == "mtp" else "target_hidden_size"
        return self.config.whole(named) or width

    def _target_layers(self) -> tuple[int, ...] | None:
        """Count as vLLM does: k is the hidden state after k layers. DFlash and DSpark name the layers, from 0."""
        config = self.config
        if self.kind == "eagle3":
            names = ("eagle_aux_hidden_state_layer_ids", "layer_ids")
            return config.wholes(names[0]) or config.section("eagle_config").wholes(*names)
        if self.kind not in _BLOCKS:
            return None
        after = config.wholes("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids")
        named = config.section("dflash_config").wholes("target_layer_ids", least=-1) or config.wholes(
            "dspark_target_layer_ids", "target_layer_ids", least=-1
        )
        return after or (tuple(layer + 1 for layer in named) if named else None)

    def _hidden_states(self) -> int | None:
        config, layers = self.config, self._target_layers()
        used = config.section("eagle_config").yes("use_aux_hidden_state")
        if self.kind == "eagle3" and used is not False:
            return config.whole("num_aux_hidden_states") or (len(layers) if layers else EAGLE3_HIDDEN_STATES)
        return len(layers) if layers and self.kind in _BLOCKS else None

    def _block_size(self) -> int | None:
        """At least 2 for DFlash, which fills a block around the last known token."""
        names, least = ("block_size", "dspark_block_size"), 2 if self.kind == "dflash" else 1
        inside = self.config.section("dflash_config")
        return self.config.whole(*names, least=least, most=LONGEST_DRAFT) or inside.whole(
            *names, least=least, most=LONGEST_DRAFT
        )

    def _draft_length(self) -> int | None:
        config, kind = self.config, self.kind
        proposed = self._proposed()
        if proposed is not None:
            return proposed
        if kind == "medusa":
            return self._medusa_heads()
        if kind == "mtp":
            names = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "n_predict")
            return config.whole(*names, most=LONGEST_DRAFT) or 1
        block = self._block_size() if kind in _BLOCKS or self._carried()[0] == "dspark" else None
        if block is None or kind != "dflash":
            return block
        return block if config.section("dflash_config").yes("sample_from_anchor") else block - 1

    def _proposed(self) -> int | None:
        """Return `speculative_tokens` of the first proposal method of a speculators export, the one that vLLM takes."""
        section = self.config.section("speculators_config")
        methods = section.levels[0].get("proposal_methods") if section.levels else None
        if not isinstance(methods, list) or not methods or not isinstance(methods[0], dict):
            return None
        return Settings(f"{section.where}: proposal_methods", (methods[0],)).whole(
            "speculative_tokens", most=LONGEST_DRAFT
        )

    def _medusa_heads(self) -> int | None:
        """Return the heads, under any name with `num` and `heads`, as vLLM reads it; else count them in the files."""
        names = [name for level in self.config.levels for name in level if "num" in name and "heads" in name]
        names = [name for name in names if "attention" not in name and "key_value" not in name]
        counted = {found[1] for name in self.weights.tensors if (found := _MEDUSA_HEAD.fullmatch(name))}
        return self.config.whole(*names, most=LONGEST_DRAFT) or len(counted) or None

    def _mask_token(self) -> int | None:
        inside = self.config.section("dflash_config").whole("mask_token_id", least=0)
        return inside if inside is not None else self.config.whole(*MASK_TOKENS, least=0)

    def _made_for(self) -> str | None:
        verifier = self.config.section("speculators_config").section("verifier")
        return verifier.text("name_or_path") or self.config.text("base_model_name_or_path")

    def _dtype(self) -> str | None:
        told = self.config.text("dtype", "torch_dtype")
        if told is not None:
            return told.removeprefix("torch.")
        return next((_STORED[name] for name in self.weights.dtypes() if name in _STORED), None)

    def _written_by(self) -> str | None:
        if self.config.has("speculators_model_type"):
            return f"speculators {self.config.text('speculators_version') or ''}".strip()
        producer = self.config.section("quantization_config").section("producer")
        own = self.config.section("eagle_config").has("next_layer_regular", "use_mtp_layernorm")
        by_modelopt = producer.text("name") == "modelopt" or (self.quantised or _NOBODY).method.startswith("modelopt")
        if not (by_modelopt or own):
            return None
        return f"NVIDIA Model-Optimizer {producer.text('version') or ''}".strip()


_NOBODY = Quantisation("", "")
