"""Where acceptance comes from, as tables for the terminal: one per suite, a line per place and arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from draftmark.bench.reporting.display import harmless
from draftmark.bench.reporting.run_table import BOUND, DASH, ROUGH, heading, is_bound, lamps, rough, title
from draftmark.results.acceptance_places import places_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from draftmark.results.acceptance_places import Kind, Place, Places
    from draftmark.results.summary import MetricValue, RunSummary

HEADINGS: dict[Kind | None, str] = {
    None: "",
    "category": "by category",
    "context": "by context length",
    "output": "by output position",
    "part": "thinking and answer",
}
_LEGEND = "AL: tokens that a step yields. Context length: tokens of prompt and output before the step."
_FEW = "No interval: too few conversations."


def acceptance_lines(summary: RunSummary) -> list[RenderableType]:
    """Return what `show --acceptance` prints, top to bottom."""
    parts: list[RenderableType] = [heading(summary), *lamps(summary)]
    shown: list[MetricValue] = []
    for group in dict.fromkeys(cell.group for cell in summary.cells):
        cells = [cell for cell in summary.cells if cell.group == group]
        places = places_of(cells)
        shown += [metric for row in places.rows for metric in row.values.values() if metric.value is not None]
        parts += ["", title(cells[0]), *([_table(places)] if places.rows else []), *_missing(places)]
    return [*parts, "", *(Text(line, style="dim") for line in _legend(shown))]


def _legend(shown: list[MetricValue]) -> list[str]:
    """Explain the words of the tables, and those marks that stand in one."""
    few = any(metric.low is None and "are needed" in (metric.note or "") for metric in shown)
    marks = ((_FEW, few), (BOUND, any(map(is_bound, shown))), (ROUGH, any(map(rough, shown))))
    return [_LEGEND, *(text for text, used in marks if used)]


def _table(places: Places) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    for name in ("where", "arm", "AL", "95% interval", "steps"):
        table.add_column(name, justify="left" if name in {"where", "arm"} else "right")
    kind = None
    for row in places.rows:
        if row.kind != kind:
            kind = row.kind
            table.add_row(Text(HEADINGS[kind], style="dim"))
        for line in _lines(row, places):
            table.add_row(*line)
    return table


def _lines(row: Place, places: Places) -> list[tuple[Text, ...]]:
    """Return a line per arm; the place's name stands before the first."""
    found = [(arm.arm, row.values[arm.cell_id]) for arm in places.arms if arm.cell_id in row.values]
    name = harmless(row.label if row.kind is None else f"  {row.label}")
    return [
        (Text("" if place else name), Text(harmless(arm)), *(Text(text) for text in _numbers(metric)))
        for place, (arm, metric) in enumerate(found)
    ]


def _numbers(metric: MetricValue) -> tuple[str, str, str]:
    if metric.value is None:
        return DASH, DASH, DASH
    interval = DASH
    if metric.low is not None and metric.high is not None:
        interval = f"[{metric.low:.2f}, {metric.high:.2f}]{rough(metric)}"
    return f"{'~' * is_bound(metric)}{metric.value:.2f}", interval, f"{metric.n:,}"


def _missing(places: Places) -> list[Text]:
    """Say what has no number, and why."""
    if not places.arms:
        return [Text("no arm that speculates was measured", style="dim")]
    found = []
    for kind, arm, reason in places.missing:
        what = ", ".join(part for part in (arm, HEADINGS[kind]) if part) or "acceptance length"
        found.append(Text(harmless(f"{what}: not measured ({reason})"), style="dim"))
    return found
