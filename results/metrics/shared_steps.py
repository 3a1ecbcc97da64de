"""Times of engine steps that several requests shared: per engine step, and against the baseline at equal batch size.

A step of b requests stands in the records of b turns, so each entry weighs 1 / b and together they are one engine step.
Steps in which a prompt was read do not count: they are as long as that prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Floats, Shorts


@dataclass(frozen=True, eq=False)
class SharedSteps:
    """The timed entries of a cell without prefill, each with the share of an engine step that it stands for."""

    batch: Shorts
    weight: Floats
    times: dict[str, Floats]
    """`whole`, `verify`, `busy`, `exposed` and `other` of the step, seconds."""

    @property
    def steps(self) -> float:
        """Engine steps."""
        return float(self.weight.sum())

    def mean(self, part: str) -> float | None:
        """Return the mean of a part per engine step, seconds; null without steps."""
        return float((self.weight * self.times[part]).sum() / self.steps) if self.steps else None


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
    """Gather the timed steps of a cell's turns; a `none` arm, which drafts nothing, has drafting time 0."""
    draft = cell.draft_s if drafts else np.zeros(len(cell.draft_s))
    known = (cell.step_s >= 0) & (cell.verify_s >= 0) & (draft >= 0) & ~cell.beside_prefill
    whole, verify, busy = cell.step_s[known], cell.verify_s[known], draft[known]
    exposed = np.minimum(busy, np.maximum(whole - verify, 0.0))
    other = np.maximum(whole - verify - exposed, 0.0)
    return SharedSteps(
        batch=cell.batch[known],
        weight=1.0 / cell.batch[known],
        times={"whole": whole, "verify": verify, "busy": busy, "exposed": exposed, "other": other},
    )


def at_equal_batch(ours: SharedSteps, theirs: SharedSteps, part: str, their_part: str) -> AtEqualBatch | None:
    """Compare a part of one cell's steps with one of another's, batch size by batch size; null where none is shared."""
    size = 1 + max(int(ours.batch.max(initial=0)), int(theirs.batch.max(initial=0)))

    def sums(steps: SharedSteps, name: str) -> tuple[Floats, Floats]:
        count = np.bincount(steps.batch, weights=steps.weight, minlength=size)
        seconds = np.bincount(steps.batch, weights=steps.weight * steps.times[name], minlength=size)
        return count.astype(np.float64), seconds.astype(np.float64)

    our_steps, our_seconds = sums(ours, part)
    their_steps, their_seconds = sums(theirs, their_part)
    both = (our_steps > 0) & (their_steps > 0)
    if not both.any():
        return None
    steps = float(our_steps[both].sum())
    mean = their_seconds[both] / their_steps[both]
    return AtEqualBatch(
        ours=float(our_seconds[both].sum()) / steps,
        theirs=float((our_steps[both] * mean).sum()) / steps,
        steps=steps,
        share=steps / float(our_steps.sum()),
    )
