"""The charts of acceptance: against the speed-up it brings, against D, and by position in the draft."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.axes import axis, canvas, finite, thinned, thinning_note
from draftmark.dashboards.chart import Chart, absent, drawn, hover, mark, whiskers
from draftmark.dashboards.wording import value_of

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group
    from draftmark.dashboards.palette import Look
    from draftmark.results.summary import CellSummary, MetricValue

OVERHEADS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Drafting overheads O whose lines AL / (1 + O) are drawn."""

_POSITION = re.compile(r"conditional_acceptance\[(\d+)\]")


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
    parts = [cell for cell in group.parts if cell.drafter != "none"]
    small = [(cell, value_of(cell, "acceptance_length").value, value_of(cell, "speedup").value) for cell in parts]
    small = [(cell, al, gain) for cell, al, gain in small if al is not None and gain is not None]
    kept = thinned([gain for _, _, gain in small])
    right = 1.08 * max([*finite(al.value for _, al, _ in known), *finite(al for _, al, _ in small), 1.5])
    top = 1.1 * _highest([gain for _, _, gain in known], [gain for _, _, gain in small])
    figure = canvas(
        320,
        axis("acceptance length (AL)", range=[1 - 0.04 * (right - 1), right]),
        axis("speed-up", range=[0, top]),
        shapes=[_level(1.0)],
        annotations=[_overhead_label(overhead, right, top) for overhead in OVERHEADS],
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
            "symbol": [style[small[index][0].arm].mark for index in kept],
            "size": 5,
            "opacity": 0.55,
        },
        hovertext=[hover(small[index][0], "speedup", "acceptance_length") for index in kept],
        hoverinfo="text",
    )
    sides = _label_sides([cell for cell, _, _ in known])
    for cell, al, gain in known:
        color = f"var({style[cell.arm].color})"
        figure.add_scatter(
            x=[al.value],
            y=[gain.value],
            mode="markers+text",
            text=[f"D={cell.draft_length}"],
            textposition=sides[cell.arm],
            textfont={"color": "var(--ink)", "size": 11},
            marker={
                "color": color,
                "symbol": mark(style[cell.arm], gain),
                "size": 10,
                "line": {"color": color, "width": 1.5},
            },
            error_y=whiskers([gain], color),
            hovertext=[hover(cell, "speedup", "acceptance_length", "draft_overhead", "step_cost_ratio")],
            hoverinfo="text",
        )
    return drawn(group, alt, figure, thinning_note(len(small), len(kept)))


def _highest(arms: list[MetricValue], categories: list[float | None]) -> float:
    """Return the top of the chart: every value is in view, and intervals up to twice the highest value."""
    value = max([*finite(metric.value for metric in arms), *finite(categories), 1.25])
    return max([value, *finite(metric.high for metric in arms if metric.high is not None and metric.high < 2 * value)])


def _label_sides(cells: list[CellSummary]) -> dict[str, str]:
    """Put the labels of one drafter's arms on different sides of their marks: left for the shortest D, else right."""
    shortest: dict[str, int] = {}
    for cell in cells:
        shortest[cell.drafter] = min(cell.draft_length, shortest.get(cell.drafter, cell.draft_length))
    several = {cell.drafter for cell in cells if cell.draft_length > shortest[cell.drafter]}
    left = {c.arm for c in cells if c.drafter in several and c.draft_length == shortest[c.drafter]}
    return {cell.arm: "middle left" if cell.arm in left else "middle right" for cell in cells}


def _level(y: float) -> dict[str, Any]:
    line = {"color": "var(--muted)", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y, "line": line}


def _overhead_label(overhead: float, right: float, top: float) -> dict[str, Any]:
    """Place a line's label where the line leaves the chart: at the right edge, or at the top."""
    leaves_right = right / (1 + overhead) <= top
    return {
        "text": f"O={overhead:g}",
        "x": right if leaves_right else top * (1 + overhead),
        "y": right / (1 + overhead) if leaves_right else top,
        "xanchor": "right",
        "yanchor": "bottom" if leaves_right else "top",
        "showarrow": False,
        "font": {"size": 10, "color": "var(--muted)"},
    }


