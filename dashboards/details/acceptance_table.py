"""The section on where acceptance comes from: a small table per comparison group, a row per place, a column per arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.dashboards.groups import groups_of
from draftmark.dashboards.palette import Look, looks
from draftmark.dashboards.wording import (
    NOT_MEASURED,
    interval,
    listed,
    number,
    provenance,
    value_of,
    without_common_stem,
)
from draftmark.results.acceptance_places import places_of

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group
    from draftmark.results.acceptance_places import Kind, Place, Places
    from draftmark.results.summary import CellSummary, MetricValue, RunSummary

MAX_CATEGORIES = 40
"""Categories a table shows; the table of every arm has them all."""

HEADINGS: dict[Kind, str] = {
    "category": "Category",
    "context": "Context length, tokens",
    "output": "Output position, tokens",
    "part": "Thinking and answer",
}


@dataclass(frozen=True)
class Entry:
    """One arm's acceptance length at one place."""

    text: str | None
    """Null where it was not measured."""
    interval: str | None
    n: str
    """Decode steps behind it."""
    share: float
    """Length of its bar, 0 to 1: accepted tokens a step over the most of the table."""
    behind: str
    """What stands behind it, or why there is none; for hover and screen readers."""


@dataclass(frozen=True)
class Row:
    """A place; `heading` where a new kind of places begins above it."""

    heading: str | None
    label: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class AcceptanceTable:
    """One comparison group."""

    id: str
    title: str
    arms: tuple[tuple[str, Look], ...]
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    """What has no number or no room, and why."""


@dataclass(frozen=True)
class AcceptanceTables:
    """The tables of a run, and what is not in them."""

    tables: tuple[AcceptanceTable, ...]
    notes: tuple[str, ...]
    """What has no number or no room, and why; what several groups lack is told once."""


def acceptance_tables(summary: RunSummary) -> AcceptanceTables:
    """Return a table per comparison group in which some arm has an acceptance length, in the run's order."""
    groups = [group for group in groups_of(summary) if group.overall]
    style = looks(cell for group in groups for cell in group.overall)
    found = [_table(f"acceptance-{place}", group, style) for place, group in enumerate(groups)]
    tables = tuple(table for table in found if table.rows)
    alike: dict[str, list[str]] = {}
    for table in tables:
        for note in table.missing:
            alike.setdefault(note, []).append(table.title)
    notes = (note if len(titles) == len(tables) else f"{listed(titles)}: {note}" for note, titles in alike.items())
    return AcceptanceTables(tables, tuple(notes))


def _table(name: str, group: Group, style: dict[str, Look]) -> AcceptanceTable:
    places = places_of([_finite(cell) for cell in (*group.overall, *group.parts)])
    most = max((m.value or 1 for row in places.rows for m in row.values.values()), default=1.0)
    names = without_common_stem([place.label for place in places.rows if place.kind == "category"])
    rows: list[Row] = []
    kind, categories = None, 0
    for place in places.rows:
        categories += place.kind == "category"
        if place.kind == "category" and categories > MAX_CATEGORIES:
            continue
        heading = None if place.kind in {None, kind} else HEADINGS[place.kind]
        kind = place.kind
        entries = tuple(_entry(place, arm, most) for arm in places.arms)
        label = names[place.label] if kind == "category" else place.label
        rows.append(Row(heading, label, entries))
    arms = tuple((arm.arm, style[arm.arm]) for arm in places.arms)
    return AcceptanceTable(name, group.label, arms, tuple(rows), _notes(places, categories))


def _finite(cell: CellSummary) -> CellSummary:
    """Return a cell whose acceptance lengths are finite, or null with a reason."""
    named = [name for name in cell.metrics if name.startswith("acceptance_length")]
    return cell.model_copy(update={"metrics": {name: value_of(cell, name) for name in named}})


def _entry(place: Place, arm: CellSummary, most: float) -> Entry:
    metric: MetricValue | None = place.values.get(arm.cell_id)
    if metric is None or metric.value is None:
        reason = "this run has no such number" if metric is None else metric.reason or "no reason given"
        return Entry(None, None, "", 0.0, f"{NOT_MEASURED}: {reason}")
    share = (metric.value - 1) / (most - 1) if most > 1 else 0.0
    text = number(metric.value, metric.unit)
    return Entry(text, interval(metric), f"{metric.n:,}", min(max(share, 0.0), 1.0), provenance(metric))


def _notes(places: Places, categories: int) -> tuple[str, ...]:
    notes = []
    if categories > MAX_CATEGORIES:
        notes.append(f"{categories - MAX_CATEGORIES} more categories are in the table of every arm.")
    for kind, arm, reason in places.missing:
        what = ", ".join(part for part in (arm, "" if kind is None else HEADINGS[kind].lower()) if part)
        notes.append(f"{NOT_MEASURED}: {what or 'acceptance length'} ({reason})")
    return tuple(notes)
