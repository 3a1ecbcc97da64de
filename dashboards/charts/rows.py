"""Charts of one row per arm: names at the left while they are short, above their rows otherwise, numbers at the right.

Names and numbers are annotations in margins of a known width, so that no label of any length covers another or eats the
chart, however narrow it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.charts.axes import axis, canvas
from draftmark.dashboards.charts.chart import escaped
from draftmark.dashboards.wording import number, squeezed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from draftmark.results.summary import MetricValue

LONGEST_AT_LEFT = 16
"""Characters of a name that stands at the left of its row; a longer one stands above."""
LONGEST_ABOVE = 40
"""Characters of a name above its row; the narrowest chart has room for so many."""

_CHARACTER = 8
"""Width of a character in pixels, generously; that of a wide one is half as much again."""
_WIDE = frozenset("mwMWQO@%&")
_NUMBERS = 52
"""Width of a column of numbers; one with a heading is wider."""
_HEADED = 56
_NAME = 20
"""Height of a name above its row."""
_FOOT = 46
"""Height of the axis below the rows."""


@dataclass(frozen=True)
class Line:
    """One row: an arm's name, or a heading over those below it."""

    name: str
    heading: bool = False


def rows_canvas(
    lines: Sequence[Line], xaxis: dict[str, Any], *, columns: Sequence[str] = ("",), height: int, above: bool = False
) -> go.Figure:
    """Return an empty chart with its rows named.

    Args:
        lines: The rows from top to bottom; row i is at y = i.
        xaxis: What is measured along the rows.
        columns: Headings of the columns of numbers at the right; one column may go without.
        height: Pixels of a row whose name stands at its left; names above take more.
        above: Whether names stand above their rows even if they are short.
    """
    above = above or any(len(line.name) > LONGEST_AT_LEFT for line in lines if not line.heading)
    widest = max((_width(line.name[:LONGEST_AT_LEFT], bold=line.heading) for line in lines), default=0)
    left = 6 if above else 10 + widest
    headed = any(columns)
    each = height + _NAME if above else height
    wide = _HEADED if headed else _NUMBERS
    figure = canvas(
        24 * headed + each * len(lines) + _FOOT + 8,
        xaxis,
        axis("", range=[len(lines) - 0.5, -0.5], showticklabels=False, showgrid=False, automargin=False),
        margin={"l": left, "r": 4 + wide * len(columns), "t": 8 + 24 * headed, "b": _FOOT},
    )
    figure.update_xaxes(automargin=False)
    for row, line in enumerate(lines):
        figure.add_annotation(_name(row, line, above=above, left=left, each=each))
    for place, text in enumerate(columns):
        if text:
            heading = {"y": 1, "yref": "paper", "yanchor": "bottom", "font": {"size": 11, "color": "var(--muted)"}}
            figure.add_annotation(**_beside(place, wide), **heading, text=escaped(text))
    return figure


def add_numbers(figure: go.Figure, row: int, texts: Sequence[str | None], *, color: str = "var(--ink)") -> None:
    """Write numbers at a row's end, one per column; null leaves a place empty."""
    wide = _NUMBERS if len(texts) == 1 else _HEADED
    for place, text in enumerate(texts):
        if text is not None:
            figure.add_annotation(**_beside(place, wide), y=row, text=text, font={"size": 12, "color": color})


def shown(metric: MetricValue) -> str | None:
    """Return a metric's number as it stands at a row's end; null where it was not measured."""
    return None if metric.value is None else number(metric.value, metric.unit)


def _width(text: str, *, bold: bool) -> int:
    """Return how wide a text is at most, in pixels."""
    narrow = len(text) + sum(character in _WIDE for character in text) / 2
    return round(narrow * (_CHARACTER + bold))


def _name(row: int, line: Line, *, above: bool, left: int, each: int) -> dict[str, Any]:
    text = escaped(squeezed(line.name, LONGEST_ABOVE))
    base = {"x": 0, "xref": "paper", "y": row, "showarrow": False, "font": {"size": 12, "color": "var(--ink)"}}
    if line.heading or above:
        # The ground hides grid lines behind what stands within the plot.
        base |= {"bgcolor": "var(--panel)", "borderpad": 0}
    if line.heading:
        return {**base, "text": f"<b>{text}</b>", "xanchor": "left", "xshift": 2 - left}
    if above:
        return {**base, "text": text, "xanchor": "left", "xshift": -4, "yanchor": "middle", "yshift": each / 2 - 7}
    return {**base, "text": text, "xanchor": "right", "xshift": -4}


def _beside(place: int, wide: int) -> dict[str, Any]:
    """Return where the numbers of a column stand: right-aligned, right of the chart."""
    return {"x": 1, "xref": "paper", "xanchor": "right", "xshift": wide * (place + 1), "showarrow": False}