def length_against_d(group: Group, style: dict[str, Look]) -> Chart:
    """Chart acceptance length against the configured D, one line per drafter, under the bound AL = D + 1."""
    alt = "Acceptance length against draft length D"
    known = [cell for cell in group.arms if value_of(cell, "acceptance_length").value is not None]
    if not known:
        return absent(group, alt, [value_of(cell, "acceptance_length") for cell in group.arms])
    lengths = sorted({cell.draft_length for cell in known})
    top = 1.15 * max(finite(value_of(cell, "acceptance_length").value for cell in known))
    figure = canvas(
        300,
        axis("D, tokens drafted at most", tickmode="array", tickvals=lengths, range=[0, lengths[-1] + 0.8]),
        axis("acceptance length (AL)", range=[0.9, max(top, 1.5)]),
    )
    figure.add_scatter(
        x=[0, lengths[-1] + 1],
        y=[1, lengths[-1] + 2],
        mode="lines",
        line={"color": "var(--line)", "width": 1, "dash": "dash"},
        hovertext="AL = D + 1: everything accepted",
        hoverinfo="text",
    )
    for drafter in dict.fromkeys(cell.drafter for cell in known):
        mine = sorted((cell for cell in known if cell.drafter == drafter), key=lambda cell: cell.draft_length)
        metrics = [value_of(cell, "acceptance_length") for cell in mine]
        color = f"var({style[mine[0].arm].color})"
        figure.add_scatter(
            x=[cell.draft_length for cell in mine],
            y=[metric.value for metric in metrics],
            mode="lines+markers",
            line={"color": color, "width": 1.6},
            marker={"color": color, "symbol": style[mine[0].arm].mark, "size": 9},
            error_y=whiskers(metrics, color),
            hovertext=[hover(cell, "acceptance_length", "drafted_per_step", "coverage") for cell in mine],
            hoverinfo="text",
        )
    return drawn(group, alt, figure)


def acceptance_by_position(group: Group, style: dict[str, Look]) -> Chart:
    """Chart `conditional_acceptance[k]`: of the steps that reached position k and proposed it, the share accepted.

    A position that was never proposed is a gap in the line, not a zero.
    """
    alt = "Conditional acceptance by position in the draft"
    curves = {cell.arm: (cell, _positions(cell)) for cell in group.arms}
    if not any(value_of(cell, name).value is not None for cell, names in curves.values() for name in names):
        named = [
            value_of(cell, name) for cell, names in curves.values() for name in names or ["conditional_acceptance[1]"]
        ]
        return absent(group, alt, named)
    last = max(len(names) for _, names in curves.values())
    figure = canvas(
        300,
        axis("position k in the draft", range=[0.6, last + 0.4], dtick=1 if last <= 16 else None, tickformat="d"),
        axis("accepted, given reached", range=[-0.03, 1.05]),
    )
    for arm, (cell, names) in curves.items():
        look = style[arm]
        figure.add_scatter(
            x=[int(name.partition("[")[2][:-1]) for name in names],
            y=[value_of(cell, name).value for name in names],
            mode="lines+markers",
            connectgaps=False,
            line={"color": f"var({look.color})", "width": 1.6, "dash": look.line},
            marker={"color": f"var({look.color})", "symbol": look.mark, "size": 6},
            hovertext=[hover(cell, name, name.replace("conditional", "joint")) for name in names],
            hoverinfo="text",
        )
    return drawn(group, alt, figure)


def _positions(cell: CellSummary) -> list[str]:
    """Return the cell's conditional acceptance names in order of position."""
    found = [(int(match[1]), name) for name in cell.metrics if (match := _POSITION.fullmatch(name))]
    return [name for _, name in sorted(found)]
