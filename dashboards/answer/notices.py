"""What a reader must know before anything else: that the run is not whole, and that engines were lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.dashboards.details.facts import moment
from draftmark.dashboards.groups import whereabouts
from draftmark.dashboards.wording import last_words

if TYPE_CHECKING:
    from datetime import datetime

    from draftmark.results.summary import CellSummary, RunSummary

_STATES = {
    "running": "this run was still under way, or was killed, when the page was made",
    "interrupted": "this run was interrupted before its end, and the page was made",
    "failed": "this run ended before it was finished, and the page was made",
    "complete": "this run ended without some of its turns, and the page was made",
}


@dataclass(frozen=True)
class Notice:
    """One paragraph above the answer."""

    title: str
    text: str
    quote: str | None = None
    """An engine's last words."""


def notices(summary: RunSummary, made_at: datetime) -> list[Notice]:
    """Return what stands above the answer: nothing for a run that is whole.

    Args:
        summary: The derived view of the run.
        made_at: When the page is made, with its time zone.
    """
    cells = [cell for cell in summary.cells if cell.category is None and cell.status != "left out"]
    done = sum(cell.turns_ok + cell.turns_failed for cell in cells)
    expected = sum(cell.turns_expected for cell in cells)
    status = summary.manifest.status
    found = []
    if status != "complete" or done < expected:
        state, when = _STATES[status], moment(made_at.isoformat())
        rest = "Run the same plan into the same folder for the rest."
        ending = f"Numbers will change. Killed? {rest}" if status == "running" else rest
        text = f"{state} on {when} from {done:,} of {expected:,} turns. {ending}"
        found.append(Notice("A snapshot:", text))
    return found + _lost(summary)


def _lost(summary: RunSummary) -> list[Notice]:
    """Return one notice per way in which engines were lost; cells with equal last words share it."""
    words = {record.cell_id: record.lost for record in summary.manifest.cells if record.lost is not None}
    alike: dict[str, list[CellSummary]] = {}
    for cell in summary.cells:
        if cell.category is None and cell.cell_id in words:
            alike.setdefault(words[cell.cell_id], []).append(cell)
    return [_lost_so(cells, said, summary) for said, cells in alike.items()]


def _lost_so(cells: list[CellSummary], words: str, summary: RunSummary) -> Notice:
    done = sum(cell.turns_ok + cell.turns_failed for cell in cells)
    expected = sum(cell.turns_expected for cell in cells)
    where = whereabouts([cell.cell_id for cell in cells], summary) or "every arm"
    return Notice(
        "Engine lost:", f"{where}, after {done:,} of {expected:,} turns, so no answer rests on it.", last_words(words)
    )
