"""Whether a checkpoint agrees with itself and with a target: a disagreement is a sentence that names both numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.backends.checkpoints.checkpoint import DraftCheckpoint
    from draftmark.backends.checkpoints.files import Tensor

_UNPACKED = ("BF16", "F16", "F32", "F64", "F8_")
"""Stored types that hold one weight in one element; others pack several, and their last dimension tells nothing."""


def problems_with(checkpoint: DraftCheckpoint, target: DraftCheckpoint | None = None) -> list[str]:
    """Return what keeps a checkpoint from working, by itself or as a drafter of a target; empty where nothing does.

    The target's own files are not judged, only what a drafter has to share with it. What either does not tell is not
    compared.
    """
    found = [*_files(checkpoint)]
    if not checkpoint.is_language_model:
        found += [*_shapes(checkpoint), *_configuration(checkpoint)]
    return found + ([] if target is None else [*_against(checkpoint, target)])


def default_layers(target_layers: int) -> tuple[int, int, int]:
    """Return after how many layers an EAGLE-3 head that names none reads, in vLLM: 2, half, and all but 3."""
    return 2, target_layers // 2, target_layers - 3


def _files(checkpoint: DraftCheckpoint) -> Iterator[str]:
    weights = checkpoint.weights
    if weights.missing:
        first = weights.missing[0]
        yield f"its index names {len(weights.missing)} files that are not there, {first[:80]!r} first; get them too"
    elif not weights.files and not (checkpoint.is_language_model and any(checkpoint.folder.glob("*.bin"))):
        yield "the folder holds no weights (.safetensors), only their description; get the rest of it"


def _shapes(checkpoint: DraftCheckpoint) -> Iterator[str]:
    """Compare what config.json states with the shapes that the headers give."""
    weights, tokens = checkpoint.weights, checkpoint.draft_vocabulary
    output, mapping, embedding = (
        weights.find("lm_head.weight"),
        weights.find("d2t"),
        weights.find("embed_tokens.weight"),
    )
    if output is not None and tokens is not None and _rows(output) != tokens:
        yield f"its draft vocabulary has {tokens} tokens by config.json, and lm_head.weight has {_rows(output)} rows"
    if mapping is not None and tokens is not None and _rows(mapping) != tokens:
        yield f"its draft vocabulary has {tokens} tokens by config.json, and d2t maps {_rows(mapping)}"
    full = checkpoint.vocabulary
    part = full is not None and tokens is not None and tokens < full
    if part and weights.tensors and mapping is None and weights.find("token_map") is None:
        yield f"it proposes {tokens} of {full} tokens, and no tensor d2t says which ones"
    if embedding is not None and full is not None and _rows(embedding) != full:
        yield f"its vocabulary has {full} tokens by config.json, and embed_tokens.weight has {_rows(embedding)} rows"
    yield from _fusion(checkpoint)


def _fusion(checkpoint: DraftCheckpoint) -> Iterator[str]:
    """The matrix `fc` takes in all hidden states side by side; in EAGLE, one of them beside the token's embedding."""
    fusion, width = checkpoint.weights.find("fc.weight"), checkpoint.target_hidden_size
    if fusion is None or width is None or not fusion.shape or not fusion.dtype.startswith(_UNPACKED):
        return
    parts = 2 if checkpoint.kind == "eagle" else checkpoint.hidden_states
    if parts is not None and fusion.shape[-1] != parts * width:
        what = "an embedding and a hidden state" if checkpoint.kind == "eagle" else f"{parts} hidden states"
        yield f"fc.weight takes in {fusion.shape[-1]} numbers, and {what} of {width} each make {parts * width}"


def _configuration(checkpoint: DraftCheckpoint) -> Iterator[str]:
    tokens, full = checkpoint.draft_vocabulary, checkpoint.vocabulary
    if tokens is not None and full is not None and tokens > full:
        yield f"its draft vocabulary has {tokens} tokens, and the whole one only {full}"
    if checkpoint.kind in {"dflash", "dspark"} and checkpoint.target_layers is None:
        yield "its config.json names no layers of the target that it reads (target_layer_ids)"
    if (checkpoint.parallel or checkpoint.kind in {"dflash", "dspark"}) and checkpoint.mask_token is None:
        yield "it fills several places in one pass, and its config.json names no token for them (mask_token_id)"
    weights = checkpoint.weights
    if checkpoint.kind == "eagle3" and checkpoint.parallel and weights.tensors and weights.find("mask_hidden") is None:
        yield "it fills several places in one pass, and no tensor mask_hidden stands in for their hidden states"
    token = checkpoint.mask_token
    if token is not None and full is not None and token >= full:
        yield f"its mask token is number {token}, and its vocabulary ends at {full - 1}"


def _against(checkpoint: DraftCheckpoint, target: DraftCheckpoint) -> Iterator[str]:
    if not target.is_language_model:
        yield f"the target is itself a drafter ({target.kind}); name the model that it drafts for"
        return
    for ours, theirs, sentence in (
        (
            checkpoint.target_hidden_size,
            target.hidden_size,
            "it reads hidden states {} wide, and the target's are {} wide",
        ),
        (checkpoint.vocabulary, target.vocabulary, "its vocabulary has {} tokens, and the target's has {}"),
        (checkpoint.target_layer_count, target.layers, "it was made for a target of {} layers, and this one has {}"),
    ):
        if ours is not None and theirs is not None and ours != theirs:
            yield sentence.format(ours, theirs)
    yield from _layers(checkpoint, target)
    yield from _shared(checkpoint, target)


def _layers(checkpoint: DraftCheckpoint, target: DraftCheckpoint) -> Iterator[str]:
    if target.layers is None or checkpoint.hidden_states is None:
        return
    if checkpoint.target_layers is None:
        chosen = default_layers(target.layers)
        if checkpoint.kind == "eagle3" and (min(chosen) < 0 or len(set(chosen)) < len(chosen)):
            yield (
                f"it leaves the layers that it reads to the engine, and of this target's {target.layers} layers vLLM "
                f"would take {chosen[0]}, {chosen[1]} and {chosen[2]}"
            )
        return
    deepest = max(checkpoint.target_layers)
    if deepest > target.layers:
        yield f"it reads the hidden state after layer {deepest}, and the target has {target.layers} layers"


def _shared(checkpoint: DraftCheckpoint, target: DraftCheckpoint) -> Iterator[str]:
    """What it takes from the target must have its own width; what maps to the target must have the target's length."""
    known = checkpoint.weights.find("t2d")
    if known is not None and target.vocabulary is not None and _rows(known) != target.vocabulary:
        yield f"its t2d covers {_rows(known)} tokens, and the target's vocabulary has {target.vocabulary}"
    if checkpoint.is_language_model or checkpoint.kind == "medusa" or not checkpoint.weights.tensors:
        return
    own = any(name.endswith("embed_tokens.weight") for name in checkpoint.weights.tensors)
    width = checkpoint.hidden_size
    same_states = checkpoint.target_hidden_size == width
    if (
        not own
        and not same_states
        and width is not None
        and target.hidden_size is not None
        and width != target.hidden_size
    ):
        yield f"it brings no embeddings of its own {width} numbers, and the target's have {target.hidden_size}"


def _rows(tensor: Tensor) -> int:
    return tensor.shape[0] if tensor.shape else 0
