"""Times of engine steps that several requests shared: per engine step, and against the baseline at equal batch size.

A step of b requests stands in the records of b turns, so each entry weighs 1 / b and together they are one engine step.
Steps in which a prompt was read do not count: they are as long as that prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.step_times import exposed_and_other, overlap

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Floats

PARTS = ("whole", "verify", "busy", "exposed", "other")


@dataclass(frozen=True, eq=False)
class SharedSteps:
    """The timed steps of a cell without prefill, added up by batch size: index b is that of steps of b requests."""

    steps: Floats
    """Engine steps."""
    seconds: dict[str, Floats]
    """`whole`, `verify`, `busy`, `exposed` and `other` of these steps."""
    overlaps: bool
    """Drafting and verification together exceed some step, so that exposed is the most it can be."""

    @property
    def count(self) -> float:
        """Engine steps of all batch sizes."""
        return float(self.steps.sum())

    def mean(self, part: str) -> float | None:
        """Return the mean of a part per engine step, seconds; null without steps."""
        return float(self.seconds[part].sum()) / self.count if self.count else None


@dataclass(frozen=True)
class AtEqualBatch:
    """Means per engine step of two cells over the batch sizes that both have, weighted as the first has them."""

    ours: float
    theirs: float
    steps: float
    """Engine steps of the first cell at these batch sizes."""
    share: float
    """Of all its steps without prefill."""


def shared_steps(cell: CellColumns, *, drafts: bool) -> SharedSteps:
    """Add up the timed steps of a cell's turns; a `none` arm, which drafts nothing, has drafting time 0."""
    size = 1 + int(cell.batch.max(initial=0))
    steps, seconds, overlaps = np.zeros(size), {part: np.zeros(size) for part in PARTS}, False
    for block in cell.blocks():
        draft = block.draft_s if drafts else np.zeros(len(block.draft_s))
        known = (block.step_s >= 0) & (block.verify_s >= 0) & (draft >= 0) & ~block.beside_prefill
        whole, verify, busy = block.step_s[known], block.verify_s[known], draft[known]
        batch = block.batch[known]
        exposed, other = exposed_and_other(whole, verify, busy)
        steps += np.bincount(batch, weights=1.0 / batch, minlength=size)
        for part, times in zip(PARTS, (whole, verify, busy, exposed, other), strict=True):
            seconds[part] += np.bincount(batch, weights=times / batch, minlength=size)
        overlaps = overlaps or overlap(whole, busy, exposed)
    return SharedSteps(steps, seconds, overlaps)


def at_equal_batch(ours: SharedSteps, theirs: SharedSteps, part: str, their_part: str) -> AtEqualBatch | None:
    """Compare a part of one cell's steps with one of another's, batch size by batch size; null where none is shared."""
    size = min(len(ours.steps), len(theirs.steps))
    our_steps, their_steps = ours.steps[:size], theirs.steps[:size]
    both = (our_steps > 0) & (their_steps > 0)
    if not both.any():
        return None
    steps = float(our_steps[both].sum())
    their_mean = theirs.seconds[their_part][:size][both] / their_steps[both]
    return AtEqualBatch(
        ours=float(ours.seconds[part][:size][both].sum()) / steps,
        theirs=float((our_steps[both] * their_mean).sum()) / steps,
        steps=steps,
        share=steps / ours.count,
    )
