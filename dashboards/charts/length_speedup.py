"""The chart of acceptance length against the speed-up that it brings, over lines of equal overhead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.dashboards.charts.axes import axis, canvas, finite, thinned, thinning_note
from draftmark.dashboards.charts.chart import (
    Chart,
    absent,
    drawn,
    escaped,
    hover,
    mark,
    uncounted,
    unmeasured,
    whiskers,
    without_interval,
)
from draftmark.dashboards.charts.placing import NARROWEST, Box, labels
from draftmark.dashboards.wording import squeezed, value_of
from draftmark.results.roles import speculates

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group
    from draftmark.dashboards.palette import Look
    from draftmark.results.summary import CellSummary, MetricValue

OVERHEADS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Drafting overheads O whose lines AL / (1 + O) are drawn."""

_HEIGHT = 250
"""Of the chart of acceptance length against speed-up between its axes, in pixels."""
_MOST_AVOIDED = 60
"""Small marks that labels keep clear of; among more there is no free place."""
_LABEL = 14
"""Height of a line's label."""
_LONGEST, _SHORTER, _SHORTEST = 22, 15, 11
"""Characters of an arm's name beside its mark: as many of these as there is room for."""
_SMALL = {"size": 10, "color": "var(--muted)"}


def length_against_speedup(group: Group, style: dict[str, Look]) -> Chart:
    """Chart acceptance length against measured speed-up, over lines of equal overhead O: speedup = AL / (1 + O).

    Large marks are arms over all turns, small ones their categories. The farther below the line O = 0 an arm lies,
    the dearer its steps.
    """
    alt = "Acceptance length against speed-up, with lines of equal overhead"
    points = [(cell, value_of(cell, "acceptance_length"), value_of(cell, "speedup")) for cell in group.arms]
    known = [(cell, al, gain) for cell, al, gain in points if al.value is not None and gain.value is not None]
    if not known:
        return absent(group, alt, [metric for _, al, gain in points for metric in (al, gain)])
    parts = [cell for cell in group.parts if speculates(cell)]
    measured = [(cell, value_of(cell, "acceptance_length").value, value_of(cell, "speedup").value) for cell in parts]
    small = [(cell, al, gain) for cell, al, gain in measured if al is not None and gain is not None]
    kept = thinned([gain for _, _, gain in small])
    right = 1.08 * max([*finite(al.value for _, al, _ in known), *finite(al for _, al, _ in small), 1.5])
    top = 1.1 * _highest([gain for _, _, gain in known], [gain for _, _, gain in small])
    lines = _overhead_labels(right, top)
    figure = canvas(
        _HEIGHT + 70,
        axis("acceptance length (AL)", range=[_left(right), right]),
        axis("speed-up", range=[0, top]),
        shapes=[_level(1.0)],
        annotations=[annotation for annotation, _ in lines],
    )
    for overhead in OVERHEADS:
        figure.add_scatter(
            x=[0, right],
            y=[0, right / (1 + overhead)],
            mode="lines",
            line={"color": "var(--line)", "width": 1},
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=[small[index][1] for index in kept],
        y=[small[index][2] for index in kept],
        mode="markers",
        marker={
            "color": [f"var({style[small[index][0].arm].color})" for index in kept],
            "symbol": [mark(style[small[index][0].arm], value_of(small[index][0], "speedup")) for index in kept],
            "size": 5,
            "opacity": 0.55,
        },
        hovertext=[hover(small[index][0], "speedup", "acceptance_length") for index in kept],
        hoverinfo="text",
    )
    width = right - _left(right)
    places = [
        (((al.value or 0.0) - _left(right)) / width, (gain.value or 0.0) / top, _names(cell))
        for cell, al, gain in known
    ]
    whisks = [_whisker(x, gain, top) for (x, *_), (_, _, gain) in zip(places, known, strict=True)]
    specks = [_speck((al - _left(right)) / width, gain / top) for _, al, gain in small[:_MOST_AVOIDED]]
    labelled = labels(places, [box for _, box in lines] + whisks + specks, height=_HEIGHT)
    for (cell, al, gain), label in zip(known, labelled, strict=True):
        color = f"var({style[cell.arm].color})"
        figure.add_scatter(
            x=[al.value],
            y=[gain.value],
            mode="markers+text" if label else "markers",
            text=[escaped(label.text)] if label else None,
            textposition=label.side if label else None,
            cliponaxis=False,
            textfont={"color": "var(--ink)", "size": 11},
            marker={
                "color": color,
                "symbol": mark(style[cell.arm], gain, whole=cell.cell_id not in group.not_counted),
                "size": 10,
                "line": {"color": color, "width": 1.5},
            },
            error_y=whiskers([gain], color),
            hovertext=[hover(cell, "speedup", "acceptance_length", "draft_overhead", "step_cost_ratio")],
            hoverinfo="text",
        )
    missing = unmeasured((cell.arm, metric) for cell, al, gain in points for metric in (al, gain))
    bare = without_interval([gain for _, _, gain in known])
    return drawn(group, alt, figure, thinning_note(len(small), len(kept)), bare, uncounted(group), missing)


