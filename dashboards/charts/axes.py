"""Axes and points that hold up: finite ranges, log only where nothing is zero, labels that fit, outliers kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

MAX_POINTS = 5000
"""Points drawn in one chart; more are thinned, and the true number is printed."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

MOST_TICKS = 6
"""Labels on one axis; the narrowest chart has room for so many."""

_RATIOS = (1, 0.5, 2, 0.25, 4, 0.1, 10, 0.01, 100, 1.5, 0.7, 3, 0.2, 5, 0.8, 1.25, 0.9, 1.1, 20, 50, 1000)
"""Ratios that may be labelled, the most wanted first."""


def finite(values: Iterable[float | None]) -> list[float]:
    """Return the values that can be drawn: neither null nor NaN nor infinite."""
    return [value for value in values if value is not None and math.isfinite(value)]


def thinned(values: Sequence[float | None], limit: int = MAX_POINTS) -> list[int]:
    """Choose at most `limit` indices of a long series, in order: of each stretch the smallest and the largest value.

    The largest and smallest of all are therefore always kept. Nulls are dropped when anything is dropped.
    """
    if len(values) <= limit:
        return list(range(len(values)))
    stretches = max(1, limit // 2)
    kept: set[int] = set()
    for stretch in range(stretches):
        start, end = stretch * len(values) // stretches, (stretch + 1) * len(values) // stretches
        known = [(value, index) for index in range(start, end) if (value := values[index]) is not None]
        if known:
            kept |= {min(known)[1], max(known)[1]}
    return sorted(kept)


def thinning_note(total: int, drawn: int) -> str | None:
    """Say how many points there are in truth when fewer are drawn."""
    if drawn == total:
        return None
    return f"{drawn:,} of {total:,} points drawn; the largest and smallest are among them."


def spread_out(wanted: Iterable[float], low: float, high: float, *, most: int = MOST_TICKS) -> list[float]:
    """Choose, in the order of `wanted`, values between `low` and `high` that stand apart by at least 1/`most` of it."""
    gap = (high - low) / most
    kept: list[float] = []
    for value in wanted:
        if low <= value <= high and all(abs(value - other) >= gap for other in kept):
            kept.append(value)
    return sorted(kept)


def axis(title: str, **settings: Any) -> dict[str, Any]:
    """Return a plotly axis in the page's style, its labels upright and few enough to stand side by side."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": "var(--grid)",
        "linecolor": "var(--line)",
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        "tickangle": 0,
        "nticks": MOST_TICKS,
        **settings,
    }


def ratio_axis(title: str, values: Iterable[float | None]) -> dict[str, Any]:
    """Return an axis for ratios around 1: logarithmic, or linear from zero where any value is zero or less.

    1 is always in view, and every value stands off the ends.
    """
    known = [*finite(values), 1.0]
    low, high = min(known), max(known)
    if low <= 0:
        pad = 0.05 * (high - low)
        return axis(title, type="linear", range=[low - pad, high + pad])
    ends = math.log10(min(low, 0.85)), math.log10(max(high, 1.2))
    pad = 0.06 * (ends[1] - ends[0])
    span = ends[0] - pad, ends[1] + pad
    ticks = spread_out((math.log10(ratio) for ratio in _RATIOS), *span)
    return axis(
        title,
        type="log",
        range=list(span),
        tickmode="array",
        tickvals=[10**tick for tick in ticks],
        ticktext=[f"{10**tick:.4g}" for tick in ticks],
    )


def counts_axis(title: str, counts: Sequence[int], *, low: float, high: float) -> dict[str, Any]:
    """Return an axis from `low` to `high` that labels whole numbers: the first, the last, and those with room."""
    wanted = [counts[0], counts[-1], *counts[1:-1]]
    ticks = spread_out(wanted, low, high, most=2 * MOST_TICKS)
    return axis(title, range=[low, high], tickmode="array", tickvals=ticks)


def canvas(height: int, xaxis: dict[str, Any], yaxis: dict[str, Any], **settings: Any) -> go.Figure:
    """Return an empty figure in the page's style; its colours are names of CSS variables, resolved in the page."""
    import plotly.graph_objects as go

    return go.Figure(
        layout={
            "template": "none",
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 10, "b": 8},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 12, "color": "var(--muted)"},
            "hoverlabel": {
                "bgcolor": "var(--panel)",
                "bordercolor": "var(--line)",
                "font": {"family": FONT, "size": 12, "color": "var(--ink)"},
                "align": "left",
            },
            "hovermode": "closest",
            "dragmode": False,
            "showlegend": False,
            "xaxis": xaxis,
            "yaxis": yaxis,
            **settings,
        }
    )
