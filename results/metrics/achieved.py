"""What load the engine really had: requests in flight and requests per second, beside what the plan asked for.

A client that cannot keep as many requests in flight as it was told (a pool of connections that is too small, a slow
loop) measures another load than the one that is written above its numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing
from draftmark.results.metrics.flight import (
    ends_of,
    flown,
    most_in_flight,
    request_seconds,
    seconds_of,
    sent_within,
)
from draftmark.results.metrics.stamps import union_seconds

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence

_NO_STAMPS = "no turn has stamps of being sent and of its end"
_OTHERS = "several categories were in flight at once; see the cell over all turns"
NO_TIMES = "warm-up and cool-down leave no time between the first arrival and the last"


def _nothing(evidence: Evidence) -> str | None:
    if len(evidence.cell) == 0:
        return evidence.no_turns()
    if evidence.part and evidence.shares_steps:
        return _OTHERS
    if not flown(evidence.served).any():
        return _NO_STAMPS
    return NO_TIMES if evidence.measured_times is not None and not evidence.measured_times else None


def _busy_seconds(evidence: Evidence) -> float:
    """Length of the measured times; in a closed loop, of those at which anything was in flight."""
    if evidence.measured_times is not None:
        return seconds_of(evidence.measured_times)
    cell = evidence.served
    return float(union_seconds(cell, flown(cell), ends_of(cell)).sum())


@declare(
    "achieved_concurrency",
    unit="count",
    better=None,
    needs=("stamps",),
    about="Requests in flight, in the mean over time; failed ones are among them.",
)
def achieved_concurrency(evidence: Evidence) -> Outcome:
    """Sum of the times that requests were in flight / the time.

    The time: in an open loop that between warm-up and cool-down, else that with any request in flight. n counts turns.
    """
    if reason := _nothing(evidence):
        return missing(reason)
    cell, times = evidence.served, evidence.measured_times
    turns = flown(cell)
    total = float((ends_of(cell) - cell.sent_s)[turns].sum()) if times is None else request_seconds(cell, times)
    return Outcome(total / _busy_seconds(evidence), int(turns.sum()), "timed", notes=_asked(evidence))


@declare(
    "achieved_concurrency_most",
    unit="count",
    better=None,
    needs=("stamps",),
    about="Most requests in flight at any moment.",
)
def achieved_concurrency_most(evidence: Evidence) -> Outcome:
    """Greatest number of requests in flight, in an open loop between warm-up and cool-down. n counts turns."""
    if reason := _nothing(evidence):
        return missing(reason)
    most = most_in_flight(evidence.served, evidence.measured_times)
    return Outcome(float(most), int(flown(evidence.served).sum()), "timed", notes=_asked(evidence))


def _asked(evidence: Evidence) -> tuple[str, ...]:
    load = evidence.open_load
    if load is None:
        return (f"asked for: {evidence.concurrency}",)
    return () if load.max_in_flight is None else (f"asked for: at most {load.max_in_flight}",)


@declare(
    "achieved_request_rate",
    unit="turns/s",
    better=None,
    needs=("stamps",),
    about="Requests sent per second; failed ones are among them.",
)
def achieved_request_rate(evidence: Evidence) -> Outcome:
    """Requests sent / the time: in an open loop that between warm-up and cool-down, else that with any in flight.

    n counts the requests.
    """
    if reason := _nothing(evidence):
        return missing(reason)
    cell, times = evidence.served, evidence.measured_times
    sent = int(flown(cell).sum()) if times is None else sent_within(cell, times)
    if sent == 0:
        return missing("no request was sent between warm-up and cool-down")
    notes = () if evidence.open_load is None else (f"asked for: {evidence.open_load.label} (conversations)",)
    return Outcome(sent / _busy_seconds(evidence), sent, "timed", notes=notes)


@declare(
    "client_lateness",
    unit="s",
    better="lower",
    needs=("stamps", "schedule"),
    about="How late the client itself sent requests: what it adds to the waiting that it measures.",
)
def client_lateness(evidence: Evidence) -> Outcome:
    """Sent - scheduled - time for which a cap on the requests in flight held it back; mean over turns."""
    if len(evidence.cell) == 0:
        return missing(evidence.no_turns())
    cell = evidence.cell
    late = cell.sent_s - cell.scheduled_s - np.where(np.isnan(cell.held_s), 0.0, cell.held_s)
    known = np.isfinite(late)
    if not known.any():
        return missing(NO_SCHEDULE)
    return Outcome(float(late[known].mean()), int(known.sum()), "timed", notes=(f"most: {late[known].max():.3g} s",))


@declare(
    "held_back",
    unit="s",
    better=None,
    needs=("stamps", "schedule"),
    about="How long requests that were due waited because the plan caps those in flight.",
)
def held_back(evidence: Evidence) -> Outcome:
    """Mean over turns; part of what is measured from the schedule, and of no time measured from sending."""
    if len(evidence.cell) == 0:
        return missing(evidence.no_turns())
    known = np.isfinite(evidence.cell.held_s)
    if not known.any():
        return missing("the plan caps no requests that are due" if evidence.open_load is not None else NO_SCHEDULE)
    return Outcome(float(evidence.cell.held_s[known].mean()), int(known.sum()), "timed")


NO_SCHEDULE = "requests followed no schedule: each was sent when the one before it had ended"

ACHIEVED: tuple[Metric, ...] = (
    achieved_concurrency,
    achieved_concurrency_most,
    achieved_request_rate,
    client_lateness,
    held_back,
)
