"""Which drafter a checkpoint is, by what its configuration and its tensors are called.

The names are those that vLLM loads, that vLLM's `speculators` library writes and that NVIDIA Model-Optimizer exports.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from draftmark.backends.base import BackendError
from draftmark.backends.drafters import LONGEST_DRAFT

if TYPE_CHECKING:
    from draftmark.backends.checkpoints.files import Weights
    from draftmark.backends.checkpoints.settings import Settings

Kind = Literal["eagle", "eagle3", "medusa", "dflash", "dspark", "mtp", "language-model"]
"""A drafter of a plan, or a language model: a target, and a draft model for another."""

SPECULATORS: dict[str, Kind] = {
    "eagle": "eagle",
    "eagle3": "eagle3",
    "peagle": "eagle3",
    "dflash": "dflash",
    "dflash2": "dflash",
    "dspark": "dspark",
    "mtp": "mtp",
}
"""`speculators_model_type` of an export of the speculators library."""

_ARCHITECTURES: tuple[tuple[str, Kind], ...] = (
    (r"Eagle3|P[Ee]agle", "eagle3"),
    (r"DSpark", "dspark"),
    (r"DFlash|^LiLiCorrDraftModel$|^MuseGlimmerAssistantModel$", "dflash"),
    (r"^Medusa", "medusa"),
    (r"^(Eagle|EAGLE)", "eagle"),
    (r"MTP", "mtp"),
)
"""Tried in this order: an EagleDeepSeekMTPModel is an EAGLE head."""

_MODEL_TYPES: dict[str, Kind] = {
    "medusa": "medusa",
    "k3_dspark": "dspark",
    "muse_glimmer_assistant": "dflash",
    "gemma4_assistant": "mtp",
    "gemma4_unified_assistant": "mtp",
    "mtp": "mtp",
}
_LANGUAGE_MODEL = re.compile(r"(ForCausalLM|LMHeadModel|ForConditionalGeneration|ChatModel|ChatGLMModel)$")
_MEDUSA_TENSOR = re.compile(
    r"(medusa_heads\.)?\d+\.\d+\.linear\.weight|(medusa_heads\.)?blocks\.\d+\.layers\.\d+\.weight"
)
_NAMED_LIKE: tuple[tuple[str, Kind], ...] = (
    ("eagle3", "eagle3"),
    ("eagle-", "eagle"),
    ("dflash", "dflash"),
    ("dspark", "dspark"),
    ("medusa", "medusa"),
)

MASK_TOKENS = ("mask_token_id", "dspark_noise_token_id", "pard_token", "ptd_token_id")
"""What a drafter that proposes all tokens in one pass reads at the places it is to fill."""


def kind_of(name: str, config: Settings, weights: Weights) -> Kind:
    """Return what a checkpoint is; `name` is that of its folder or on the hub.

    Raises:
        BackendError: it is neither a drafter of a known kind nor a language model.
    """
    told = config.text("speculators_model_type")
    if told is not None:
        if told in SPECULATORS:
            return SPECULATORS[told]
        known = ", ".join(SPECULATORS)
        raise BackendError(f"{config.where}: speculators_model_type {told[:60]!r} is not known; known are {known}")
    architecture, model_type = config.architecture(), config.text("model_type") or ""
    if model_type == "mlp_speculator" or "MLPSpeculator" in (architecture or ""):
        raise BackendError(
            f"{config.where}: an MLP speculator, which no engine here runs; use an EAGLE-3 head or Medusa"
        )
    found = (
        _by_architecture(architecture, config)
        or _by_model_type(model_type, config)
        or _by_section(config)
        or _by_tensors(config, weights)
    )
    if found is not None:
        return found
    if _is_language_model(architecture, config):
        return _by_name(name, config, weights) or "language-model"
    what = f"a {architecture[:60]}" if architecture else "no architecture is named, and it"
    raise BackendError(
        f"{config.where}: {what} is neither a drafter of a known kind nor a causal language model; "
        "name the folder of a head, of a draft model or of a target"
    )


def _by_architecture(architecture: str | None, config: Settings) -> Kind | None:
    for pattern, kind in _ARCHITECTURES:
        if architecture is not None and re.search(pattern, architecture):
            return "dspark" if kind == "dflash" and _has_markov_head(config) else kind
    return None


def _has_markov_head(config: Settings) -> bool:
    """Tell DSpark from DFlash in exports that give both the architecture DFlashDraftModel."""
    inside = config.section("dflash_config")
    return inside.text("projector_type") == "dspark" or inside.has("markov_rank") or config.has("markov_rank")


def _by_model_type(model_type: str, config: Settings) -> Kind | None:
    if model_type == "eagle":
        told = config.text("method") or "eagle"
        return SPECULATORS.get(told, "eagle")
    return "mtp" if model_type.endswith("_mtp") else _MODEL_TYPES.get(model_type)


def _by_section(config: Settings) -> Kind | None:
    if config.has("dflash_config"):
        return "dspark" if _has_markov_head(config) else "dflash"
    if config.has("eagle_config", "draft_vocab_size"):
        return "eagle3"
    return "medusa" if config.has("medusa_num_heads") else None


def _by_tensors(config: Settings, weights: Weights) -> Kind | None:
    """Tell heads that call themselves by their base's architecture, as many EAGLE heads do."""
    fusion = weights.find("fc.weight")
    if fusion is None:
        return "medusa" if any(_MEDUSA_TENSOR.fullmatch(name) for name in weights.tensors) else None
    if weights.find("d2t") or any(name.endswith(".hidden_norm.weight") for name in weights.tensors):
        return "eagle3"
    width = config.inner.whole("hidden_size")
    return "eagle" if width and fusion.shape[-1:] == (2 * width,) else "eagle3"


