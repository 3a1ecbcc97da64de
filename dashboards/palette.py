"""One look per arm, the same in every figure and table: colour and mark by drafter, line by draft length.

Colours are names of CSS variables (`--d1`), so light and dark values live in the style sheet alone. Since colour is
never the only sign, drafters also differ by mark, and draft lengths of one drafter by line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.results.summary import CellSummary

_KNOWN = ("none", "ngram", "suffix", "draft-model", "eagle", "eagle3", "mtp", "dflash", "dspark")
_MARKS = ("x", "circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "star", "hexagon")
_LINES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Look:
    """How an arm is drawn: a CSS colour variable, a plotly mark and a plotly dash."""

    color: str
    mark: str
    line: str


def looks(cells: Iterable[CellSummary]) -> dict[str, Look]:
    """Return the look of every arm label among the cells.

    A known drafter has one place in the palette in every run; others take free places in order of appearance, and
    share them when there are more drafters than places.
    """
    members = list(cells)
    drafters = list(dict.fromkeys(cell.drafter for cell in members))
    places = {name: _KNOWN.index(name) for name in drafters if name in _KNOWN}
    free = [place for place in range(1, len(_KNOWN)) if place not in places.values()] or [*range(1, len(_KNOWN))]
    for index, name in enumerate(name for name in drafters if name not in _KNOWN):
        places[name] = free[index % len(free)]
    siblings: dict[str, list[str]] = {}
    found = {}
    for cell in members:
        if cell.arm in found:
            continue
        rank = len(siblings.setdefault(cell.drafter, []))
        siblings[cell.drafter].append(cell.arm)
        place = places[cell.drafter]
        found[cell.arm] = Look(f"--d{place}", _MARKS[place], _LINES[rank % len(_LINES)])
    return found
