"""Was the client itself fast enough? Requests against their schedule, and its own lateness as `engine.json` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.engine_names import PROCESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

LATE_S = 0.05
"""A request that goes out later than this after its planned time is late."""
LATE_SHARE = 0.01
"""Share of late requests that is tolerated."""
DOUBTFUL_S, VOID_S = 0.005, 0.05
"""Delay of a stamp, at the 99th percentile, from which times are doubtful and from which they are the client's own."""
BUSY = 0.9
"""Share of a core from which a client process has no room left."""
CLIENT_OK = "Each request went out when an earlier one had ended, as a closed loop should, so none could be late."
IN_PROCESS_OK = (
    "The engine runs inside Draftmark's own process: no client or network stands between it and the clock, and each "
    "request goes out when an earlier one has ended."
)
SCHEDULE_OK = "Requests went out at their planned times."
_RELIEF = "raise client_processes, lower the load, or put the client on a machine of its own"


def check_schedule(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield whether requests went out when they should have."""
    if not cell.ran:
        return
    columns = cell.columns
    held = np.where(np.isnan(columns.held_s), 0.0, columns.held_s)
    late = columns.sent_s - columns.scheduled_s - held
    late = late[columns.ok & np.isfinite(late)]
    if len(late) == 0:
        apart = PROCESS in cell.record.resolved or any("url" in name.lower() for name in cell.record.key.engine)
        yield cell.lamp("client", "ok", CLIENT_OK if apart else IN_PROCESS_OK)
    elif (late > LATE_S).mean() > LATE_SHARE:
        text = (
            f"{(late > LATE_S).mean():.0%} of requests went out more than {LATE_S * 1000:.0f} ms after their planned "
            f"time (worst {late.max() * 1000:,.0f} ms): the client could not keep up, and waiting times read too short."
            " Lower the rate, or give the client a machine of its own."
        )
        yield cell.lamp("client", "warning", text)
    else:
        yield cell.lamp("client", "ok", SCHEDULE_OK)


def check_lateness(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield how late the client's own stamps were, where it watched itself; p99 is the worst of the windows'."""
    windows = [window["client"] for window in (cell.engine or {}).get("windows", []) if "client" in window]
    late = [window["p99_s"] for window in windows if window.get("p99_s") is not None]
    if not cell.ran or not late:
        return
    busiest = max((window.get("busiest_share") or 0.0 for window in windows), default=0.0)
    worst = max(late)
    told = f"in 99 of 100 looks its stamps were at most {worst * 1000:.1f} ms late, and it used {busiest:.0%} of a core"
    if worst > VOID_S:
        text = f"The client could not keep up: {told}. Times of this cell are the client's own: {_RELIEF}."
        yield cell.lamp("client", "fault", text)
    elif worst > DOUBTFUL_S or busiest > BUSY:
        text = f"The client was close to its limit: {told}. Times below that are not told apart: {_RELIEF}."
        yield cell.lamp("client", "warning", text)
    else:
        yield cell.lamp("client", "ok", f"The client kept up: {told}.")
