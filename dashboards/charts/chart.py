"""What one chart is, and the pieces that all charts share: escaped names, hover texts, whiskers, marks."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.wording import (
    NOT_MEASURED,
    interval,
    is_rough,
    listed,
    number,
    provenance,
    shortened,
    squeezed,
    unit_on_screen,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

    from draftmark.dashboards.groups import Group
    from draftmark.dashboards.palette import Look
    from draftmark.results.summary import CellSummary, MetricValue

_HOVER_WIDTH = 40
_REASON = 160


@dataclass(frozen=True)
class Chart:
    """One chart: a plotly figure as plain JSON values, or `missing`, the reasons why there is none."""

    title: str
    alt: str
    figure: dict[str, Any] | None
    missing: str | None = None
    notes: tuple[str, ...] = ()
    """What is not in the picture: thinned points, arms without a number."""


def drawn(group: Group, alt: str, figure: go.Figure, *notes: str | None) -> Chart:
    """Return a group's figure as a chart."""
    return Chart(
        group.label, f"{alt}, {group.label}", figure.to_plotly_json(), notes=tuple(note for note in notes if note)
    )


def absent(group: Group, alt: str, metrics: Iterable[MetricValue]) -> Chart:
    """Return the chart of a group that has no number to draw, with the reasons its metrics give."""
    reasons = list(dict.fromkeys(metric.reason or "no reason given" for metric in metrics if metric.value is None))
    return Chart(group.label, f"{alt}, {group.label}", None, missing=listed(reasons) or "no such arm was run")


def unmeasured(named: Iterable[tuple[str, MetricValue]]) -> str | None:
    """Say which of the named metrics have no value, reason by reason; null where all have one."""
    alike: dict[str, list[str]] = {}
    for name, metric in named:
        if metric.value is None:
            alike.setdefault(metric.reason or "no reason given", []).append(name)
    said = [f"{listed(list(dict.fromkeys(names)))} ({shortened(reason, _REASON)})" for reason, names in alike.items()]
    return f"{NOT_MEASURED}: {'; '.join(said)}" if said else None


def escaped(name: object) -> str:
    """Escape a name for plotly, which reads a subset of HTML in its texts."""
    return html.escape(str(name), quote=False)


def label(name: str) -> str:
    """Return a name short enough for a hover text, escaped."""
    return escaped(squeezed(name, _HOVER_WIDTH))


def hover(cell: CellSummary, *names: str) -> str:
    """Write what a point tells on hover: arm, category, the named metrics, and what stands behind the first of them."""
    lines = [f"<b>{label(cell.arm)}</b>"]
    if cell.category:
        lines.append(label(cell.category))
    for name in names:
        metric = value_of(cell, name)
        shown = NOT_MEASURED if metric.value is None else number(metric.value, metric.unit)
        unit = "" if metric.value is None else unit_on_screen(metric.unit)
        lines.append(escaped(" ".join(f"{name.replace('_', ' ')}: {shown} {unit} {interval(metric) or ''}".split())))
    first = value_of(cell, names[0])
    behind = provenance(first) if first.value is not None else first.reason or "no reason given"
    lines += [escaped(line) for line in textwrap.wrap(behind, _HOVER_WIDTH)]
    return "<br>".join(lines)


def whiskers(metrics: Sequence[MetricValue], color: str) -> dict[str, Any]:
    """Return plotly's error bars for 95% intervals; a value without an interval has none."""
    above = [None if m.high is None or m.value is None else m.high - m.value for m in metrics]
    below = [None if m.low is None or m.value is None else m.value - m.low for m in metrics]
    return {
        "type": "data",
        "array": above,
        "arrayminus": below,
        "color": color,
        "thickness": 1.6,
        "width": 4,
        "visible": any(bar is not None for bar in above),
    }


def mark(look: Look, metric: MetricValue, *, whole: bool = True) -> str:
    """Return the arm's mark, hollow where its interval is rough or missing, or the arm is not `whole`."""
    return f"{look.mark}-open" if is_rough(metric) or metric.high is None or not whole else look.mark


def uncounted(group: Group) -> str | None:
    """Say which of the arms in a chart do not count, and why; null where all do."""
    alike: dict[str, list[str]] = {}
    for cell in group.overall:
        if cell.cell_id in group.not_counted and cell.turns_ok:
            alike.setdefault(group.not_counted[cell.cell_id], []).append(cell.arm)
    said = [f"{listed(arms)} ({reason})" for reason, arms in alike.items()]
    return f"hollow, since not counted: {'; '.join(said)}" if said else None


def without_interval(metrics: Sequence[MetricValue]) -> str | None:
    """Say how many of a chart's numbers have no interval, and that they are drawn hollow; null where all have one."""
    bare = [metric for metric in metrics if metric.value is not None and metric.high is None]
    if not bare:
        return None
    if len(bare) == len(metrics):
        return "no number here has an interval, so each may be chance: drawn hollow"
    return f"{len(bare)} of {len(metrics)} numbers have no interval: drawn hollow"


def rule(x: float) -> dict[str, Any]:
    """Return a dotted vertical line across the chart."""
    line = {"color": "var(--muted)", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}
