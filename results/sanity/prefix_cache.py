"""How much of the prompts a prefix cache answered: repeated prompts then look faster than fresh ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.metrics.window import difference, reset_in, windows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

LITTLE = 0.05
"""Share of the prompt tokens up to which a cache holds no more than what all prompts begin with."""


def check_prefix_cache(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield how much of the prompts the engine took from its cache.

    Its counters say so over the cell, or each answer of its own prompt, as servers do in every dialect. What neither
    tells is not known, and nothing is said of it.
    """
    share = _by_counters(cell)
    if share is None:
        share = _by_answers(cell)
    if share:
        text = (
            f"The engine took {_percent(share)} of the prompt tokens from its prefix cache, so that prefill and time "
            "to first token are those of prompts it had seen: turn that cache off, unless it is what you measure."
        )
        yield cell.lamp("values", "warning" if share > LITTLE else "note", text)


def _by_counters(cell: CheckedCell) -> float | None:
    windows = [difference(one) for one in windows_of(cell.engine) if reset_in(one) is None]
    hits = sum(window.get("cached_prompt_tokens", 0.0) for window in windows)
    read = sum(window.get("prompt_tokens", 0.0) for window in windows)
    return min(hits / read, 1.0) if hits > 0 and read > 0 else None


def _by_answers(cell: CheckedCell) -> float | None:
    columns = cell.columns
    told = columns.ok & (columns.cached_tokens >= 0) & (columns.prompt_tokens > 0)
    read = int(columns.prompt_tokens[told].sum(dtype="int64"))
    return min(int(columns.cached_tokens[told].sum(dtype="int64")) / read, 1.0) if read else None


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "under 1%"
