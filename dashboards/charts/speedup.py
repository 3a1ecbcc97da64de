"""The charts of what was gained: speed-up by arm and by category, each with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from draftmark.dashboards.charts.axes import finite, ratio_axis
from draftmark.dashboards.charts.chart import (
    Chart,
    absent,
    drawn,
    hover,
    mark,
    rule,
    uncounted,
    unmeasured,
    whiskers,
    without_interval,
)
from draftmark.dashboards.charts.rows import Line, add_numbers, rows_canvas, shown
from draftmark.dashboards.wording import value_of, without_common_stem
from draftmark.results.roles import speculates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import plotly.graph_objects as go

    from draftmark.dashboards.groups import Group
    from draftmark.dashboards.palette import Look
    from draftmark.results.summary import CellSummary, MetricValue

MAX_CATEGORIES = 40
"""Categories drawn in one chart; the table has them all."""


def speedup_reach(groups: Iterable[Group]) -> list[float]:
    """Return every speed-up and interval end of the groups' arms, for an axis that all their charts share."""
    metrics = [_speedup(cell) for group in groups for cell in (*group.arms, *group.parts)]
    return finite(end for m in metrics if m.value is not None for end in (m.value, m.low, m.high))


def speedup_by_arm(group: Group, style: dict[str, Look], reach: Sequence[float]) -> Chart:
    """Chart each arm's speed-up over all turns with its 95% interval; hollow marks are rough or have no interval."""
    alt = "Speed-up over no speculation by arm, with 95% intervals"
    rows = [(Line(cell.arm), cell) for cell in group.arms if _speedup(cell).value is not None]
    if not rows:
        return absent(group, alt, [_speedup(cell) for cell in group.arms])
    figure = _forest(rows, style, reach, height=30, void=group.not_counted)
    missing = unmeasured((cell.arm, _speedup(cell)) for cell in group.arms)
    return drawn(group, alt, figure, _bare(rows), uncounted(group), missing)


def speedup_by_category(group: Group, style: dict[str, Look], reach: Sequence[float]) -> Chart:
    """Chart speed-ups category by category, each a heading over a row per arm."""
    alt = "Speed-up over no speculation by category and arm, with 95% intervals"
    points = [cell for cell in group.parts if speculates(cell)]
    known = [cell for cell in points if _speedup(cell).value is not None]
    if not known:
        return absent(group, alt, [_speedup(cell) for cell in points])
    categories = [name for name in group.categories if any(cell.category == name for cell in known)]
    names = without_common_stem(group.categories)
    rows: list[_Row] = []
    for category in categories[:MAX_CATEGORIES]:
        rows.append((Line(names[category], heading=True), None))
        rows += [(Line(cell.arm), cell) for cell in known if cell.category == category]
    left = len(categories) - MAX_CATEGORIES
    note = f"{left} more categories are in the table." if left > 0 else None
    figure = _forest(rows, style, reach, height=21, void=group.not_counted)
    missing = unmeasured(_named(points, known, names))
    return drawn(group, alt, figure, note, _bare(rows), uncounted(group), missing)


def _speedup(cell: CellSummary) -> MetricValue:
    return value_of(cell, "speedup")


def _named(
    points: list[CellSummary], known: list[CellSummary], names: dict[str, str]
) -> Iterable[tuple[str, MetricValue]]:
    """Name what has no number by its arm or its category where the whole of it has none, else by both."""
    arms, categories = {cell.arm for cell in known}, {cell.category for cell in known}
    for cell in points:
        category = names[cell.category or ""]
        whole = cell.arm if cell.arm not in arms else category if cell.category not in categories else None
        yield whole or f"{cell.arm} on {category}", _speedup(cell)


_Row: TypeAlias = "tuple[Line, CellSummary | None]"
"""A row of a forest chart: its name, and its cell; a heading has none."""


def _forest(
    rows: Sequence[_Row], style: dict[str, Look], reach: Sequence[float], *, height: int, void: Collection[str]
) -> go.Figure:
    """Draw one mark and interval per row over a line at 1, with the number at the row's end.

    A number without an interval stands in brackets, its mark hollow and pale. Marks of `void` cells, which do not
    count, are hollow.
    """
    figure = rows_canvas([line for line, _ in rows], ratio_axis("speed-up", reach), height=height)
    figure.add_shape(rule(1))
    for row, (_, cell) in enumerate(rows):
        if cell is None:
            continue
        metric = _speedup(cell)
        firm = metric.high is not None
        color = f"var({style[cell.arm].color})"
        figure.add_scatter(
            x=[metric.value],
            y=[row],
            mode="markers",
            cliponaxis=False,
            marker={
                "color": color,
                "symbol": mark(style[cell.arm], metric, whole=cell.cell_id not in void),
                "size": 9,
                "opacity": 1.0 if firm else 0.65,
                "line": {"color": color, "width": 1.5},
            },
            error_x=whiskers([metric], color),
            hovertext=[hover(cell, "speedup", "acceptance_length", "step_cost_ratio")],
            hoverinfo="text",
        )
        text = shown(metric)
        add_numbers(figure, row, [text if firm else f"({text})"], color="var(--ink)" if firm else "var(--muted)")
    return figure


def _bare(rows: Sequence[_Row]) -> str | None:
    return without_interval([_speedup(cell) for _, cell in rows if cell is not None])
