"""The reference engine: draft, verify, accept on torch and transformers, in code one can read in an hour.

It answers one request at a time (batch 1). Reading order: engine, acceptance, sampling, stopping, cache, drafters.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from draftmark.backends.base import Asks, Backend, BackendError, BackendSpec
from draftmark.backends.drafters import DraftModelSpec, NgramSpec, NoneSpec, SuffixSpec, read_back

if TYPE_CHECKING:
    from draftmark.backends.drafters import DrafterSpec
    from draftmark.results.records import Arm

__all__ = ["ReferenceSpec", "drafter_spec"]

NAMED = 5
"""Prompts that a sentence names; of more their number is told."""

_DRAFTERS: dict[str, type[DrafterSpec]] = {
    "none": NoneSpec,
    "ngram": NgramSpec,
    "suffix": SuffixSpec,
    "draft-model": DraftModelSpec,
}


class ReferenceSpec(BackendSpec):
    """`{kind: reference, device: cpu, dtype: float32, threads: 2}`."""

    kind: Literal["reference"] = "reference"
    device: Literal["cpu", "cuda"] = "cpu"
    """`cuda` has never been run on a GPU by Draftmark's own tests."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Of weights, activations and KV cache, for target and draft model alike."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """CPU threads of torch; null leaves torch's own choice."""

    def arm_problem(self, arm: Arm) -> str | None:
        """Say what is missing for this arm: a package, a CUDA device, a drafter or option the engine does not have."""
        missing = [name for name in ("torch", "transformers", "accelerate") if importlib.util.find_spec(name) is None]
        if missing:
            return f"the reference engine needs {' and '.join(missing)}; run: pip install 'draftmark[reference]'"
        try:
            drafter = drafter_spec(arm)
        except BackendError as fault:
            return str(fault)
        if (option := _foreign_option(drafter)) is not None:
            return option
        if drafter.kind == "suffix" and importlib.util.find_spec("arctic_inference") is None:
            return (
                "the suffix drafter needs arctic-inference, which is built from source with a C++ compiler; "
                "run: pip install 'draftmark[suffix]'"
            )
        draft_problem = _draft_model_problem(drafter) if isinstance(drafter, DraftModelSpec) else None
        return draft_problem or self._device_problem()

    def request_problem(self, asks: Asks) -> str | None:
        """Say that answers have no form here."""
        if not asks.response_format:
            return None
        number, names = len(asks.prompts_with_form), ", ".join(asks.prompts_with_form[:NAMED])
        more = f" and {number - NAMED:,} more" if number > NAMED else ""
        return (
            f"the reference engine cannot hold answers to a form (response_format), which {number:,} prompts of "
            f"this plan ask for ({names}{more}); use vLLM or a server, or take these prompts out (suites from-traffic "
            "--without response_format leaves them out of a log)"
        )

    def context_limit(self, target: str) -> int | None:
        """Return what the target's config.json says."""
        from draftmark.backends.model_files import context_limit

        return context_limit(target)

    def _device_problem(self) -> str | None:
        if self.device == "cpu":
            return None
        import torch

        if torch.cuda.is_available():
            return None
        return f"device cuda: torch {torch.__version__} sees no CUDA device here; use device: cpu"

    def create(self, target: str) -> Backend:
        """Import torch and build the backend for a target (alias, folder, GGUF file or hub name); loads nothing yet."""
        from draftmark.backends.reference.backend import ReferenceBackend

        return ReferenceBackend(target, self)


def drafter_spec(arm: Arm) -> DrafterSpec:
    """Read an arm back into the typed drafter entry it came from; raise `BackendError` if this engine has no such."""
    found = _DRAFTERS.get(arm.drafter)
    if found is None:
        raise BackendError(f"the reference engine has no drafter {arm.drafter!r}; it has {', '.join(_DRAFTERS)}")
    return read_back(arm, found)


def _foreign_option(drafter: DrafterSpec) -> str | None:
    """Say which option of a drafter is for other engines; null if none is set."""
    if isinstance(drafter, NgramSpec) and drafter.on != "cpu":
        return f"the reference engine looks n-grams up on the cpu alone, not on: {drafter.on}"
    if isinstance(drafter, DraftModelSpec) and drafter.parallel:
        return "the reference engine runs draft models token by token, not in parallel; leave parallel out"
    if getattr(drafter, "draft_length_by_batch", None) is not None:
        return "the reference engine answers one request at a time, so a schedule by batch size means nothing to it"
    return None


def _draft_model_problem(drafter: DraftModelSpec) -> str | None:
    from draftmark.backends.model_files import dropped_layers_problem, layer_count
    from draftmark.backends.models import locate

    try:
        layers = layer_count(locate(drafter.model))
    except BackendError as fault:
        return str(fault)
    return None if layers is None else dropped_layers_problem(drafter.model, drafter.drop_layers, layers)
