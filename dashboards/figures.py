"""The charts of what was gained and what it cost: speed-up by arm and category, and where a step's time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from draftmark.dashboards.axes import axis, canvas, finite, ratio_axis, rows_axis
from draftmark.dashboards.chart import Chart, absent, at_row_end, drawn, escaped, hover, label, mark, rule, whiskers
from draftmark.dashboards.wording import number, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

    from draftmark.dashboards.groups import Group
    from draftmark.dashboards.palette import Look
    from draftmark.results.summary import CellSummary

MAX_CATEGORIES = 40
"""Categories drawn in one chart; the table has them all."""

_TIMES = (
    ("t_draft_exposed", "drafting", "var(--t-draft)", "/"),
    ("t_verify", "verifying", "var(--t-verify)", ""),
    ("t_other", "other", "var(--t-other)", "."),
)


def speedup_reach(groups: Iterable[Group]) -> list[float]:
    """Return every speed-up and interval end of the groups' arms, for an axis that all their charts share."""
    metrics = [value_of(cell, "speedup") for group in groups for cell in (*group.arms, *group.parts)]
    return finite(end for m in metrics if m.value is not None for end in (m.value, m.low, m.high))


def speedup_by_arm(group: Group, style: dict[str, Look], reach: Sequence[float]) -> Chart:
    """Chart each arm's speed-up over all turns with its 95% interval; hollow marks are rough or have no interval."""
    alt = "Speed-up over no speculation by arm, with 95% intervals"
    if not any(value_of(cell, "speedup").value is not None for cell in group.arms):
        return absent(group, alt, [value_of(cell, "speedup") for cell in group.arms])
    return drawn(group, alt, _forest([(label(cell.arm), cell) for cell in group.arms], style, reach, row_height=30))


def speedup_by_category(group: Group, style: dict[str, Look], reach: Sequence[float]) -> Chart:
    """Chart speed-ups category by category, each a heading over a row per arm."""
    alt = "Speed-up over no speculation by category and arm, with 95% intervals"
    points = [cell for cell in group.parts if cell.drafter != "none"]
    if not any(value_of(cell, "speedup").value is not None for cell in points):
        return absent(group, alt, [value_of(cell, "speedup") for cell in points])
    rows: list[_Line] = []
    for category in group.categories[:MAX_CATEGORIES]:
        rows.append((f"<b>{label(category)}</b>", None))
        rows += [(label(cell.arm), cell) for cell in points if cell.category == category]
    left = len(group.categories) - MAX_CATEGORIES
    note = f"{left} more categories are in the table." if left > 0 else None
    return drawn(group, alt, _forest(rows, style, reach, row_height=21), note)


_Line: TypeAlias = "tuple[str, CellSummary | None]"
"""A row of a forest chart: its label, escaped, and its cell; a heading has none."""


def _forest(rows: Sequence[_Line], style: dict[str, Look], reach: Sequence[float], *, row_height: int) -> go.Figure:
    """Draw one mark and interval per row over a line at 1, with the number at the row's end."""
    figure = canvas(
        64 + row_height * len(rows),
        ratio_axis("speed-up", reach),
        rows_axis([name for name, _ in rows]),
        shapes=[rule(1)],
        margin={"l": 8, "r": 46, "t": 8, "b": 8},
    )
    for row, (_, cell) in enumerate(rows):
        if cell is None:
            continue
        metric = value_of(cell, "speedup")
        if metric.value is None:
            said = {"text": "not measured", "x": 0.5, "xref": "paper", "y": row, "showarrow": False}
            figure.add_annotation(**said, hovertext=escaped(metric.reason or "no reason given"))
            continue
        color = f"var({style[cell.arm].color})"
        edge = {"color": color, "width": 1.5}
        figure.add_scatter(
            x=[metric.value],
            y=[row],
            mode="markers",
            marker={"color": color, "symbol": mark(style[cell.arm], metric), "size": 9, "line": edge},
            error_x=whiskers([metric], color),
            hovertext=[hover(cell, "speedup", "acceptance_length", "step_cost_ratio")],
            hoverinfo="text",
        )
        figure.add_annotation(at_row_end(row, number(metric.value, metric.unit)))
    return figure


def step_time(group: Group) -> Chart:
    """Chart the mean decode step of each arm in milliseconds, split into drafting, verifying and the rest.

    An arm whose split was not measured shows its whole step in one piece; the number at the row's end is `tpot` in
    milliseconds, what a token cost in the end.
    """
    alt = "Mean time of a decode step by arm: drafting, verifying, other"
    cells = [cell for cell in group.overall if cell.status != "left out"]
    steps = {cell.arm: value_of(cell, "step_time") for cell in cells}
    known = {cell.arm: [value_of(cell, name).value for name, *_ in _TIMES] for cell in cells}
    split = {arm for arm, times in known.items() if times[1] is not None}
    whole = [arm for arm, metric in steps.items() if arm not in split and metric.value is not None]
    if not split and not whole:
        return absent(group, alt, [*steps.values()])
    figure = canvas(
        72 + 32 * len(cells),
        axis("ms per step", rangemode="tozero", nticks=5, tickangle=0),
        rows_axis([label(cell.arm) for cell in cells]),
        barmode="stack",
        bargap=0.35,
        margin={"l": 8, "r": 52, "t": 8, "b": 8},
    )
    rows = list(range(len(cells)))
    names = [name for name, *_ in _TIMES]
    texts = [hover(cell, "step_time", *names, "t_target") for cell in cells]
    bars = [
        (title, color, pattern, [known[cell.arm][place] for cell in cells])
        for place, (_, title, color, pattern) in enumerate(_TIMES)
    ]
    if whole:
        bars.append(
            ("not split", "var(--t-other)", "x", [steps[c.arm].value if c.arm in whole else None for c in cells])
        )
    for title, color, pattern, seconds in bars:
        figure.add_bar(
            x=[None if value is None else value * 1000 for value in seconds],
            y=rows,
            orientation="h",
            name=title,
            marker={
                "color": color,
                "pattern": {
                    "shape": pattern,
                    "fillmode": "overlay",
                    "fgcolor": "var(--panel)",
                    "fgopacity": 0.6,
                    "size": 6,
                },
            },
            hovertext=texts,
            hoverinfo="text",
        )
    for row, cell in zip(rows, cells, strict=True):
        per_token = value_of(cell, "tpot")
        if per_token.value is not None:
            figure.add_annotation(at_row_end(row, number(per_token.value, per_token.unit)))
    return drawn(group, alt, figure)
