"""A KV cache that is written in place and rolled back by setting a length.

transformers' own growing cache copies everything it holds at each step; here each layer keeps one buffer and hands out
views. Layers with a sliding window keep all positions too: the model's masks hide what is out of the window, and a
rollback across the window's edge loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import Cache, DynamicCache
from transformers.cache_utils import CacheLayerMixin, DynamicLayer, DynamicSlidingWindowLayer

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    import torch

_GROWTH = 256
"""Buffers grow by multiples of this many positions."""


class BufferedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]  # transformers' own class hook has no types
    """Keys and values of one layer, [1, heads, capacity, head dimension], of which `length` positions count."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.length = 0
        self.capacity = 0
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None

    def reserve(self, capacity: int) -> None:
        """Make room for this many positions."""
        if capacity > self.capacity:
            self.capacity = -(-capacity // _GROWTH) * _GROWTH
            if self._buffers is not None:
                keys, values = self._buffers
                self._buffers = self._grown(keys), self._grown(values)

    def _grown(self, old: torch.Tensor) -> torch.Tensor:
        new = old.new_empty((*old.shape[:2], self.capacity, old.shape[3]))
        new[:, :, : self.length] = old[:, :, : self.length]
        return new

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocate the buffers in the shape, dtype and device of the first states."""
        self._buffers = self._grown(key_states[:, :, :0]), self._grown(value_states[:, :, :0])

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append states [1, heads, n, head dimension]; return views of all that is held now."""
        count = key_states.shape[2]
        self.reserve(self.length + count)
        if self._buffers is None:
            self.lazy_initialization(key_states, value_states)
        assert self._buffers is not None  # noqa: S101  allocated by the line above
        keys, values = self._buffers
        keys.narrow(2, self.length, count).copy_(key_states)
        values.narrow(2, self.length, count).copy_(value_states)
        self.length += count
        return keys.narrow(2, 0, self.length), values.narrow(2, 0, self.length)

    def get_seq_length(self) -> int:
        """Return the positions held."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the length and offset of the keys that a query of this length will see."""
        return self.length + query_length, 0

    def get_max_length(self) -> int:
        """Return -1: the buffer grows."""
        return -1


class RollbackCache(Cache):
    """The KV cache of one model reading one sequence."""

    def __init__(self, layers: int) -> None:
        self._buffered = [BufferedLayer() for _ in range(layers)]
        super().__init__(layers=[*self._buffered])

    @property
    def length(self) -> int:
        """Positions held."""
        return self._buffered[0].length

    def reserve(self, capacity: int) -> None:
        """Make room for this many positions at once."""
        for layer in self._buffered:
            layer.reserve(capacity)

    def rollback(self, length: int) -> None:
        """Forget all positions from `length` on; does nothing if fewer are held."""
        for layer in self._buffered:
            layer.length = min(layer.length, length)


def cache_layers(config: Any, name: str) -> int:
    """Return how many cache layers a model needs; raise `BackendError` if one of them cannot be rolled back."""
    layers = DynamicCache(config=config).layers
    foreign = sorted({type(layer).__name__ for layer in layers if type(layer) not in _WITH_ROLLBACK})
    if foreign:
        raise BackendError(
            f"model {name!r} keeps state that cannot be rolled back after a rejected draft ({', '.join(foreign)}); "
            "the reference engine runs models with attention layers only"
        )
    return len(layers)


_WITH_ROLLBACK = (DynamicLayer, DynamicSlidingWindowLayer)
