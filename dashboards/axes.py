"""Axes and points that hold up: finite ranges, log only where nothing is zero, thinning that keeps outliers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import plotly.graph_objects as go

MAX_POINTS = 5000
"""Points drawn in one chart; more are thinned, and the true number is printed."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0)


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


def axis(title: str, **settings: Any) -> dict[str, Any]:
    """Return a plotly axis in the page's style."""
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": "var(--grid)",
        "linecolor": "var(--line)",
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        **settings,
    }


def ratio_axis(title: str, values: Iterable[float | None]) -> dict[str, Any]:
    """Return an axis for ratios around 1: logarithmic, or linear from zero where any value is zero or less.

    1 is always in view.
    """
    known = [*finite(values), 1.0]
    low, high = min(known), max(known)
    if low <= 0:
        pad = 0.05 * (high - low)
        return axis(title, type="linear", range=[low - pad, high + pad])
    low, high = min(low / 1.1, 0.8), max(high * 1.1, 1.25)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    return axis(
        title,
        type="log",
        range=[math.log10(low), math.log10(high)],
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{tick:g}" for tick in ticks],
    )


def rows_axis(labels: Sequence[str]) -> dict[str, Any]:
    """Return a vertical axis with one row per label, the first on top; labels are already escaped for plotly."""
    return axis(
        "",
        type="linear",
        range=[len(labels) - 0.5, -0.5],
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=list(labels),
        tickfont={"color": "var(--ink)"},
        showgrid=False,
    )


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
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "var(--muted)", "activecolor": "var(--ink)"},
            "hovermode": "closest",
            "dragmode": False,
            "showlegend": False,
            "xaxis": xaxis,
            "yaxis": yaxis,
            **settings,
        }
    )
