"""Was the client itself fast enough for what it measured? Its own lateness, as `engine.json` keeps it by window."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

DOUBTFUL_S, VOID_S = 0.005, 0.05
"""Delay of a stamp, at the 99th percentile, from which times are doubtful and from which they are the client's own."""
BUSY = 0.9
"""Share of a core from which a client process has no room left."""
_RELIEF = "raise client_processes, lower the load, or put the client on a machine of its own"


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
