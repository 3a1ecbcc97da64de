"""Which cell of one run answers to which of another: by what they are, then by a mapping, never by their order.

Cells are the same if backend, suite, arm and load are; what else differs between them (sampling, engine settings, the
suite's prompts) is a difference in settings, which is named. Where several cells are the same by that, the pair that
differs in the fewest settings is taken first.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.results.arm_labels import arm_labels
from draftmark.results.comparing.changes import Ended
from draftmark.results.comparing.settings import cell_changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from draftmark.results.records import CellKey, CellRecord


@dataclass(frozen=True)
class Pair:
    """A cell of the baseline run and the one that answers to it."""

    before: CellRecord
    after: CellRecord
    renamed: bool


@dataclass(frozen=True)
class Matching:
    """Pairs in the candidate's order, and cells without a partner."""

    pairs: list[Pair]
    vanished: list[Ended]
    appeared: list[Ended]


def cell_names(cells: Sequence[CellRecord]) -> dict[str, str]:
    """Return each cell's name by its id: backend, suite, arm and load, and the id where that is not unique."""
    labels = arm_labels(cell.key.arm for cell in cells)
    names = {
        cell.cell_id: f"{cell.key.backend} / {cell.key.suite} / {label} / {cell.key.load.label}"
        for cell, label in zip(cells, labels, strict=True)
    }
    seen = list(names.values())
    return {cell_id: name if seen.count(name) == 1 else f"{name} ({cell_id})" for cell_id, name in names.items()}


def match_cells(
    before: Sequence[CellRecord], after: Sequence[CellRecord], renamed: Mapping[str, str] | None = None
) -> Matching:
    """Pair the cells of two runs; cells that were planned and left out count as not there.

    Args:
        before: Cells of the baseline run.
        after: Cells of the candidate.
        renamed: The baseline's cell to the candidate's, each by its name or its id.
    """
    names = cell_names(before), cell_names(after)
    old = [cell for cell in before if cell.left_out is None]
    new = [cell for cell in after if cell.left_out is None]
    pairs = _mapped(old, new, names, renamed or {})
    taken = {pair.before.cell_id for pair in pairs}, {pair.after.cell_id for pair in pairs}
    pairs += _same(
        [one for one in old if one.cell_id not in taken[0]], [one for one in new if one.cell_id not in taken[1]]
    )
    order = {cell.cell_id: place for place, cell in enumerate(after)}
    pairs.sort(key=lambda pair: order[pair.after.cell_id])
    met = {pair.before.cell_id for pair in pairs}, {pair.after.cell_id for pair in pairs}
    left_out = {_identity(cell.key): cell.left_out for cell in after if cell.left_out is not None}
    return Matching(
        pairs,
        [
            Ended(
                cell_id=cell.cell_id,
                name=names[0][cell.cell_id],
                why=f"left out: {why}"
                if (why := left_out.get(_identity(cell.key)))
                else "the candidate has no such cell",
            )
            for cell in old
            if cell.cell_id not in met[0] and not cell.key.arm.control
        ],
        [
            Ended(cell_id=cell.cell_id, name=names[1][cell.cell_id], why="the baseline has no such cell")
            for cell in new
            if cell.cell_id not in met[1] and not cell.key.arm.control
        ],
    )


def _mapped(
    old: Sequence[CellRecord],
    new: Sequence[CellRecord],
    names: tuple[Mapping[str, str], Mapping[str, str]],
    renamed: Mapping[str, str],
) -> list[Pair]:
    ours = {key: cell for cell in old for key in (cell.cell_id, names[0][cell.cell_id])}
    theirs = {key: cell for cell in new for key in (cell.cell_id, names[1][cell.cell_id])}
    return [Pair(ours[was], theirs[now], True) for was, now in renamed.items() if was in ours and now in theirs]


def _same(old: Sequence[CellRecord], new: Sequence[CellRecord]) -> list[Pair]:
    candidates: dict[str, list[CellRecord]] = {}
    for cell in new:
        candidates.setdefault(_identity(cell.key), []).append(cell)
    ranked = sorted(
        (
            (len(cell_changes(one, other)), number, place, one, other)
            for number, one in enumerate(old)
            for place, other in enumerate(candidates.get(_identity(one.key), []))
        ),
        key=lambda item: item[:3],
    )
    pairs: list[Pair] = []
    taken: set[tuple[str, str]] = set()
    for *_, one, other in ranked:
        if ("old", one.cell_id) not in taken and ("new", other.cell_id) not in taken:
            taken |= {("old", one.cell_id), ("new", other.cell_id)}
            pairs.append(Pair(one, other, False))
    return pairs


def _identity(key: CellKey) -> str:
    told = [key.backend, key.suite, key.arm.model_dump(mode="json"), key.load.model_dump(mode="json")]
    return json.dumps(told, sort_keys=True)
