"""Where an arm's acceptance comes from: its acceptance length by category, context, place in the output, and part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from draftmark.results.roles import speculates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from draftmark.results.summary import CellSummary, MetricValue

Kind = Literal["category", "context", "output", "part"]
"""What acceptance is split by."""
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In reading order."""

ALL = "all turns"
"""What the row over all steps is called."""

_LENGTH = "acceptance_length"
_BIN = re.compile(r"acceptance_length@(context|output)\[(\d+)-(\d*)\)")
_PARTS = ("thinking", "answer")


@dataclass(frozen=True)
class Place:
    """One row: acceptance length at one place, of each arm that has it."""

    kind: Kind | None
    """Null for the row over all steps."""
    label: str
    """`0 to 255` for a bin, `1,024 and more` for the last; tokens."""
    values: Mapping[str, MetricValue]
    """By cell id; at least one has a value."""


@dataclass(frozen=True)
class Places:
    """The places of one comparison group."""

    arms: tuple[CellSummary, ...]
    """The speculating arms that ran, over all turns, in the run's order: a column each."""
    rows: tuple[Place, ...]
    """All turns first, then kind by kind."""
    missing: tuple[tuple[Kind | None, str, str], ...]
    """What has no number: kind (null for all of it), the arm's label (empty for all arms), and why."""


def places_of(cells: Sequence[CellSummary]) -> Places:
    """Return where acceptance comes from in one comparison group.

    Bins that no step of any arm falls into are left out, and so is a split that leaves all in one place: one category,
    one bin, an answer without thinking. What was not measured says why, once.

    Args:
        cells: The group's cells, over all turns and by category.
    """
    arms = tuple(cell for cell in cells if cell.category is None and speculates(cell) and cell.turns_ok)
    whole = {arm.cell_id: arm.metrics[_LENGTH] for arm in arms if _LENGTH in arm.metrics}
    missing: list[tuple[Kind | None, str, str]] = []
    if not any(metric.value is not None for metric in whole.values()):
        return Places(arms, (), tuple(_reasons(None, whole, arms)))
    rows = [Place(None, ALL, whole)]
    missing += _reasons(None, whole, arms)
    told = tuple(arm for arm in arms if arm.cell_id in whole and whole[arm.cell_id].value is not None)
    for kind in KINDS:
        found = _categories(cells, told) if kind == "category" else _metrics(kind, told)
        known = {label: values for label, values in found.items() if _any(values)}
        if kind == "part" or len(known) > 1:
            rows += [Place(kind, label, values) for label, values in known.items()]
        missing += _without(kind, found, told)
    return Places(arms, tuple(rows), tuple(dict.fromkeys(missing)))


def _categories(cells: Iterable[CellSummary], arms: Sequence[CellSummary]) -> dict[str, dict[str, MetricValue]]:
    ids = {arm.cell_id for arm in arms}
    found: dict[str, dict[str, MetricValue]] = {}
    for cell in cells:
        if cell.category is not None and cell.cell_id in ids and _LENGTH in cell.metrics:
            found.setdefault(cell.category, {})[cell.cell_id] = cell.metrics[_LENGTH]
    return found if len(found) > 1 else {}


def _metrics(kind: Kind, arms: Sequence[CellSummary]) -> dict[str, dict[str, MetricValue]]:
    """Return by label what the arms' metrics of a kind say: bins in order of their edges, or thinking and answer."""
    placed: dict[tuple[int, str], dict[str, MetricValue]] = {}
    for arm in arms:
        for name, metric in arm.metrics.items():
            place = _place(kind, name)
            if place is not None:
                placed.setdefault(place, {})[arm.cell_id] = metric
    found = {label: values for (_, label), values in sorted(placed.items(), key=lambda item: item[0])}
    if kind == "part" and "thinking" in found and "answer" in found:
        only_answer = not _any(found["thinking"]) and _any(found["answer"])
        return {} if only_answer else found
    return found


def _place(kind: Kind, name: str) -> tuple[int, str] | None:
    """Return a metric's place among those of its kind, and what its row is called; null for others."""
    if kind == "part":
        part = name.removeprefix(f"{_LENGTH}@")
        return (_PARTS.index(part), part) if name.startswith(f"{_LENGTH}@") and part in _PARTS else None
    match = _BIN.fullmatch(name)
    if match is None or match[1] != kind:
        return None
    low, high = int(match[2]), match[3]
    return low, f"{low:,} to {int(high) - 1:,}" if high else f"{low:,} and more"


def _any(values: Mapping[str, MetricValue]) -> bool:
    return any(metric.value is not None for metric in values.values())


def _without(
    kind: Kind, found: Mapping[str, Mapping[str, MetricValue]], arms: Sequence[CellSummary]
) -> list[tuple[Kind | None, str, str]]:
    """Return why some arms have no number at any place of a kind; those that lack a place alone say it in its row."""
    bare = {}
    for arm in arms:
        mine = [values[arm.cell_id] for values in found.values() if arm.cell_id in values]
        if mine and all(metric.value is None for metric in mine):
            bare[arm.cell_id] = mine[0]
    return _reasons(kind, bare, arms)


def _reasons(
    kind: Kind | None, values: Mapping[str, MetricValue], arms: Sequence[CellSummary]
) -> list[tuple[Kind | None, str, str]]:
    """Name each arm without a number with its reason; one that all arms share is told once, without an arm."""
    found = [
        (arm.arm, metric.reason or "no reason given")
        for arm in arms
        if (metric := values.get(arm.cell_id)) is not None and metric.value is None
    ]
    if len(found) == len(arms) and len({reason for _, reason in found}) == 1:
        return [(kind, "", found[0][1])]
    return [(kind, label, reason) for label, reason in found]
