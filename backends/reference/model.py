"""Load causal language models and read token sequences with them."""

from __future__ import annotations

import copy
import inspect
import json
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from draftmark.backends.base import BackendError
from draftmark.backends.model_files import dropped_layers_problem
from draftmark.backends.models import locate
from draftmark.backends.reference import attention
from draftmark.backends.reference.cache import RollbackCache, cache_layers

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNBOUNDED = sys.maxsize


@dataclass(frozen=True)
class LanguageModel:
    """A loaded causal language model with its tokenizer."""

    name: str
    """As the plan names it."""
    module: Any
    tokenizer: Any
    device: torch.device
    context_limit: int
    """Most tokens of prompt and answer; `sys.maxsize` where the model names none."""
    vocabulary: int
    """Width of the logits, padding included."""
    layers: int

    @property
    def parameters(self) -> int:
        """Number of weights; tied ones count once."""
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def attention(self) -> str:
        """Name of the attention implementation in use."""
        return str(self.module.config._attn_implementation)

    @property
    def eos_ids(self) -> frozenset[int]:
        """Tokens that end an answer: those of the generation settings and the tokenizer's own."""
        named = [self.module.generation_config.eos_token_id, self.tokenizer.eos_token_id]
        listed = [token for entry in named for token in (entry if isinstance(entry, list) else [entry])]
        return frozenset(int(token) for token in listed if token is not None)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens, special ones skipped."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False))


class Reader:
    """One model reading one sequence: its KV cache and the forward pass. Several readers may share a model."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._cache = RollbackCache(cache_layers(model.module.config, model.name))
        accepted = inspect.signature(model.module.forward).parameters
        self._cache_argument = "cache" if "cache" in accepted else "past_key_values"
        self._keeps = "logits_to_keep" in accepted

    @property
    def length(self) -> int:
        """Tokens read and held."""
        return self._cache.length

    def restart(self, capacity: int) -> None:
        """Forget everything and make room for a sequence of this length at once; it may still grow."""
        self._cache.rollback(0)
        self._cache.reserve(capacity)

    def extend(self, tokens: torch.Tensor, keep: int) -> torch.Tensor:
        """Read tokens [n] int64 after those held; return the logits at the last `keep` of them, [keep, vocabulary]."""
        options: dict[str, Any] = {self._cache_argument: self._cache}
        if self._keeps:
            options["logits_to_keep"] = keep
        logits: torch.Tensor = self.model.module(input_ids=tokens.unsqueeze(0), use_cache=True, **options).logits
        return logits[0, -keep:]

    def rollback(self, length: int) -> None:
        """Forget all tokens beyond the first `length`."""
        self._cache.rollback(length)


class ModelShelf:
    """Loads each model once, whatever names and however many drafters ask for it."""

    def __init__(self, device: str, dtype: str) -> None:
        self._device = torch.device(device)
        self._dtype = getattr(torch, dtype)
        self._loaded: dict[str, LanguageModel] = {}

    def get(self, name: str, drop_layers: Sequence[int] = ()) -> LanguageModel:
        """Return the model a plan names, less some decoder layers; variants of one model share its weights.

        Raises:
            BackendError: the model cannot be found or loaded, or has no such layers.
        """
        place, arguments = locate(name).pretrained()
        key = json.dumps([place, arguments], sort_keys=True)
        if key not in self._loaded:
            self._loaded[key] = self._load(name, place, arguments)
        return without_layers(self._loaded[key], drop_layers) if drop_layers else self._loaded[key]

    def _load(self, name: str, place: str, arguments: dict[str, Any]) -> LanguageModel:
        bars = transformers_logging.is_progress_bar_enabled()
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            module: Any = AutoModelForCausalLM.from_pretrained(place, dtype=self._dtype, **arguments)
            tokenizer = AutoTokenizer.from_pretrained(place, **arguments)
        except (OSError, ValueError, ImportError, KeyError, RuntimeError) as fault:
            raise BackendError(
                f"model {name!r} does not load as a causal language model from {place}: {fault}"
            ) from fault
        finally:
            if bars:
                transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        module.to(device=self._device).eval()
        if module.config._attn_implementation == "sdpa":
            module.set_attn_implementation(attention.register())
        config = module.config.get_text_config()
        return LanguageModel(
            name=name,
            module=module,
            tokenizer=tokenizer,
            device=self._device,
            context_limit=getattr(config, "max_position_embeddings", None) or _UNBOUNDED,
            vocabulary=int(module.get_output_embeddings().weight.shape[0]),
            layers=int(config.num_hidden_layers),
        )


def without_layers(model: LanguageModel, dropped: Sequence[int]) -> LanguageModel:
    """Return a model that lacks some decoder layers and shares every weight with the original.

    Raises:
        BackendError: an index is not that of a layer, or no layer would be left.
    """
    problem = dropped_layers_problem(model.name, dropped, model.layers)
    if problem is not None:
        raise BackendError(problem)
    kept = [index for index in range(model.layers) if index not in set(dropped)]
    shared = [*model.module.parameters(), *model.module.buffers()]
    module: Any = copy.deepcopy(model.module, {id(tensor): tensor for tensor in shared})
    stack = next(
        (part for part in module.modules() if isinstance(part, torch.nn.ModuleList) and len(part) == model.layers), None
    )
    if stack is None:
        raise BackendError(
            f"drop_layers of {model.name!r}: its decoder layers are not found in {type(module).__name__}"
        )
    layers = [stack[index] for index in kept]
    for place, layer in enumerate(layers):
        for part in layer.modules():
            if hasattr(part, "layer_idx"):
                setattr(part, "layer_idx", place)  # noqa: B010  typed as a submodule otherwise
    del stack[:]
    stack.extend(layers)
    config = module.config.get_text_config()
    if getattr(config, "layer_types", None):
        config.layer_types = [config.layer_types[index] for index in kept]
    config.num_hidden_layers = len(kept)
    return replace(model, module=module, layers=len(kept))
