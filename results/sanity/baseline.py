"""Is the baseline sane against itself? A speed-up is a ratio, and its denominator must stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.stamps import decoding
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.columns import CellColumns
    from draftmark.results.sanity.cell import CheckedCell

TOLERATED = 0.02
"""Difference between two equal baselines, or drift, that is no cause for doubt even where it is no chance."""
SUSPICIOUS = 0.1
"""Difference or drift that is a warning even without an interval."""
FEWEST_PAIRS = 3
"""Prompts answered by the baseline more than once before drift is judged."""

OK = "The baseline ran twice and is as fast as itself within the interval."
DRIFT_UNJUDGED = (
    f"Whether it drifted is not judged: fewer than {FEWEST_PAIRS} prompts were answered in two repeats; set repeats: 2."
)
_MORE = "Take more prompts (a larger limit)."


def check_baseline(cells: Sequence[CheckedCell]) -> Iterator[Lamp]:
    """Yield what one comparison group's baseline is worth: there, repeated, equal to its control, without drift."""
    if not any(cell.ran for cell in cells):
        return
    ids = [cell.summary.cell_id for cell in cells]
    baseline = next((cell for cell in cells if cell.is_baseline), None)
    if baseline is None or not baseline.ran:
        planned = baseline is not None  # a plan without one meant to have none
        text = "No turn ran without speculation, so there is nothing to compare with and no speed-up"
        text += ": see why `none` has none." if planned else ": an arm `none` gives both."
        yield Lamp(name="baseline", level="warning" if planned else "note", text=text, cells=ids)
        return
    if len(baseline.columns.drafted) and baseline.columns.drafted.max() > 0:
        text = (
            "The baseline drafted tokens: speculation was not off, so every speed-up here is void. Turn it off there."
        )
        yield baseline.lamp("baseline", "fault", text)
    drift = baseline_drift(baseline.columns)
    yield from _drifted(baseline, drift)
    unjudged = "" if drift is not None else f" {DRIFT_UNJUDGED}"
    control = next((cell for cell in cells if cell.summary.control and cell.ran), None)
    if control is None:
        text = (
            "The baseline ran once only, so nothing shows how far two equal runs differ: see why its control did not."
        )
        yield baseline.lamp("baseline", "note", text + unjudged)
        return
    for lamp in _against_itself(control):
        level = "unjudged" if unjudged and lamp.level == "ok" else lamp.level
        yield lamp.model_copy(update={"level": level, "text": lamp.text + unjudged})


def _against_itself(control: CheckedCell) -> Iterator[Lamp]:
    ratio = control.summary.metrics.get("speedup")
    if ratio is None or ratio.value is None:
        reason = ratio.reason if ratio is not None and ratio.reason else "no reason is recorded"
        text = f"The two runs of the baseline could not be compared: {reason}."
        yield control.lamp("baseline", "note", text)
        return
    off = slowed(1 / ratio.value)
    if ratio.low is not None and ratio.high is not None:
        said = f"The second run of the baseline took {in_words(off)} time per token than the first"
        said += f" (95% interval {slowed(1 / ratio.high):+.1%} to {slowed(1 / ratio.low):+.1%})"
        if ratio.low <= 1 <= ratio.high:
            yield control.lamp("baseline", "ok", OK)
        elif abs(off) <= TOLERATED:
            yield control.lamp("baseline", "note", f"{said}: more than chance, but too little to matter.")
        else:
            text = f"{said}: something besides speculation changes the speed here, and speed-ups near 1 mean nothing."
            text += " Quiet the machine and run again."
            yield control.lamp("baseline", "warning", text)
        return
    said = f"The second run of the baseline took {in_words(off)} time per token than the first"
    said += ", and too few conversations ran to tell whether by chance"
    if abs(off) > SUSPICIOUS:
        yield control.lamp("baseline", "warning", f"{said}; speed-ups of that size mean nothing. {_MORE}")
    else:
        yield control.lamp("baseline", "note", f"{said}. {_MORE}")


def slowed(times: float) -> float:
    """Return how two runs of the baseline differ, from the later one's time per token over the earlier one's.

    The one definition everywhere: the share by which the later run took longer, negative where it was faster.
    """
    return times - 1


def in_words(share: float) -> str:
    """Write a difference in time: `2.9% more`, `1.5% less`."""
    return f"{abs(share):.1%} {'less' if share < 0 else 'more'}"


def _drifted(baseline: CheckedCell, drift: float | None) -> Iterator[Lamp]:
    if drift is None or abs(slowed(drift)) <= SUSPICIOUS:
        return
    text = (
        f"In its last repeat the baseline took {in_words(slowed(drift))} time per token than in its first, on the same "
        "prompts: the machine changed during the run (heat, other programs). Quiet it and run again."
    )
    yield baseline.lamp("baseline", "warning", text)


def baseline_drift(columns: CellColumns) -> float | None:
    """Return decode time per token of the last repeat over that of the first, on prompts that have both.

    Sums over prompts of decode time per token, as in `tpot`; null below `FEWEST_PAIRS` prompts.
    """
    found = decoding(columns)
    if not found.valid.any():
        return None
    first, last = int(columns.repeat[found.valid].min()), int(columns.repeat[found.valid].max())
    asked = list(zip(columns.question.tolist(), columns.turn_index.tolist(), strict=True))

    def times(repeat: int) -> dict[tuple[int, int], float]:
        turns = np.flatnonzero(found.valid & (columns.repeat == repeat))
        return {asked[turn]: float(found.seconds[turn] / found.tokens[turn]) for turn in turns}

    before, after = times(first), times(last)
    both = sorted(before.keys() & after.keys())
    if first == last or len(both) < FEWEST_PAIRS:
        return None
    return sum(after[key] for key in both) / sum(before[key] for key in both)
