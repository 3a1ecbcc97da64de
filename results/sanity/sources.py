"""Do the places agree that tell of drafting: step records, the engine's statistics per request, and its counters?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from draftmark.results.metrics.window import difference, explained, reset_in, windows_of
from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

AGREE = "What tells of the drafts agrees to the last one: {sources}."
_NAMES = ("drafting_steps", "drafted_tokens", "accepted_tokens")


def check_sources(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield where step records, statistics per request and engine counters disagree, or that they agree.

    Padding that the target ran over is no draft. Engines that count it are held against the records with it, as far as
    the records tell how much there was.
    """
    if not cell.ran:
        return
    if not cell.drafts:
        for window in _windows(cell):
            yield from _other_tokens(cell, window)
        return
    found = [*_statistics(cell), *_counters(cell)]
    yield from found
    sources = _compared(cell)
    if sources and not found:
        yield cell.lamp("identities", "ok", AGREE.format(sources=", ".join(sources)))


def _compared(cell: CheckedCell) -> list[str]:
    """Return the sources that were held against each other; none where there was nothing to compare."""
    columns = cell.columns
    sources = []
    if _told_twice(columns).any():
        sources = ["step records", "statistics per request"]
    windows = [
        here
        for window in _windows(cell)
        if (here := _whole(cell, window)) is not None and not window["after"].keys().isdisjoint(_NAMES)
    ]
    if windows:
        inferred = bool((np.logical_or.reduce(windows) & columns.inferred_steps).any())
        sources += ["statistics per request" if inferred else "step records", "engine counters"]
    return list(dict.fromkeys(sources))


def _told_twice(columns: CellColumns) -> Mask:
    """Return the turns with step records that are not made of the statistics which they are held against."""
    return columns.has_steps & ~columns.inferred_steps & (columns.reported_drafting >= 0)


def _counts(columns: CellColumns) -> dict[str, Any]:
    """Return per turn what an engine that counts padding should have counted, by the steps.

    Inferred steps tell it too, since those with a draft are known.
    """
    return {
        "drafting_steps": columns.per_turn(columns.drafted > 0) + columns.padding_steps,
        "drafted_tokens": columns.per_turn(columns.drafted) + columns.padding_tokens,
        "accepted_tokens": columns.per_turn(columns.accepted),
    }


def _statistics(cell: CheckedCell) -> Iterator[Lamp]:
    columns = cell.columns
    told = {
        "drafting_steps": columns.reported_drafting,
        "drafted_tokens": columns.reported_drafted,
        "accepted_tokens": columns.reported_accepted,
    }
    ours = _counts(columns)
    differs = _told_twice(columns) & np.logical_or.reduce([ours[name] != told[name] for name in _NAMES])
    if differs.any():
        turn = int(np.flatnonzero(differs)[0])
        text = (
            f"In {counted(int(differs.sum()), 'turn')} the step records contradict the engine's statistics of the same "
            f"request (first in question {columns.questions[columns.question[turn]]}: "
            + ", ".join(f"{ours[name][turn]:g} against {told[name][turn]} {name.replace('_', ' ')}" for name in _NAMES)
            + "): do not use acceptance."
        )
        yield cell.lamp("identities", "fault", text)


def _counters(cell: CheckedCell) -> Iterator[Lamp]:
    for window in _windows(cell):
        here = _whole(cell, window)
        if here is None:
            yield from _other_tokens(cell, window)
        elif wrong := _contradictions(cell, window, here):
            text = (
                f"In launch {window['launch']} the records contradict the engine's counters: {', '.join(wrong)}. "
                "Nothing else was in flight, and both counted the same tokens: do not use acceptance."
            )
            yield cell.lamp("identities", "fault", text)


def _contradictions(cell: CheckedCell, window: dict[str, Any], here: Mask) -> list[str]:
    ours, told = _counts(cell.columns), difference(window)
    wrong = [
        f"{ours[name][here].sum():g} against {told[name]:g} {name.replace('_', ' ')}"
        for name in _NAMES
        if name in told and ours[name][here].sum() != told[name]
    ]
    accepted = cell.columns.accepted[np.repeat(here, cell.columns.step_count)]
    return wrong + [
        f"{(accepted >= k).sum():g} against {value:g} drafts accepted up to position {k}"
        for k in range(1, cell.summary.draft_length + 1)
        if (value := told.get(f"accepted_tokens[{k}]")) is not None and (accepted >= k).sum() != value
    ]


def _other_tokens(cell: CheckedCell, window: dict[str, Any]) -> Iterator[Lamp]:
    """Yield that the engine counted other tokens than its turns have, where nothing explains it."""
    columns, generated = cell.columns, difference(window).get("output_tokens")
    here = _turns_of(cell, window)
    if generated is None or not here.any() or not explained(columns)[here].all():
        return
    ours = float(columns.tokens[here].sum())
    if generated == 0 and ours > 0:
        text = (
            f"In launch {window['launch']} the engine's counters stood still while its turns had {ours:,.0f} tokens: "
            "they cannot be held against the records. See which metrics the server is asked for."
        )
        yield cell.lamp("identities", "note", text)
    elif generated < ours:
        text = (
            f"In launch {window['launch']} the engine's counters have {generated:,.0f} generated tokens, and the "
            f"counts that came with its answers {ours:,.0f}: it cannot have given more than it generated, so one of "
            "the two is wrong. Speed rests on the second: count the tokens of an answer yourself."
        )
        yield cell.lamp("identities", "warning", text)
    elif ours != generated:
        text = (
            f"In launch {window['launch']} the engine counted {generated:,.0f} generated tokens and its turns have "
            f"{ours:,.0f}: something else was in flight, so its counters cannot be held against the records. Send "
            "it nothing else meanwhile."
        )
        yield cell.lamp("identities", "note", text)


def _windows(cell: CheckedCell) -> list[dict[str, Any]]:
    return [window for window in windows_of(cell.engine) if reset_in(window) is None]


def _turns_of(cell: CheckedCell, window: dict[str, Any]) -> Mask:
    here: Mask = (cell.columns.launch == window["launch"]) & (cell.columns.session == window["session"])
    return here


def _whole(cell: CheckedCell, window: dict[str, Any]) -> Mask | None:
    """Return the turns of a window if their steps are known and the engine generated their tokens and no more."""
    here, columns = _turns_of(cell, window), cell.columns
    if not here.any() or not (explained(columns) & columns.has_steps)[here].all():
        return None
    return here if float(columns.tokens[here].sum()) == difference(window).get("output_tokens") else None