def _left(right: float) -> float:
    """Return where the axis of acceptance lengths begins: a little left of 1."""
    return 1 - 0.04 * (right - 1)


def _names(cell: CellSummary) -> tuple[str, ...]:
    """Return what an arm may be called beside its mark, the longest first; each names its drafter."""
    return tuple(dict.fromkeys(squeezed(cell.arm, limit) for limit in (_LONGEST, _SHORTER, _SHORTEST)))


def _highest(arms: list[MetricValue], categories: list[float | None]) -> float:
    """Return the top of the chart: every value is in view, and intervals up to twice the highest value."""
    value = max([*finite(metric.value for metric in arms), *finite(categories), 1.25])
    return max([value, *finite(metric.high for metric in arms if metric.high is not None and metric.high < 2 * value)])


def _whisker(x: float, gain: MetricValue, top: float) -> Box:
    """Return the area that an arm's interval covers; that of its value alone where it has none."""
    value = gain.value or 0.0
    low, high = (gain.low, gain.high) if gain.low is not None and gain.high is not None else (value, value)
    return Box(x * NARROWEST - 4, _HEIGHT * (1 - high / top), x * NARROWEST + 4, _HEIGHT * (1 - low / top))


def _speck(x: float, y: float) -> Box:
    """Return the area of a category's mark; x and y from 0 to 1 as in `labels`."""
    return Box(x * NARROWEST - 3, _HEIGHT * (1 - y) - 3, x * NARROWEST + 3, _HEIGHT * (1 - y) + 3)


def _level(y: float) -> dict[str, Any]:
    line = {"color": "var(--muted)", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y, "line": line}


def _overhead_labels(right: float, top: float) -> list[tuple[dict[str, Any], Box]]:
    """Label the lines where they leave the chart, at the right edge or at the top, as far as there is room.

    Returns each annotation with the area it covers.
    """
    found: list[tuple[dict[str, Any], Box]] = []
    for overhead in OVERHEADS:
        at_right = right / (1 + overhead) <= top * (1 - _LABEL / _HEIGHT)
        x, y = (right, right / (1 + overhead)) if at_right else (min(right, top * (1 + overhead)), top)
        text = f"O={overhead:g}"
        end = NARROWEST * (x - _left(right)) / (right - _left(right))
        level = _HEIGHT * (1 - y / top)
        box = Box(end - 7 * len(text), level - _LABEL * at_right, end, level + _LABEL * (not at_right))
        if any(box.meets(other) for _, other in found):
            continue
        place = {"x": x, "y": y, "xanchor": "right", "yanchor": "bottom" if at_right else "top"}
        found.append(({**place, "text": text, "showarrow": False, "font": _SMALL}, box))
    return found
