"""A drafter in vLLM's terms: the `speculative_config` of an arm, and the arm that a running engine says it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError
from draftmark.backends.drafters import read_back
from draftmark.backends.models import locate
from draftmark.backends.registry import DRAFTERS
from draftmark.results.records import Arm

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.backends import drafters

Config = dict[str, Any]


def speculative_config(arm: Arm) -> Config | None:
    """Return vLLM's `speculative_config` for an arm; null for `none`.

    Raises `BackendError` where vLLM has no such drafter or option, or a checkpoint is not there.
    """
    if arm.drafter == "none":
        return None
    found = _TRANSLATIONS.get(arm.drafter)
    if found is None:
        raise BackendError(f"vLLM has no drafter {arm.drafter!r}; it has {', '.join(sorted(_TRANSLATIONS))}")
    spec = read_back(arm, DRAFTERS.resolve(arm.drafter))
    config: Config = {"num_speculative_tokens": arm.draft_length, **found(spec, arm)}
    schedule = getattr(spec, "draft_length_by_batch", None)
    if schedule is not None:
        config["num_speculative_tokens_per_batch_size"] = [
            [entry.first, entry.last, entry.draft_length] for entry in schedule
        ]
    return config


def effective_problem(arm: Arm, method: str | None, draft_length: int | None) -> str | None:
    """Say how the method and D that a running engine reports differ from those asked for; null if they do not."""
    asked = speculative_config(arm)
    if asked is None:
        return None if method is None else f"speculation was to be off, but the engine runs {method!r}"
    wanted = asked["method"]
    if method != wanted:
        return f"the engine runs the method {method or 'none'!r} where {wanted!r} was asked for"
    if draft_length != arm.draft_length:
        return f"the engine drafts {draft_length} tokens a step where D = {arm.draft_length} was asked for"
    return None


def _ngram(spec: drafters.NgramSpec, arm: Arm) -> Config:
    del arm
    return {
        "method": "ngram_gpu" if spec.on == "gpu" else "ngram",
        "prompt_lookup_min": spec.min_match,
        "prompt_lookup_max": spec.max_match,
    }


def _suffix(spec: drafters.SuffixSpec, arm: Arm) -> Config:
    del arm
    return {
        "method": "suffix",
        "suffix_decoding_max_tree_depth": spec.max_depth,
        "suffix_decoding_max_cached_requests": spec.cached_requests,
        "suffix_decoding_max_spec_factor": spec.max_spec_factor,
        "suffix_decoding_min_token_prob": spec.min_token_probability,
    }


def _draft_model(spec: drafters.DraftModelSpec, arm: Arm) -> Config:
    del arm
    if spec.drop_layers:
        raise BackendError(
            "vLLM cannot leave out layers of a draft model (drop_layers); save the smaller model to a folder of its own"
        )
    parallel = {"parallel_drafting": True} if spec.parallel else {}
    return {"method": "draft_model", "model": place_of(spec.model), **parallel}


def _head(spec: drafters.EagleSpec | drafters.MedusaSpec | drafters.DflashSpec, arm: Arm) -> Config:
    return {"method": arm.drafter, "model": place_of(spec.model)}


def _eagle3(spec: drafters.Eagle3Spec, arm: Arm) -> Config:
    del arm
    parallel = {"parallel_drafting": True} if spec.parallel else {}
    return {"method": "eagle3", "model": place_of(spec.model), **parallel}


def _own_or_apart(spec: drafters.MtpSpec | drafters.DsparkSpec, arm: Arm) -> Config:
    return {"method": arm.drafter} | ({} if spec.model is None else {"model": place_of(spec.model)})


def _custom(spec: drafters.CustomSpec, arm: Arm) -> Config:
    del arm
    return {"method": "custom_class", "model": spec.class_path}


def _synthetic(spec: drafters.SyntheticSpec, arm: Arm) -> Config:
    kind, options = spec.over["kind"], {name: value for name, value in spec.over.items() if name != "kind"}
    over = speculative_config(Arm(drafter=kind, draft_length=arm.draft_length, options=options))
    if over is None:
        raise BackendError("synthetic acceptance needs a drafter whose cost is paid; `none` drafts nothing")
    how: Config = {"rejection_sample_method": "synthetic"}
    if spec.acceptance_length is not None:
        how["synthetic_acceptance_length"] = spec.acceptance_length
    if spec.acceptance_rates is not None:
        how["synthetic_acceptance_rates"] = spec.acceptance_rates
    return over | how


_TRANSLATIONS: dict[str, Callable[[Any, Arm], Config]] = {
    "ngram": _ngram,
    "suffix": _suffix,
    "draft-model": _draft_model,
    "eagle": _head,
    "eagle3": _eagle3,
    "medusa": _head,
    "dflash": _head,
    "dspark": _own_or_apart,
    "mtp": _own_or_apart,
    "custom": _custom,
    "synthetic": _synthetic,
}


def place_of(name: str) -> str:
    """Return what vLLM takes for a model as a plan names it: a folder's path, or the hub name."""
    found = locate(name)
    if found.gguf_file is not None:
        raise BackendError(f"model {name!r} is a GGUF file, which vLLM does not take here; name a safetensors folder")
    return found.name if found.folder is None else str(found.folder)
