"""The tables of the page: every arm's numbers, what speculation changed besides, failed turns, divergences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from draftmark.dashboards.groups import groups_of
from draftmark.dashboards.palette import Look, looks
from draftmark.dashboards.wording import NOT_MEASURED, interval, number, provenance, unit_on_screen, value_of
from draftmark.results.metrics import METRICS, metric_of

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group
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
    mark: Literal["faster", "slower", "unclear"] | None
    """For speed-ups with an interval: on which side of 1 all of it lies."""
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
    notes: tuple[tuple[str, str, int], ...]
    """What qualifies numbers above: column label, note, and how many numbers it applies to."""


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
    noted: dict[tuple[str, str], int] = {}
    for _, cell in cells[:MAX_ROWS]:
        for column in columns:
            note = value_of(cell, column.key).note
            if note:
                noted[column.label, note] = noted.get((column.label, note), 0) + 1
    return ArmsTable(columns, rows, len(cells), tuple((label, note, n) for (label, note), n in noted.items()))


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
        status=cell.status,
        status_text=cell.status_text,
        turns_ok=cell.turns_ok,
        turns_failed=cell.turns_failed,
        truncated=cell.truncated,
        entries=tuple(_entry(column, value_of(cell, column.key)) for column in columns),
    )


def _entry(column: Column, metric: MetricValue) -> Entry:
    if metric.value is None:
        return Entry(NOT_MEASURED, None, None, None, metric.reason or "no reason given")
    mark: Literal["faster", "slower", "unclear"] | None = None
    if column.key.endswith("speedup") and metric.low is not None and metric.high is not None:
        mark = "faster" if metric.low > 1 else "slower" if metric.high < 1 else "unclear"
    return Entry(number(metric.value, metric.unit), metric.value, interval(metric), mark, provenance(metric))


@dataclass(frozen=True)
class Change:
    """A setting that an arm has otherwise than the baseline, besides its drafter."""

    arm: str
    scope: str
    setting: str
    baseline: str
    here: str


def changes(summary: RunSummary) -> list[Change]:
    """Return what turning speculation on also changed, arm by arm; an arm's equal changes in all groups are one row."""
    seen: dict[tuple[str, str, str, str], list[str]] = {}
    groups = groups_of(summary)
    for group in groups:
        for cell in group.arms:
            for setting, (before, after) in cell.changed.items():
                seen.setdefault((cell.arm, setting, _plain(before), _plain(after)), []).append(group.label)
    everywhere = len(groups)
    return [
        Change(arm, "all" if len(scopes) == everywhere else "; ".join(scopes), setting, before, after)
        for (arm, setting, before, after), scopes in seen.items()
    ]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


@dataclass(frozen=True)
class Listing:
    """A capped list of things that went wrong: rows of text, and how many there are in truth."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int


def failures(summary: RunSummary) -> Listing:
    """List the failed turns."""
    names = _cell_names(summary)
    rows = tuple(
        (
            names.get(one.get("cell_id", ""), one.get("cell_id", "")),
            f"{one.get('question_id', '')} turn {one.get('turn_index', '')}, repeat {one.get('repeat', '')}",
            one.get("kind", ""),
            one.get("message", ""),
        )
        for one in summary.failures[:MAX_ROWS]
    )
    return Listing(("arm", "prompt", "kind", "message"), rows, len(summary.failures))


def divergences(summary: RunSummary) -> Listing:
    """List where outputs leave the baseline's, faults before unknowns before numeric ties."""
    names = _cell_names(summary)
    gravity = {"fault": 0, "unknown": 1, "numeric-tie": 2}
    found = sorted(summary.divergences, key=lambda one: gravity[one.verdict])
    rows = tuple(
        (
            names.get(one.cell_id, one.cell_id),
            f"{one.question_id} turn {one.turn_index}, repeat {one.repeat}",
            str(one.position),
            f"{'end' if one.baseline_id is None else one.baseline_id} → {'end' if one.arm_id is None else one.arm_id}",
            one.verdict,
            one.reason,
        )
        for one in found[:MAX_ROWS]
    )
    return Listing(("arm", "prompt", "position", "tokens", "verdict", "why"), rows, len(found))


def _cell_names(summary: RunSummary) -> dict[str, str]:
    return {cell.cell_id: f"{cell.arm} on {cell.suite}" for cell in summary.cells if cell.category is None}
