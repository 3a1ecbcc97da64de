"""The table of the page: every arm's numbers, over all turns and by category."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.dashboards.groups import groups_of
from draftmark.dashboards.palette import Look, looks
from draftmark.dashboards.wording import (
    NOT_MEASURED,
    interval,
    listed,
    number,
    provenance,
    qualifiers,
    unit_on_screen,
    value_of,
)
from draftmark.results.metrics import METRICS, metric_of
from draftmark.results.standing import standing

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group
    from draftmark.results.standing import Standing
    from draftmark.results.summary import CellSummary, MetricValue, RunSummary

MAX_ROWS = 1000
"""Rows a table shows; a browser stays quick, and the rest is counted in words."""

CORE = (
    "speedup",
    "acceptance_length",
    "coverage",
    "acceptance_rate",
    "draft_overhead",
    "verify_inflation",
    "step_cost_ratio",
    "output_tps",
    "ttft",
    "tpot",
)
"""Columns shown at first; the others come with "all columns"."""


@dataclass(frozen=True)
class Column:
    """A sortable column of numbers."""

    key: str
    label: str
    unit: str
    """As shown; empty for ratios."""
    description: str
    better: Literal["higher", "lower"] | None
    core: bool


@dataclass(frozen=True)
class Entry:
    """One number of the table: as text, as a number to sort by (null sorts last), with what stands behind it."""

    text: str
    sort: float | None
    interval: str | None
    mark: Standing | None
    """For speed-ups with an interval, of arms that count: on which side of 1 all of it lies."""
    behind: str
    """Provenance, or the reason of a null."""


@dataclass(frozen=True)
class Row:
    """One arm, over all turns of a group or over one category."""

    arm: str
    look: Look
    scope: str
    category: str | None
    status: str
    """Whether it is complete, or why it does not count."""
    status_text: str
    turns_ok: int
    turns_failed: int
    truncated: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class ArmsTable:
    """The page's main table."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: int
    """Rows before the cap of `MAX_ROWS`."""
    notes: tuple[Note, ...]
    """What qualifies numbers above, what applies to most of them first."""


@dataclass(frozen=True)
class Note:
    """What qualifies some numbers of the table."""

    text: str
    columns: str
    """Labels of a few of their columns, and how many more there are."""
    numbers: int


def arms_table(summary: RunSummary) -> ArmsTable:
    """Lay out every arm by group, all turns before categories, with a column for each metric that any cell has.

    Core columns come first, the others in the order of `METRICS`; metrics that are not declared there come last.
    """
    groups = groups_of(summary)
    cells = [(group, cell) for group in groups for cell in group.overall]
    cells += [(group, cell) for group in groups for cell in group.parts]
    columns = _columns([cell for _, cell in cells])
    style = looks(cell for _, cell in cells)
    rows = tuple(_row(group, cell, columns, style) for group, cell in cells[:MAX_ROWS])
    return ArmsTable(columns, rows, len(cells), _notes([cell for _, cell in cells[:MAX_ROWS]], columns))


def _notes(cells: list[CellSummary], columns: tuple[Column, ...]) -> tuple[Note, ...]:
    """Gather what qualifies numbers; notes that differ in their numbers alone are one, told by its first."""
    noted: dict[str, list[tuple[str, str]]] = {}
    for cell in cells:
        for column in columns:
            for part in qualifiers(value_of(cell, column.key)):
                noted.setdefault(re.sub(r"\d+(\.\d+)?", "#", part), []).append((part, column.label))
    found = []
    for alike in sorted(noted.values(), key=len, reverse=True):
        variants, labels = (list(dict.fromkeys(items)) for items in zip(*alike, strict=True))
        more = f", and {len(variants) - 1} more like it" if len(variants) > 1 else ""
        found.append(Note(f"{variants[0]}{more}", listed(labels), len(alike)))
    return tuple(found)


def _columns(cells: list[CellSummary]) -> tuple[Column, ...]:
    units: dict[str, str] = {}
    for cell in cells:
        for name, metric in cell.metrics.items():
            units.setdefault(name, metric.unit)
    declared = {name: declaration for name in units if (declaration := metric_of(name))}
    order = [metric.name for metric in METRICS.values()]

    def place(name: str) -> tuple[int, int, str, int]:
        stem, _, index = name.partition("[")
        known = order.index(declared[name].name) if name in declared else len(order)
        return (
            CORE.index(name) if name in CORE else len(CORE),
            known,
            stem,
            int(index[:-1] if index[:-1].isdigit() else 0),
        )

    return tuple(
        Column(
            key=name,
            label=name.replace("_", " "),
            unit=unit_on_screen(units[name]),
            description=declared[name].about if name in declared else "No definition comes with this metric.",
            better=declared[name].better if name in declared else None,
            core=name in CORE,
        )
        for name in sorted(units, key=place)
    )


def _row(group: Group, cell: CellSummary, columns: tuple[Column, ...], style: dict[str, Look]) -> Row:
    return Row(
        arm=cell.arm,
        look=style[cell.arm],
        scope=group.label,
        category=cell.category,
        status=group.not_counted.get(cell.cell_id, cell.status),
        status_text=cell.status_text,
        turns_ok=cell.turns_ok,
        turns_failed=cell.turns_failed,
        truncated=cell.truncated,
        entries=tuple(
            _entry(column, value_of(cell, column.key), counts=cell.cell_id not in group.not_counted)
            for column in columns
        ),
    )


def _entry(column: Column, metric: MetricValue, *, counts: bool) -> Entry:
    if metric.value is None:
        return Entry(NOT_MEASURED, None, None, None, metric.reason or "no reason given")
    mark = standing(metric) if counts and column.key.endswith("speedup") else None
    return Entry(number(metric.value, metric.unit), metric.value, interval(metric), mark, provenance(metric))
