"""Do the two numbers of tokens per second agree: that of the steady window, and that of the whole run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.flight import ends_of, flown, seconds_of, steady_times
from draftmark.results.metrics.stamps import union_seconds
from draftmark.results.metrics.throughput import needed_in_flight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

TOLERATED = 0.1
"""Share by which the steady window may lie below the whole run before it is doubted."""
SMALL_WINDOW = 0.5
"""Share of the time with any request in flight below which a steady window is called small."""


def check_throughput(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield where the steady window gives less than the whole run, or is a small part of it.

    Filling and draining only cost: a window without them gives no less than the whole. And the more of the run it is
    not, the more the two may differ.
    """
    concurrency = cell.summary.concurrency
    if not cell.ran or cell.summary.open_load is not None or concurrency is None or concurrency == 1:
        return
    steady, whole = (cell.summary.metrics.get(name) for name in ("output_tps", "output_tps_whole_run"))
    if steady is None or whole is None or steady.value is None or whole.value is None:
        return
    columns = cell.columns
    busy = float(union_seconds(columns, flown(columns), ends_of(columns)).sum())
    share = seconds_of(steady_times(columns, needed_in_flight(concurrency))) / busy if busy > 0 else np.nan
    if steady.value < (1 - TOLERATED) * whole.value:
        text = (
            f"The steady window gives {steady.value:.4g} tokens/s and the whole run {whole.value:.4g}, though filling "
            "and draining can only make the whole run slower: one of the two does not show what the engine can do."
        )
        yield cell.lamp("values", "warning", text)
    elif share < SMALL_WINDOW:
        text = (
            f"Only in {share:.0%} of the time were there the {concurrency} requests in flight that were asked for: "
            f"{steady.value:.4g} tokens/s are those of this part, and {whole.value:.4g} those of the whole run. More "
            "conversations, or a client and connections that send the next request sooner, give more of it."
        )
        yield cell.lamp("values", "note", text)
