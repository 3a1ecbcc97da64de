"""The chart of where a step's time goes: drafting, verifying, the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.charts.axes import axis, finite
from draftmark.dashboards.charts.chart import Chart, absent, drawn, hover, unmeasured
from draftmark.dashboards.charts.rows import Line, add_numbers, rows_canvas, shown
from draftmark.dashboards.wording import value_of

if TYPE_CHECKING:
    from draftmark.dashboards.groups import Group

_TIMES = (
    ("t_draft_exposed", "drafting", "var(--t-draft)", "/"),
    ("t_verify", "verifying", "var(--t-verify)", ""),
    ("t_other", "other", "var(--t-other)", "."),
)


def step_time(group: Group) -> Chart:
    """Chart the mean decode step of each arm in milliseconds, split into drafting, verifying and the rest.

    At the row's end: how long the step takes, how many tokens it yields, and what a token costs (`tpot`). An arm whose
    split was not measured shows its whole step in one piece.
    """
    alt = "Mean time of a decode step by arm: drafting, verifying, other"
    steps = {cell.arm: value_of(cell, "step_time") for cell in group.overall}
    times = {cell.arm: [value_of(cell, name).value for name, *_ in _TIMES] for cell in group.overall}
    split = {arm for arm, parts in times.items() if parts[1] is not None}
    cells = [cell for cell in group.overall if cell.arm in split or steps[cell.arm].value is not None]
    if not cells:
        return absent(group, alt, [*steps.values()])
    figure = rows_canvas(
        [Line(cell.arm) for cell in cells],
        axis("ms per step", rangemode="tozero"),
        columns=("ms/step", "tokens", "ms/token"),
        height=26,
        above=True,
    )
    figure.update_layout(barmode="stack", bargap=0.72)
    bars = [
        (title, color, pattern, [times[cell.arm][place] for cell in cells])
        for place, (_, title, color, pattern) in enumerate(_TIMES)
    ]
    whole = [None if cell.arm in split else steps[cell.arm].value for cell in cells]
    if finite(whole):
        bars.append(("not split", "var(--t-other)", "x", whole))
    texts = [hover(cell, "step_time", *(name for name, *_ in _TIMES), "t_target") for cell in cells]
    for title, color, pattern, seconds in bars:
        figure.add_bar(
            x=[None if value is None else value * 1000 for value in seconds],
            y=list(range(len(cells))),
            orientation="h",
            name=title,
            marker={"color": color, "pattern": _pattern(pattern)},
            hovertext=texts,
            hoverinfo="text",
        )
    for row, cell in enumerate(cells):
        columns = ("step_time", "acceptance_length", "tpot")
        add_numbers(figure, row, [shown(value_of(cell, name)) for name in columns])
    return drawn(group, alt, figure, unmeasured((arm, metric) for arm, metric in steps.items() if arm not in split))


def _pattern(shape: str) -> dict[str, object]:
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "var(--panel)", "fgopacity": 0.6, "size": 6}
