"""How a board is laid out: its numbers as text with what stands behind them, and each interval as a small picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.dashboards.wording import (
    NOT_MEASURED,
    interval,
    is_rough,
    number,
    provenance,
    unit_on_screen,
    value_of,
)
from draftmark.results.metrics import metric_of
from draftmark.results.standing import standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.dashboards.leaderboard.boards import Placed, Table
    from draftmark.results.standing import Standing
    from draftmark.results.summary import CellSummary, MetricValue

WEAK = 1.1
"""A baseline that takes this many times as long per token as the table's quickest is called out."""


@dataclass(frozen=True)
class Column:
    """A sortable column of numbers."""

    label: str
    unit: str
    about: str
    better: Literal["higher", "lower"] | None


@dataclass(frozen=True)
class Number:
    """One number: as text, as a number to sort by (null sorts last), and what stands behind it."""

    text: str
    sort: float | None
    behind: str
    interval: str | None = None
    mark: Standing | None = None
    aside: str = ""
    """A few words that must not be overlooked."""


@dataclass(frozen=True)
class Whisker:
    """Where a speed-up and its interval lie on the table's axis, in percent of its width; `low` null without one."""

    one: float
    """Where 1 is: as fast as no speculation."""
    value: float
    low: float | None
    high: float | None
    rough: bool


@dataclass(frozen=True)
class Row:
    """A ranked entry."""

    placed: Placed
    whisker: Whisker
    numbers: tuple[Number, ...]


_SPEEDS = (("output_tps_per_gpu", "per GPU"), ("tps_per_user", "per user"))


def columns_of(table: Table) -> tuple[Column, ...]:
    """Return the columns of numbers of a table; where nothing ran on a GPU, speeds are of the whole machine."""
    found = [Column("speed-up", "", _about("speedup"), "higher")]
    found += [Column(label, "tokens/s", _about(name), "higher") for name, label in _speeds(table)]
    found.append(Column("AL", "", _about("acceptance_length"), "higher"))
    found.append(Column("draft overhead", "", _about("draft_overhead"), "lower"))
    about = "Milliseconds per token of the same engine without speculation: what the speed-up is measured against."
    found.append(Column("no speculation", "ms/token", about, "lower"))
    found.append(Column("D", "", "Draft length: the most tokens that one step may draft.", None))
    return tuple(found)


def rows_of(table: Table) -> tuple[Row, ...]:
    """Return the ranked entries of a table, each with one number per column."""
    speedups = [value_of(one.entry.cell, "speedup") for one in table.ranked]
    ends = [
        end for metric in speedups for end in (metric.value, metric.low, metric.high) if end is not None and end > 0
    ]
    reach = (min([1.0, *ends]) / 1.03, max([1.0, *ends]) * 1.03)
    bases = [_base(one) for one in table.ranked]
    quickest = min((base.value for base in bases if base.value), default=0.0)
    return tuple(
        Row(
            one,
            _whisker(speedup, reach),
            (
                _number(speedup, mark=standing(speedup)),
                *(_number(value_of(one.entry.cell, name)) for name, _ in _speeds(table)),
                _number(value_of(one.entry.cell, "acceptance_length")),
                _number(value_of(one.entry.cell, "draft_overhead")),
                _number(base, aside=_weakness(base.value, quickest)),
                Number(str(one.entry.cell.draft_length), one.entry.cell.draft_length, "as the plan asked"),
            ),
        )
        for one, speedup, base in zip(table.ranked, speedups, bases, strict=True)
    )


@dataclass(frozen=True)
class Repeated:
    """Entries that the same runs measured more than once."""

    counts: str
    """Id of the run that counts."""
    others: tuple[str, ...]
    """Ids of those that do not, latest first."""
    placed: tuple[Placed, ...]


def repeated(table: Table) -> list[Repeated]:
    """Return which entries of a table were measured more than once, sorted by the runs that did so."""
    alike: dict[tuple[str, ...], list[Placed]] = {}
    for one in table.placed:
        if one.earlier:
            runs = (one.entry.source.run_id, *(old.source.run_id for old in one.earlier))
            alike.setdefault(runs, []).append(one)
    return [Repeated(counts, tuple(others), tuple(placed)) for (counts, *others), placed in alike.items()]


@dataclass(frozen=True)
class Share:
    """One part of an entry's workload."""

    category: str
    turns: int
    speedup: Number
    acceptance_length: Number


def workload(placed: Placed) -> tuple[Share, ...]:
    """Return how an entry's turns split into categories, with the speed-up and AL of each."""
    return tuple(
        Share(
            part.category or "",
            part.turns_ok,
            _number(value_of(part, "speedup")),
            _number(value_of(part, "acceptance_length")),
        )
        for part in placed.entry.parts
    )


def definition(cell: CellSummary) -> str:
    """Name the definition of AL that an entry's number follows, and how its steps are known."""
    metric = value_of(cell, "acceptance_length")
    known = "" if metric.source is None else f"; steps: {metric.source}"
    note = f"; {metric.note}" if metric.note else ""
    return f"tokens delivered / decode steps, all steps, prefill's token left out (acceptance_length){known}{note}"


def shown(cell: CellSummary, name: str) -> str:
    """Write a metric with its unit and interval, or why it was not measured."""
    metric = value_of(cell, name)
    if metric.value is None:
        return f"{NOT_MEASURED}: {metric.reason}"
    return " ".join(
        f"{number(metric.value, metric.unit)} {unit_on_screen(metric.unit)} {interval(metric) or ''}".split()
    )


def _speeds(table: Table) -> tuple[tuple[str, str], ...]:
    on_gpu = any(value_of(one.entry.cell, "output_tps_per_gpu").value is not None for one in table.ranked)
    return _SPEEDS if on_gpu else (("output_tps", "whole machine"), _SPEEDS[1])


def _about(name: str) -> str:
    declared = metric_of(name)
    return declared.about if declared else ""


def _base(placed: Placed) -> MetricValue:
    return value_of(placed.entry.baseline or placed.entry.cell, "tpot")


def _weakness(value: float | None, quickest: float) -> str:
    if not value or not quickest or value / quickest < WEAK:
        return ""
    return f"{value / quickest:.1f}x the quickest here"


def _number(metric: MetricValue, *, mark: Standing | None = None, aside: str = "") -> Number:
    if metric.value is None:
        return Number(NOT_MEASURED, None, metric.reason or "no reason given")
    text = number(metric.value, metric.unit)
    if metric.note and "upper bound" in metric.note:
        text = f"≤ {text}"
    return Number(text, metric.value, provenance(metric), interval(metric), mark, aside)


def _whisker(metric: MetricValue, reach: tuple[float, float]) -> Whisker:
    low, high = (math.log(end) for end in reach)

    def place(value: float) -> float:
        return round(100 * (math.log(max(value, reach[0])) - low) / (high - low), 1)

    ends: Sequence[float | None] = (metric.low, metric.high)
    return Whisker(
        one=place(1.0),
        value=place(metric.value or 1.0),
        low=None if ends[0] is None else place(ends[0]),
        high=None if ends[1] is None else place(ends[1]),
        rough=is_rough(metric) or metric.low is None,
    )
