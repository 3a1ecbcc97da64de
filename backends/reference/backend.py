"""The reference engine behind the backend protocol: loads models, builds drafters, answers turns one at a time."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import torch

from draftmark.backends.base import ArmUnavailable, BackendError, TieEvidence, TurnFailed
from draftmark.backends.drafters import DrafterSpec, DraftModelSpec, NgramSpec, SuffixSpec
from draftmark.backends.reference import drafter_spec
from draftmark.backends.reference.clock import Clock, CudaClock, HostClock
from draftmark.backends.reference.drafters import Drafter, NoDrafter
from draftmark.backends.reference.drafters.draft_model import DraftModelDrafter
from draftmark.backends.reference.drafters.ngram import NgramDrafter
from draftmark.backends.reference.engine import Engine
from draftmark.backends.reference.model import ModelShelf, Reader
from draftmark.backends.reference.sampling import probabilities
from draftmark.backends.reference.ties import tie_evidence
from draftmark.backends.reference.vocabulary import vocabulary_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.base import TurnRequest
    from draftmark.backends.reference import ReferenceSpec
    from draftmark.results.records import Arm, Observation, Sampling


class ReferenceBackend:
    """One target in this process. Requests never overlap: `generate` holds the event loop while it answers."""

    def __init__(self, target: str, spec: ReferenceSpec, clock: Clock | None = None) -> None:
        self._name = target
        self._spec = spec
        self._clock = clock or (CudaClock() if spec.device == "cuda" else HostClock())
        self._target: Reader | None = None
        self._drafters: dict[str, Drafter] = {}
        self._threads_before: int | None = None

    def start(self, arms: Sequence[Arm]) -> None:
        """Load the target and every draft model, check vocabularies, set torch's threads.

        Raises:
            ArmUnavailable: an arm cannot run here; the text says why.
            BackendError: a model does not load, or a draft model does not fit the target.
        """
        for arm in arms:
            problem = self._spec.arm_problem(arm)
            if problem is not None:
                raise ArmUnavailable(problem)
        if self._spec.threads is not None and self._threads_before is None:
            self._threads_before = torch.get_num_threads()
            torch.set_num_threads(self._spec.threads)
        shelf = ModelShelf(self._spec.device, self._spec.dtype)
        self._target = Reader(shelf.get(self._name))
        self._drafters = {_key(arm): self._build(drafter_spec(arm), self._target, shelf) for arm in arms}

    def _build(self, spec: DrafterSpec, target: Reader, shelf: ModelShelf) -> Drafter:
        device = target.model.device
        if isinstance(spec, NgramSpec):
            return NgramDrafter(spec.min_match, spec.max_match, device)
        if isinstance(spec, SuffixSpec):
            from draftmark.backends.reference.drafters.suffix import SuffixDrafter

            return SuffixDrafter(spec, device)
        if isinstance(spec, DraftModelSpec):
            return self._build_draft_model(spec, target, shelf)
        return NoDrafter(device)

    def _build_draft_model(self, spec: DraftModelSpec, target: Reader, shelf: ModelShelf) -> DraftModelDrafter:
        draft = shelf.get(spec.model, spec.drop_layers)
        ours, theirs = target.model.tokenizer, draft.tokenizer
        padding = frozenset(str(one.pad_token) for one in (ours, theirs) if one.pad_token is not None)
        problem = vocabulary_problem(ours.get_vocab(), theirs.get_vocab(), padding)
        if problem is not None:
            raise BackendError(
                f"draft model {spec.model!r} does not share the vocabulary of target {self._name!r}: {problem}; "
                "choose a draft model with the target's tokenizer"
            )
        settings: dict[str, Any] = {
            "model": spec.model,
            "drop_layers": list(spec.drop_layers),
            "draft_layers": draft.layers,
            "draft_parameters": draft.parameters,
            "draft_context_limit": _told(draft.context_limit),
            "draft_vocabulary": draft.vocabulary,
            "draft_attention": draft.attention,
        }
        return DraftModelDrafter(Reader(draft), min(draft.vocabulary, target.model.vocabulary), settings)

    def resolved(self, arm: Arm) -> dict[str, Any]:
        """Return the arm's effective settings, read back from torch, the models and the drafter."""
        target, drafter = self._ready(arm)
        model = target.model
        return {
            "device": str(model.device),
            "device_name": torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else None,
            "dtype": str(model.module.dtype).removeprefix("torch."),
            "threads": torch.get_num_threads(),
            "attention": model.attention,
            "kv_cache": "preallocated, rolled back by length",
            "gpus": 1 if model.device.type == "cuda" else 0,
            "batch": 1,
            "concurrency": "one request at a time",
            "context_limit": _told(model.context_limit),
            "layers": model.layers,
            "parameters": model.parameters,
            "vocabulary": model.vocabulary,
            "eos_ids": sorted(model.eos_ids),
            "timing": "device events" if isinstance(self._clock, CudaClock) else "host clock",
            "torch": version("torch"),
            "transformers": version("transformers"),
            "drafter": arm.drafter,
            "draft_length": arm.draft_length,
            **drafter.settings(),
        }

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        """Answer one turn; raise `TurnFailed` where this turn cannot be answered."""
        target, drafter = self._ready(arm)
        try:
            return Engine(target, self._clock).answer(request, drafter, arm.draft_length)
        except (RuntimeError, ValueError, IndexError, MemoryError) as fault:  # torch's, memory running out among them
            raise TurnFailed(f"the reference engine failed on this turn: {fault}", kind="engine-error") from fault

    async def client_facts(self) -> None:
        """Return nothing: the engine runs in this very process."""

    def counters(self) -> dict[str, float] | None:
        """Return null: this engine tells everything turn by turn."""
        return None

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        """Measure how close two tokens are after a prefix, with passes of one and of D + 1 tokens."""
        target, _ = self._ready(arm)
        return tie_evidence(target, prefix_ids, tokens, arm.draft_length)

    @torch.inference_mode()
    def next_token_probabilities(self, prefix_ids: Sequence[int], sampling: Sampling) -> list[float]:
        """Return the target's own distribution after a prefix, temperature above 0, top-k and top-p applied.

        Every arm's answers must follow it; a goodness-of-fit test of drawn answers needs nothing else.
        """
        if self._target is None:
            raise BackendError("the reference engine is not running; call start first")
        self._target.restart(len(prefix_ids))
        logits = self._target.extend(torch.tensor(prefix_ids, device=self._target.model.device), keep=1)
        found: list[float] = probabilities(logits, sampling)[0].double().tolist()
        return found

    def stop(self) -> None:
        """Release the models and give torch its threads back; safe to call twice."""
        self._target = None
        self._drafters = {}
        if self._threads_before is not None:
            torch.set_num_threads(self._threads_before)
            self._threads_before = None

    def _ready(self, arm: Arm) -> tuple[Reader, Drafter]:
        drafter = self._drafters.get(_key(arm))
        if self._target is None or drafter is None:
            raise BackendError(f"arm {arm.label!r} was not started; start the reference engine with it")
        return self._target, drafter


def _key(arm: Arm) -> str:
    return json.dumps([arm.drafter, arm.draft_length, arm.options], sort_keys=True)


def _told(limit: int) -> int | None:
    return None if limit == sys.maxsize else limit
