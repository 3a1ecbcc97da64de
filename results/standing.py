"""Where an arm stands against no speculation, and why its speed may not count: the one judgement behind every verdict.

Pages and the terminal take their words from here, so that neither calls an arm faster that the other does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from draftmark.results.roles import speculates

if TYPE_CHECKING:
    from draftmark.results.summary import MetricValue, RunSummary

Standing = Literal["faster", "slower", "no clear difference"]

CHANGES_OUTPUT = "changes the output"
LOST_ENGINE = "lost its engine"


def standing(speedup: MetricValue | None) -> Standing | None:
    """Return on which side of 1 the whole 95% interval lies; null where there is no interval."""
    if speedup is None or speedup.value is None or speedup.low is None or speedup.high is None:
        return None
    return "faster" if speedup.low > 1 else "slower" if speedup.high < 1 else "no clear difference"


def not_counted(summary: RunSummary) -> dict[str, str]:
    """Return which cells' speeds do not count, and why: id to `changes the output`, `lost its engine`, or both.

    The output is changed where the lamp of losslessness is a fault: what the arm says is another model's, however fast.
    """
    faults = [lamp for lamp in summary.lamps if lamp.name == "losslessness" and lamp.level == "fault"]
    drafting = {cell.cell_id for cell in summary.cells if speculates(cell)}
    changing = {cell_id for lamp in faults for cell_id in lamp.cells or drafting} & drafting
    lost = {record.cell_id for record in summary.manifest.cells if record.lost is not None}
    why = {
        cell.cell_id: " and ".join(
            [CHANGES_OUTPUT] * (cell.cell_id in changing) + [LOST_ENGINE] * (cell.cell_id in lost)
        )
        for cell in summary.cells
    }
    return {cell_id: reason for cell_id, reason in why.items() if reason}
