"""`draftmark doctor --checkpoint`: which drafter a folder of model files holds, and what it asks of a target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError
from draftmark.backends.checkpoints import (
    find_checkpoint,
    plan_entry,
    plan_line,
    problems_with,
    read_checkpoint,
    target_line,
)
from draftmark.backends.checkpoints.fit import default_layers
from draftmark.bench.reporting.display import emit, emit_rich, harmless

if TYPE_CHECKING:
    from draftmark.backends.checkpoints import DraftCheckpoint

TITLES = {
    "eagle": "eagle: a head on the target's last hidden state",
    "eagle3": "eagle3: a head on hidden states of several of the target's layers",
    "medusa": "medusa: a small head per position",
    "dflash": "dflash: a small model that fills a block at once",
    "dspark": "dspark: a block drafter with a Markov head",
    "mtp": "mtp: layers for multi-token prediction, apart from their target",
    "language-model": "none by itself: a language model, to be a `target`, or a `draft-model` for another",
}

NOT_STATED = "not stated"


def look_at(name: str, target_name: str | None, *, as_json: bool) -> int:
    """Print what a checkpoint is and whether it fits a target; return the exit code.

    Raises:
        BackendError: either of them is not there, or is not what it is named for.
    """
    checkpoint = read_checkpoint(find_checkpoint(name), name)
    target = None if target_name is None else _target(target_name)
    problems = problems_with(checkpoint, target)
    if as_json:
        emit(json.dumps(_as_json(name, checkpoint, target_name, target, problems), indent=2))
    else:
        _print(name, checkpoint, target_name, target, problems)
    return 2 if problems else 0


def _target(name: str) -> DraftCheckpoint:
    target = read_checkpoint(find_checkpoint(name), name)
    if target.hidden_size is None and target.vocabulary is None:
        raise BackendError(
            f"target {name!r}: its config.json tells neither hidden_size nor vocab_size; name another folder"
        )
    return target


def _as_json(
    name: str,
    checkpoint: DraftCheckpoint,
    target_name: str | None,
    target: DraftCheckpoint | None,
    problems: list[str],
) -> dict[str, Any]:
    return {
        "checkpoint": name,
        **_facts(checkpoint),
        "target": None if target is None else {"name": target_name, **_facts(target)},
        "fits": None if target is None else not problems,
        "problems": problems,
        "plan": plan_line(checkpoint, name),
        "plan_entry": plan_entry(checkpoint, name),
    }


def _facts(checkpoint: DraftCheckpoint) -> dict[str, Any]:
    """Return the record as plain JSON values, tensors summed up."""
    quantised, weights = checkpoint.quantisation, checkpoint.weights
    fields = [name for name in checkpoint.__slots__ if name not in {"folder", "weights", "quantisation", "notes"}]
    how = None if quantised is None else {name: getattr(quantised, name) for name in quantised.__slots__}
    return {
        "folder": str(checkpoint.folder),
        **{name: getattr(checkpoint, name) for name in fields},
        "quantisation": how,
        "size_bytes": weights.size_bytes,
        "files": weights.files,
        "tensors": len(weights.tensors) or None,
        "stored_bytes": weights.dtypes() or None,
        "notes": checkpoint.notes,
    }


def _print(
    name: str,
    checkpoint: DraftCheckpoint,
    target_name: str | None,
    target: DraftCheckpoint | None,
    problems: list[str],
) -> None:
    from rich.table import Table
    from rich.text import Text

    rows: list[tuple[str, str, str]] = [(label, text, "") for label, text in _rows(name, checkpoint, target) if text]
    if target is not None:
        rows.append(("target", f"{target_name}: {_sizes(target)}", ""))
    rows += [("note", note, "yellow") for note in checkpoint.notes]
    rows += [("problem", problem, "red") for problem in problems]
    table = Table.grid(padding=(0, 2))
    for label, text, colour in rows:
        table.add_row(Text(label, style=colour), Text(harmless(text)))
    emit_rich(table)
    if problems:
        emit("It cannot be used like this: see the problems above.")
        return
    if checkpoint.is_language_model:
        emit(f"As the target of a plan:\n  {harmless(target_line(name))}")
    fits = "It fits. " if target is not None else ""
    emit(f"{fits}As a drafter of a plan:\n  {harmless(plan_line(checkpoint, name))}")


def _rows(name: str, checkpoint: DraftCheckpoint, target: DraftCheckpoint | None) -> list[tuple[str, str | None]]:
    kind = checkpoint.kind
    quantised = checkpoint.quantisation
    return [
        ("checkpoint", name if name == str(checkpoint.folder) else f"{name} ({checkpoint.folder})"),
        ("drafter", f"{TITLES[kind]}{', all tokens in one pass' if checkpoint.parallel else ''}"),
        ("brings", _carried(checkpoint)),
        ("architecture", checkpoint.architecture or NOT_STATED),
        ("written by", checkpoint.written_by),
        ("made for", checkpoint.made_for),
        ("draft length", _draft_length(checkpoint)),
        ("proposes", _proposes(checkpoint)),
        ("reads", _reads(checkpoint, target)),
        ("asks for", _asks(checkpoint)),
        ("layers", None if checkpoint.layers is None else str(checkpoint.layers)),
        ("quantisation", "none stated" if quantised is None else quantised.words()),
        ("dtype", checkpoint.dtype or NOT_STATED),
        ("size", _size(checkpoint)),
    ]


def _carried(checkpoint: DraftCheckpoint) -> str | None:
    if checkpoint.carries == "mtp":
        return f"layers for multi-token prediction, {checkpoint.draft_length} of them: it can draft for itself"
    return None if checkpoint.carries is None else "a DSpark drafter within: it can draft for itself"


def _draft_length(checkpoint: DraftCheckpoint) -> str:
    block = "" if checkpoint.block_size is None else f", a block of {checkpoint.block_size}"
    if checkpoint.draft_length is None:
        return f"{NOT_STATED}{block}; begin with {checkpoint.takes_d}"
    return f"{checkpoint.draft_length}{block}"


def _proposes(checkpoint: DraftCheckpoint) -> str | None:
    tokens, full = checkpoint.draft_vocabulary, checkpoint.vocabulary
    if tokens is None:
        return None
    return f"{tokens} of the target's {full} tokens" if full is not None and full != tokens else f"{tokens} tokens"


def _reads(checkpoint: DraftCheckpoint, target: DraftCheckpoint | None) -> str | None:
    if checkpoint.is_language_model:
        return None
    width = "" if checkpoint.target_hidden_size is None else f", {checkpoint.target_hidden_size} wide"
    if checkpoint.target_layers is not None:
        return f"the target's hidden states after layers {_listed(checkpoint.target_layers)}{width}"
    if checkpoint.hidden_states is None:
        return f"the target's last hidden state{width}" if checkpoint.kind not in {"dflash", "dspark"} else NOT_STATED
    if target is not None and target.is_language_model and target.layers is not None:
        return f"the target's hidden states after layers {_listed(default_layers(target.layers))}{width}: vLLM's choice"
    return f"{checkpoint.hidden_states} of the target's hidden states{width}, from layers that the engine chooses"


def _asks(checkpoint: DraftCheckpoint) -> str:
    deepest = max(checkpoint.target_layers or (0,))
    layers = checkpoint.target_layer_count
    wants = [
        checkpoint.target_hidden_size and f"hidden size {checkpoint.target_hidden_size}",
        checkpoint.vocabulary and f"a vocabulary of {checkpoint.vocabulary} tokens",
        f"{layers} layers" if layers else deepest and f"at least {deepest} layers",
    ]
    who = "as a draft model, a target with" if checkpoint.is_language_model else "a target with"
    return f"{who} {', '.join(want for want in wants if want) or 'sizes that its config.json does not state'}"


def _sizes(target: DraftCheckpoint) -> str:
    sizes = (("layers", target.layers), ("hidden size", target.hidden_size), ("vocabulary", target.vocabulary))
    return ", ".join(f"{label} {NOT_STATED if size is None else size}" for label, size in sizes)


def _listed(numbers: tuple[int, ...]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last


def _size(checkpoint: DraftCheckpoint) -> str:
    weights = checkpoint.weights
    stored = ", ".join(f"{dtype} {_bytes(size)}" for dtype, size in weights.dtypes().items())
    files = f"{weights.files} file{'' if weights.files == 1 else 's'}"
    return f"{_bytes(weights.size_bytes)} in {files}{f': {stored}' if stored else ''}"


def _bytes(size: int) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
