"""Goodput: the turns per second that were as fast as the plan's objectives want, and whether enough of them were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.achieved import NO_TIMES
from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.flight import begun_within, ends_of, flown, seconds_of
from draftmark.results.metrics.stamps import union_seconds

if TYPE_CHECKING:
    from draftmark.results.columns import Mask
    from draftmark.results.metrics.evidence import Evidence

NO_OBJECTIVES = "no objectives (greatest ttft, tpot or e2e) were set"


@dataclass(frozen=True, eq=False)
class _Met:
    """Which turns kept to each objective; a failed turn keeps to none."""

    by_objective: dict[str, Mask]
    unknown: int
    """Successful turns of which some needed time is not known; they count as not having kept to it."""
    from_schedule: bool

    @property
    def all(self) -> Mask:
        met: Mask = np.logical_and.reduce(list(self.by_objective.values()))
        return met

    @property
    def notes(self) -> tuple[str, ...]:
        shares = [f"{name} {mask.mean():.1%}" for name, mask in self.by_objective.items()]
        notes = [f"within the limit: {', '.join(shares)}"] if len(shares) > 1 else []
        if self.from_schedule and self.by_objective.keys() & {"ttft", "e2e"}:
            notes.append("waiting counts from when a request was due")
        if self.unknown:
            notes.append(f"{self.unknown} turns lack a time that is needed, and count as too slow")
        return tuple(notes)


def _met(evidence: Evidence) -> _Met | str:
    """Judge every turn; where requests were scheduled, times run from when they were due, as their senders felt it."""
    if len(evidence.cell) == 0:
        return evidence.no_turns()
    if evidence.objectives is None:
        return NO_OBJECTIVES
    cell, decode = evidence.cell, evidence.decoding
    scheduled = np.isfinite(cell.scheduled_s)
    start = np.where(scheduled, cell.scheduled_s, cell.sent_s)
    per_token = np.divide(decode.seconds, decode.tokens, out=np.full(len(cell), np.nan), where=decode.valid)
    # An answer of one token has no time per token, and cannot exceed the limit.
    observed = {
        "ttft": cell.first_s - start,
        "tpot": np.where(cell.tokens == 1, 0.0, per_token),
        "e2e": cell.last_s - start,
    }
    limits = evidence.objectives.limits
    with np.errstate(invalid="ignore"):
        kept = {name: cell.ok & (observed[name] <= limit) for name, limit in limits.items()}
    lacking = np.logical_or.reduce([np.isnan(observed[name]) for name in limits])
    return _Met(kept, int((cell.ok & lacking).sum()), bool(scheduled.any()))


@declare(
    "goodput",
    unit="turns/s",
    better="higher",
    needs=("stamps",),
    about="Turns per second that met every objective.",
)
def goodput(evidence: Evidence) -> Outcome:
    """Turns that met every objective / the time in which they ran; null without objectives. n counts turns.

    Open loop: the turns of conversations that began between warm-up and cool-down / that time. Else all turns / the
    time with any in flight. A failed turn meets nothing, and its time counts. `ttft` and `e2e` run from when a turn was
    due, where there is a schedule.
    """
    met = _met(evidence)
    if isinstance(met, str):
        return missing(met)
    cell, times = evidence.cell, evidence.measured_times
    if times is not None:
        if not times:
            return missing(NO_TIMES)
        begun = begun_within(cell, times)
        notes = ("between warm-up and cool-down; no interval", *met.notes)
        return Outcome(float((met.all & begun).sum()) / seconds_of(times), int(begun.sum()), "timed", notes=notes)
    return evidence.pooled(
        met.all.astype(np.float64),
        union_seconds(cell, flown(cell), ends_of(cell)),
        source="timed",
        n=len(cell),
        notes=met.notes,
        nothing="no turn has stamps of being sent and of its end",
    )


@declare(
    "objectives_met",
    unit="1",
    better="higher",
    needs=("stamps",),
    about="Share of the turns that met every objective, and whether that is as many as the plan wants.",
)
def objectives_met(evidence: Evidence) -> Outcome:
    """Turns that met every objective / all turns, failed ones among them; null without objectives.

    The target is met where this is no less than the plan's `percentile`; the note says whether it is.
    """
    met = _met(evidence)
    if isinstance(met, str) or evidence.objectives is None:
        return missing(met if isinstance(met, str) else NO_OBJECTIVES)
    wanted, turns = evidence.objectives.percentile, len(evidence.cell)
    reached = float(met.all.sum()) * 100 >= wanted * turns - 1e-9
    notes = [f"target of {wanted:g}% {'met' if reached else 'missed'}", *met.notes]
    if wanted < 100 and turns < 100 / (100 - wanted):
        notes.append(f"{turns} turns are few for {wanted:g}%")
    return evidence.pooled(
        met.all.astype(np.float64), np.ones(turns), source="timed", bounds=(0.0, 1.0), notes=tuple(notes)
    )


GOODPUT: tuple[Metric, ...] = (goodput, objectives_met)
