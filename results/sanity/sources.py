"""Do the places agree that tell of drafting: step records, the engine's statistics per request, and its counters?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

AGREE = "What tells of the drafts agrees to the last one: {sources}."
_NAMES = ("drafting_steps", "drafted_tokens", "accepted_tokens")


def check_sources(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield where step records, statistics per request and engine counters disagree, or that they agree."""
    if not cell.ran or not cell.drafts:
        return
    found = [*_statistics(cell), *_counters(cell)]
    yield from found
    sources = _compared(cell)
    if len(sources) > 1 and not found:
        yield cell.lamp("identities", "ok", AGREE.format(sources=", ".join(sources)))


def check_prefix_cache(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield how much of the prompts a prefix cache answered: repeated prompts then look faster than fresh ones."""
    hits = sum(_difference(window).get("cached_prompt_tokens", 0.0) for window in _windows(cell))
    read = sum(_difference(window).get("prompt_tokens", 0.0) for window in _windows(cell))
    if hits and read:
        text = (
            f"The engine took {hits / read:.0%} of the prompt tokens from its prefix cache, so that prefill and time "
            "to first token are those of prompts it had seen."
        )
        yield cell.lamp("values", "warning", text)


def _compared(cell: CheckedCell) -> list[str]:
    columns = cell.columns
    sources = []
    if (columns.has_steps & ~columns.inferred_steps).any():
        sources.append("step records")
    if (columns.ok & (columns.reported_drafting >= 0)).any():
        sources.append("statistics per request")
    if any(_whole(cell, window) is not None for window in _windows(cell)):
        sources.append("engine counters")
    return sources


def _counts(columns: CellColumns) -> dict[str, Any]:
    """Return per turn what the steps say; inferred steps say it too, since those with a draft are known."""
    return {
        "drafting_steps": columns.per_turn(columns.drafted > 0),
        "drafted_tokens": columns.per_turn(columns.drafted),
        "accepted_tokens": columns.per_turn(columns.accepted),
    }


def _statistics(cell: CheckedCell) -> Iterator[Lamp]:
    columns = cell.columns
    told = {
        "drafting_steps": columns.reported_drafting,
        "drafted_tokens": columns.reported_drafted,
        "accepted_tokens": columns.reported_accepted,
    }
    both = columns.has_steps & (columns.reported_drafting >= 0)
    ours = _counts(columns)
    differs = both & np.logical_or.reduce([ours[name] != told[name] for name in _NAMES])
    if differs.any():
        turn = int(np.flatnonzero(differs)[0])
        text = (
            f"In {counted(int(differs.sum()), 'turn')} the step records contradict the engine's statistics of the same "
            f"request (first in question {columns.questions[columns.question[turn]]}: "
            + ", ".join(f"{ours[name][turn]:g} against {told[name][turn]} {name.replace('_', ' ')}" for name in _NAMES)
            + ")."
        )
        yield cell.lamp("identities", "fault", text)


def _counters(cell: CheckedCell) -> Iterator[Lamp]:
    ours = _counts(cell.columns)
    for window in _windows(cell):
        here = _whole(cell, window)
        if here is None:
            continue
        difference = _difference(window)
        told = {name: difference[name] for name in _NAMES if name in difference}
        wrong = [
            f"{ours[name][here].sum():g} against {value:g} {name.replace('_', ' ')}"
            for name, value in told.items()
            if ours[name][here].sum() != value
        ]
        accepted = cell.columns.accepted[np.repeat(here, cell.columns.step_count)]
        wrong += [
            f"{(accepted >= k).sum():g} against {value:g} drafts accepted up to position {k}"
            for k in range(1, cell.summary.draft_length + 1)
            if (value := difference.get(f"accepted_tokens[{k}]")) is not None and (accepted >= k).sum() != value
        ]
        if wrong:
            text = (
                f"In launch {window['launch']} the step records contradict the engine's counters: {', '.join(wrong)}. "
                "Nothing else was in flight, and both counted the same tokens."
            )
            yield cell.lamp("identities", "fault", text)


def _windows(cell: CheckedCell) -> list[dict[str, Any]]:
    return list((cell.engine or {}).get("windows", []))


def _difference(window: dict[str, Any]) -> dict[str, float]:
    before = window["before"]
    return {name: value - before.get(name, 0.0) for name, value in window["after"].items()}


def _whole(cell: CheckedCell, window: dict[str, Any]) -> Mask | None:
    """Return the turns of a window if the engine's generated tokens in it are theirs and no more; else null.

    A turn that failed midway leaves tokens in the counters that no turn has; nothing can be compared then.
    """
    columns = cell.columns
    here: Mask = (columns.launch == window["launch"]) & (columns.session == window["session"]) & columns.has_steps
    generated = _difference(window).get("output_tokens")
    if generated is None or not here.any() or float(columns.tokens[here].sum()) != generated:
        return None
    return here
