"""The charts of acceptance: against D, and by position in the draft."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from draftmark.dashboards.charts.axes import axis, canvas, counts_axis, finite
from draftmark.dashboards.charts.chart import Chart, absent, drawn, hover, mark, unmeasured, whiskers
from draftmark.dashboards.wording import value_of

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group
    from draftmark.dashboards.palette import Look
    from draftmark.results.summary import CellSummary

_POSITION = re.compile(r"conditional_acceptance\[(\d+)\]")


def length_against_d(group: Group, style: dict[str, Look]) -> Chart:
    """Chart acceptance length against the configured D, one line per drafter, under the bound AL = D + 1.

    A line joins arms that differ in D alone: two heads of one kind are two lines.
    """
    alt = "Acceptance length against draft length D"
    known = [cell for cell in group.arms if value_of(cell, "acceptance_length").value is not None]
    if not known:
        return absent(group, alt, [value_of(cell, "acceptance_length") for cell in group.arms])
    lengths = sorted({cell.draft_length for cell in known})
    found = [value_of(cell, "acceptance_length") for cell in known]
    highest = max(finite(metric.value for metric in found))
    top = 1.06 * max([1.5, highest, *finite(m.high for m in found if m.high is not None and m.high < 2 * highest)])
    right = lengths[-1] + 0.8
    lines: dict[str, list[CellSummary]] = {}
    for cell in sorted(known, key=lambda cell: cell.draft_length):
        lines.setdefault(cell.arm.replace(f"D={cell.draft_length}", "D", 1), []).append(cell)
    figure = canvas(
        300,
        counts_axis("D, tokens drafted at most", lengths, low=0, high=right),
        axis("acceptance length (AL)", range=[0.9, top]),
    )
    figure.add_scatter(
        x=[0, lengths[-1] + 1],
        y=[1, lengths[-1] + 2],
        mode="lines",
        line={"color": "var(--line)", "width": 1, "dash": "dash"},
        hovertext="AL = D + 1: everything accepted",
        hoverinfo="text",
    )
    for place, mine in enumerate(lines.values()):
        aside = 0.016 * right * (place - (len(lines) - 1) / 2)  # so that whiskers at one D stand side by side
        metrics = [value_of(cell, "acceptance_length") for cell in mine]
        color = f"var({style[mine[0].arm].color})"
        figure.add_scatter(
            x=[cell.draft_length + aside for cell in mine],
            y=[metric.value for metric in metrics],
            mode="lines+markers",
            line={"color": color, "width": 1.6},
            marker={"color": color, "symbol": [mark(style[mine[0].arm], m) for m in metrics], "size": 9},
            error_y=whiskers(metrics, color),
            hovertext=[hover(cell, "acceptance_length", "drafted_per_step", "coverage") for cell in mine],
            hoverinfo="text",
        )
    return drawn(group, alt, figure, unmeasured((c.arm, value_of(c, "acceptance_length")) for c in group.arms))


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
        counts_axis("position k in the draft", range(1, last + 1), low=0.6, high=last + 0.4),
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
    firsts = [(arm, value_of(cell, "conditional_acceptance[1]")) for arm, (cell, _) in curves.items()]
    return drawn(group, alt, figure, unmeasured(firsts))


def _positions(cell: CellSummary) -> list[str]:
    """Return the cell's conditional acceptance names in order of position."""
    found = [(int(match[1]), name) for name in cell.metrics if (match := _POSITION.fullmatch(name))]
    return [name for _, name in sorted(found)]
