"""What engines resolved: settings that turning speculation on also changed, and everything else they told."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.details.facts import Block
from draftmark.dashboards.groups import whereabouts

if TYPE_CHECKING:
    from draftmark.results.summary import RunSummary


@dataclass(frozen=True)
class Change:
    """A setting that arms have otherwise than the baseline, besides their drafter."""

    setting: str
    baseline: str
    here: str
    where: str
    """Which arms, and of which groups where not of all."""


def changes(summary: RunSummary) -> list[Change]:
    """Return what turning speculation on also changed, by setting; arms that changed it alike share a row."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for cell in summary.cells:
        if cell.category is not None or cell.control:
            continue
        for setting, (before, after) in cell.changed.items():
            alike.setdefault((setting, _plain(before), _plain(after)), []).append(cell.cell_id)
    rows = sorted(alike.items(), key=lambda row: _place(row[0][0]))
    return [Change(*row, whereabouts(cells, summary) or "every arm") for row, cells in rows]


def _place(setting: str) -> list[tuple[int, str]]:
    """Return what a setting sorts by: numbers in its name count as numbers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", setting)]


def resolved_settings(summary: RunSummary) -> list[Block]:
    """Return every setting that the engines resolved: once where all arms have it equal, else by arm."""
    told = {record.cell_id: record.resolved for record in summary.manifest.cells if record.resolved}
    if not told:
        return []
    first = next(iter(told.values()))
    common = {name for name, value in first.items() if all(name in one and one[name] == value for one in told.values())}
    alike: dict[str, list[str]] = {}
    for cell_id, settings in told.items():
        rest = {name: value for name, value in settings.items() if name not in common}
        alike.setdefault(json.dumps(rest, ensure_ascii=False), []).append(cell_id)
    blocks = [
        Block(whereabouts(cells, summary) or "Every arm", _pairs(json.loads(rest))) for rest, cells in alike.items()
    ]
    shared = Block("Every arm", _pairs({name: value for name, value in first.items() if name in common}))
    return [block for block in (shared, *blocks) if block.pairs]


def _pairs(settings: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, json.dumps(value, ensure_ascii=False)) for name, value in settings.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
