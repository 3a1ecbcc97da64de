"""What there is to know of a checkpoint before it is used, though nothing in it is wrong, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.checkpoints.kinds import Kind, carried_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.backends.checkpoints.files import Weights
    from draftmark.backends.checkpoints.quantisation import Quantisation
    from draftmark.backends.checkpoints.settings import Settings

_LOADED_SPECULATORS = ("eagle3", "peagle", "dflash", "dflash2", "dspark")
"""Types of speculators exports that vLLM loads as they are."""
_PROJECTORS = ("dflash", "dflash2", "dspark", "lilicorr")


def notes_on(kind: Kind, config: Settings, weights: Weights, quantised: Quantisation | None) -> tuple[str, ...]:
    """Return the sentences, the weightiest first."""
    return (
        *_of_export(kind, config),
        *_of_layers(kind, config, weights),
        *_of_files(kind, config, weights, quantised),
    )


def _of_export(kind: Kind, config: Settings) -> Iterator[str]:
    told = config.text("speculators_model_type")
    if told == "mtp":
        yield "it is an export of speculators: stitch its layers into the target's checkpoint before they run"
    elif told is not None and told not in _LOADED_SPECULATORS:
        yield f"of speculators' exports vLLM loads {', '.join(_LOADED_SPECULATORS)}, not {told}: convert it first"
    if kind == "dspark" and told is None and (config.architecture() or "").startswith("DFlash"):
        yield (
            "it calls itself a DFlashDraftModel, and vLLM loads DSpark heads as Qwen3DSparkModel, with markov_rank at "
            "the top level: rewrite its config.json"
        )
    projector = config.section("dflash_config").text("projector_type")
    if projector is not None and projector not in _PROJECTORS:
        yield f"its head is of type {projector[:60]!r}: an engine that does not know it runs the rest as plain DFlash"
    heads = config.section("eagle_config").whole("parallel_draft_step", least=0)
    if heads is not None and heads > 1:
        yield f"it has heads for {heads} positions at once, which vLLM leaves out: it drafts one token after the other"


def _of_layers(kind: Kind, config: Settings, weights: Weights) -> Iterator[str]:
    if kind == "language-model":
        stated, there = carried_layers(config, weights)
        if stated and not there:
            yield f"its config.json states {stated} MTP layers, and the files hold none: it cannot draft for itself"


def _of_files(kind: Kind, config: Settings, weights: Weights, quantised: Quantisation | None) -> Iterator[str]:
    if weights.pickled:
        yield "its weights are PyTorch pickles, which are never opened here: their shapes were not checked"
        if kind not in {"language-model", "medusa"} and not config.has("draft_vocab_size") and _plain(config):
            yield f"its config.json is that of a plain model; it was taken for {kind} by its name"
    eight_bits = [name for name in weights.dtypes() if name.startswith("F8_")]
    if eight_bits and quantised is None:
        yield f"weights are stored as {eight_bits[0]}, and no file says how they were quantised"


def _plain(config: Settings) -> bool:
    return (config.architecture() or "").endswith("ForCausalLM") and "agle" not in (config.architecture() or "")
