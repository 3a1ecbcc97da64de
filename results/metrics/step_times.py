"""Sums of the times that an engine gave for each step of a turn, and which turns have them.

Times of a turn count where the engine gave all of them, none negative. Above one request per step they do not: a turn's
record then holds time that it shared with others (see `shared_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Floats, Mask


@dataclass(frozen=True, eq=False)
class StepTimes:
    """Sums over each turn's steps, seconds; 0 for turns that do not count."""

    known: Mask
    """The turn's steps were timed, whole and in both parts."""
    steps: Floats
    whole: Floats
    verify: Floats
    busy: Floats
    exposed: Floats
    """What drafting adds: its time, as far as the step has room for it beside verification."""
    other: Floats
    """What is left of the step beside both."""
    overlaps: bool
    """Drafting and verification together exceed some step, so that exposed is the most it can be."""


_ROUNDING = 1e-6
"""Relative excess of the parts over the whole that is rounding of the clock."""


def step_times(cell: CellColumns, *, drafts: bool) -> StepTimes:
    """Add up the step times of each turn; a `none` arm, which drafts nothing, has drafting time 0."""
    parts = [_of_block(block, drafts=drafts) for block in cell.blocks()]
    columns = [field.name for field in fields(StepTimes) if field.name != "overlaps"]
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
    return StepTimes(**joined, overlaps=any(part.overlaps for part in parts))


def _of_block(cell: CellColumns, *, drafts: bool) -> StepTimes:
    draft = cell.draft_s if drafts else np.zeros(len(cell.draft_s))
    unusable = ~((cell.step_s >= 0) & (cell.verify_s >= 0) & (draft >= 0))
    known = cell.has_steps & ~cell.shared_steps & (cell.step_count > 0) & (cell.per_turn(unusable) == 0)
    exposed, other = exposed_and_other(cell.step_s, cell.verify_s, draft)
    counted = np.repeat(known, cell.step_count)

    def summed(values: Floats) -> Floats:
        return np.where(known, cell.per_turn(values), 0.0)

    return StepTimes(
        known=known,
        steps=np.where(known, cell.step_count, 0).astype(np.float64),
        whole=summed(cell.step_s),
        verify=summed(cell.verify_s),
        busy=summed(draft),
        exposed=summed(exposed),
        other=summed(other),
        overlaps=overlap(cell.step_s[counted], draft[counted], exposed[counted]),
    )


def exposed_and_other(whole: Floats, verify: Floats, draft: Floats) -> tuple[Floats, Floats]:
    """Return of each step what drafting adds, as far as there is room beside verification, and what neither takes."""
    room = np.maximum(whole - verify, 0.0)
    return np.minimum(draft, room), np.maximum(room - draft, 0.0)


def overlap(whole: Floats, draft: Floats, exposed: Floats) -> bool:
    """Say whether in some step there was less room for drafting beside verification than drafting took."""
    return bool((draft > exposed + _ROUNDING * np.abs(whole)).any())
