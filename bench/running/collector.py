"""Garbage collection between turns instead of within them."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Collect garbage between turns only.

    A collection walks every object of torch and transformers, tens of milliseconds, and would fall into some arm's step
    at random. What is there before the first turn is set apart (frozen), so collections between turns are short.
    """
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
