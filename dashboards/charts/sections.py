"""The charts of the page in reading order, each with the sentence that says how to read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from draftmark.dashboards.charts.acceptance import acceptance_by_position, length_against_d
from draftmark.dashboards.charts.length_speedup import length_against_speedup
from draftmark.dashboards.charts.speedup import speedup_by_arm, speedup_by_category, speedup_reach
from draftmark.dashboards.charts.step_time import step_time
from draftmark.dashboards.groups import groups_of
from draftmark.dashboards.palette import Look, looks
from draftmark.dashboards.wording import NOT_MEASURED, listed

if TYPE_CHECKING:
    from draftmark.dashboards.charts.chart import Chart
    from draftmark.results.summary import RunSummary


@dataclass(frozen=True)
class Section:
    """One heading with a chart per comparison group and the keys to its colours, marks and lines."""

    id: str
    title: str
    reading: str
    charts: tuple[Chart, ...]
    """Those with something to draw."""
    missing: tuple[str, ...] = ()
    """Sentences about groups that have nothing to draw."""
    keys: tuple[tuple[str, Look], ...] = ()
    """Keys of arms or drafters; empty where the chart's rows name them."""
    parts: tuple[tuple[str, str], ...] = ()
    """Keys of the parts of a step: name and pattern class."""


def sections(summary: RunSummary) -> list[Section]:
    """Return the page's chart sections for a run."""
    groups = [group for group in groups_of(summary) if group.overall]
    style = looks(cell for group in groups for cell in (*group.overall, *group.parts))
    reach = speedup_reach(groups)
    ran = [cell for group in groups for cell in group.arms if cell.status != "left out"]
    arms = tuple({cell.arm: style[cell.arm] for cell in ran}.items())
    drafters = tuple({cell.drafter: replace(style[cell.arm], line="solid") for cell in ran}.items())
    found = [
        _section(
            "speedup",
            "Speed-up",
            "Time per token without speculation over that with it, measured prompt by prompt: 2 is twice the tokens in "
            "the same time. An arm whose 95% interval crosses 1 has not been shown to help or to harm; hollow marks "
            "are rough, do not count, or have no interval, in which case their numbers are in brackets.",
            [speedup_by_arm(group, style, reach) for group in groups],
        ),
        _section(
            "length-speedup",
            "Acceptance length is not speed-up",
            "Lines are AL / (1 + O), the speed-up that an acceptance length buys when drafting and dearer verification "
            "cost O plain steps. Far right and low: accepts much, and pays for it. Small marks are categories; "
            "hollow ones are rough or have no interval.",
            [length_against_speedup(group, style) for group in groups],
            keys=drafters,
        ),
        _section(
            "step-time",
            "Where a step's time goes",
            "Mean decode step of each arm in ms. Beside it: how long a step takes, how many tokens it yields, and so "
            "what a token costs. Compare the verifying part with that of no speculation: the difference is what D + 1 "
            "tokens instead of one cost the target.",
            [step_time(group) for group in groups],
            parts=(("drafting", "draft"), ("verifying", "verify"), ("other", "other")),
        ),
        _section(
            "length-d",
            "Acceptance length against D",
            "The dashed line is AL = D + 1, where every draft is accepted. Where a curve is flat, a smaller D loses "
            "nothing.",
            [length_against_d(group, style) for group in groups],
            keys=drafters,
        ),
        _section(
            "positions",
            "Acceptance by position",
            "Of the steps that got as far as position k of the draft and proposed it, the share that had it accepted. "
            "Positions never proposed are gaps.",
            [acceptance_by_position(group, style) for group in groups],
            keys=arms,
        ),
    ]
    if any(len(group.categories) > 1 for group in groups):
        by_category = _section(
            "categories",
            "Speed-up by category",
            "As above, for each kind of prompt. Fewer conversations stand behind each number, so intervals are wider, "
            "and below 8 conversations there is none: such marks are hollow and pale, their numbers in brackets.",
            [speedup_by_category(group, style, reach) for group in groups],
        )
        found.insert(1, by_category)
    return found


def _section(
    name: str,
    title: str,
    reading: str,
    charts: list[Chart],
    *,
    keys: tuple[tuple[str, Look], ...] = (),
    parts: tuple[tuple[str, str], ...] = (),
) -> Section:
    """Return a section whose groups without a number share one sentence per reason instead of an empty chart each."""
    shown = tuple(chart for chart in charts if chart.figure is not None)
    alike: dict[str, list[str]] = {}
    for chart in charts:
        if chart.missing is not None:
            alike.setdefault(chart.missing, []).append(chart.title)
    said = [
        f"{NOT_MEASURED}: {reason if len(titles) == len(charts) else f'{listed(titles)} ({reason})'}"
        for reason, titles in alike.items()
    ]
    missing = tuple(said) if charts else (f"{NOT_MEASURED}: this run has no arm",)
    return Section(name, title, reading, shown, missing, keys if shown else (), parts if shown else ())
