"""What a checkpoint is, as one record, and the line of a plan that uses it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from draftmark.backends.checkpoints.files import Weights
    from draftmark.backends.checkpoints.kinds import Kind
    from draftmark.backends.checkpoints.quantisation import Quantisation

FIRST_TRY = 3
"""D to begin with where a checkpoint names none: long enough to show what a drafter is worth, short enough to pay."""

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*/[A-Za-z0-9_./+-]*")
"""A path that YAML takes as a text without quotes: its slash keeps it from being a number, a date or a boolean."""
_NO_TEXTS = {"true", "false", "null", "yes", "no", "on", "off"}


@dataclass(frozen=True, slots=True)
class DraftCheckpoint:
    """A drafter, or a language model, as the files of its folder describe it; what they do not tell is null."""

    folder: Path
    kind: Kind
    architecture: str | None
    written_by: str | None
    """The library that exported it, with its version where it says so."""
    weights: Weights = field(repr=False)
    quantisation: Quantisation | None
    dtype: str | None
    """Of the weights that are not quantised."""

    hidden_size: int | None
    """The drafter's own width."""
    vocabulary: int | None
    """Tokens it reads: the target's."""
    layers: int | None
    """The drafter's own."""
    draft_vocabulary: int | None
    """Tokens it can propose."""

    draft_length: int | None
    """D that it was made for."""
    block_size: int | None
    """Tokens it fills in one pass, the last known one among them where it drafts one fewer."""
    parallel: bool
    """It proposes all D tokens in one pass and its engine has to be told."""
    mask_token: int | None
    """What it reads at the places it is to fill."""

    target_hidden_size: int | None
    """Width of the target's hidden states that it reads."""
    target_layers: tuple[int, ...] | None
    """It reads the hidden states after so many of the target's layers each; null where the engine chooses."""
    hidden_states: int | None
    """How many of them it reads at once; null where it reads none or that is not told."""
    target_layer_count: int | None
    """Layers of the target it was made for."""
    made_for: str | None
    """That target's name."""

    carries: Literal["mtp", "dspark"] | None = None
    """Drafter that a language model brings along."""
    notes: tuple[str, ...] = ()
    """What there is to know before it is used, in sentences."""

    @property
    def is_language_model(self) -> bool:
        """Whether it is a target, and a draft model, rather than a head."""
        return self.kind == "language-model"

    @property
    def takes_d(self) -> int:
        """D to begin with."""
        return self.draft_length or FIRST_TRY


def plan_entry(checkpoint: DraftCheckpoint, model: str) -> dict[str, Any]:
    """Return the entry of a plan's `drafters:` that uses it; `model` names the folder as the plan shall."""
    if checkpoint.carries is not None:
        return {"kind": checkpoint.carries, "draft_length": checkpoint.takes_d}
    kind = "draft-model" if checkpoint.is_language_model else checkpoint.kind
    entry = {"kind": kind, "model": model, "draft_length": checkpoint.takes_d}
    return entry | ({"parallel": True} if checkpoint.parallel else {})


def plan_line(checkpoint: DraftCheckpoint, model: str) -> str:
    """Return that entry as a line of YAML, such as `- {kind: eagle3, model: heads/mine, draft_length: 3}`."""
    return "- {" + ", ".join(f"{key}: {_yaml(value)}" for key, value in plan_entry(checkpoint, model).items()) + "}"


def target_line(model: str) -> str:
    """Return the line of a plan that names a language model as its target."""
    return f"target: {_yaml(model)}"


def _yaml(value: str | int) -> str:
    """Quote a text as JSON does, which YAML reads, unless it needs no quotes; what cannot be seen is spelt out."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    plain = _PLAIN.fullmatch(value) or (re.fullmatch("[a-z][a-z0-9-]+", value) and value not in _NO_TEXTS)
    if plain:
        return value
    return "".join(map(_visible, json.dumps(value, ensure_ascii=False)))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