def _by_name(name: str, config: Settings, weights: Weights) -> Kind | None:
    """Go by the name, as vLLM does, where a model of one or two layers keeps its tensors in a pickle."""
    layers = config.inner.whole("num_hidden_layers")
    if not weights.pickled or layers is None or layers > 2:
        return None
    return next((kind for part, kind in _NAMED_LIKE if part in name.lower()), None)


def _is_language_model(architecture: str | None, config: Settings) -> bool:
    if config.yes("is_encoder_decoder"):
        return False
    if architecture is not None and _LANGUAGE_MODEL.search(architecture):
        return True
    unnamed = architecture is None or len(config.levels) > 1  # a wrapper, whatever it is called
    return unnamed and config.has("vocab_size") and config.has("num_hidden_layers", "n_layer", "num_layers")


def drafts_in_one_pass(kind: Kind, config: Settings, weights: Weights) -> bool:
    """Tell whether an EAGLE-3 head (P-EAGLE) or a draft model (PARD) was trained to propose all tokens in one pass."""
    if kind == "eagle3":
        named = config.text("speculators_model_type") == "peagle" or re.match("P[Ee]agle", config.architecture() or "")
        return bool(named) or config.has(*MASK_TOKENS) or weights.find("mask_hidden") is not None
    return kind == "language-model" and config.has("pard_token", "ptd_token_id")


def carried_layers(config: Settings, weights: Weights) -> tuple[int, bool]:
    """Return how many MTP layers a language model's configuration states, and whether the files hold them.

    Where no header could be read they are taken to be there. Published quantised copies often state layers that were
    left out.
    """
    names = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
    within = (config.inner, config.section("mtp_config"))
    stated = next((layers for part in within if (layers := part.whole(*names, least=0, most=LONGEST_DRAFT))), 0)
    if not stated or not weights.tensors:
        return stated, bool(stated)
    layers = config.inner.whole("num_hidden_layers")
    beyond = re.compile(rf"\blayers\.{layers}\.")
    return stated, any("mtp" in name or "nextn" in name or beyond.search(name) for name in weights.tensors)
