"""What the page says first: for each suite, which arm pays, by how much, how sure that is, and why the others do not.

An arm pays when its whole 95% interval of `speedup` lies above 1. Nothing pays when every arm's interval ends below
`MATERIAL_GAIN`. Between the two, or without intervals, the run cannot tell. An arm whose output differs from the
baseline's beyond the control, or whose engine was lost, never counts as paying.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.dashboards.answer.reasons import what_a_step_is, why_not_the_longest, why_slower
from draftmark.dashboards.answer.sureness import sureness
from draftmark.dashboards.groups import Group, groups_of
from draftmark.dashboards.wording import interval, listed, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.summary import CellSummary, Lamp, MetricValue, RunSummary

MATERIAL_GAIN = 1.05
"""An interval that includes 1 and reaches above this leaves open a gain worth having."""

VERDICTS = {"pays": "pays", "nothing": "nothing pays here", "unclear": "cannot tell"}
"""Outcomes in words."""


@dataclass(frozen=True)
class Answer:
    """One suite's answer, in the parts a page sets apart; `sentence` joins them."""

    scope: str
    outcome: Literal["pays", "nothing", "unclear"]
    headline: str
    details: tuple[str, ...] = ()
    """What a reader would ask next: what a step yields and costs, which others pay too, and why the rest lose."""
    sureness: tuple[str, ...] = ()
    """What the interval stands on and what it does not hold."""

    @property
    def sentence(self) -> str:
        """The whole answer as one sentence."""
        verdict = "" if self.outcome == "pays" else f"{VERDICTS[self.outcome]}: "
        return f"{self.scope}: {verdict}{'; '.join([self.headline, *self.details])}"


def answers(summary: RunSummary) -> list[Answer]:
    """Return one answer per comparison group, in the run's order."""
    return [answer(group, lamps=summary.lamps) for group in groups_of(summary) if group.overall]


def answer(group: Group, *, lamps: Sequence[Lamp] = ()) -> Answer:
    """Answer for one group.

    Args:
        group: The arms to choose from.
        lamps: The run's lamps; those that put the answer in doubt are named beside it.
    """
    measured = [cell for cell in group.arms if _speedup(cell).value is not None]
    lossy = [cell for cell in measured if cell.cell_id in group.not_counted and cell.cell_id not in group.lost]
    counted = (cell for cell in measured if cell.cell_id not in group.not_counted)
    sound = sorted(counted, key=_gain, reverse=True)
    paying = [cell for cell in sound if (_speedup(cell).low or 0) > 1]
    asides = _lossy(lossy, group) + _lost(group) + _left_out(group)
    if paying:
        best = paying[0]
        return Answer(
            scope=group.label,
            outcome="pays",
            headline=f"{best.arm} is {_times(best)} the speed of no speculation {interval(_speedup(best))}",
            details=(
                *_whole_answers(best),
                *what_a_step_is(best),
                *_others(best, paying, sound),
                *_losers(best, sound),
                *asides,
            ),
            sureness=sureness(best, group, lamps, rivals=len(sound)),
        )
    if not sound:
        return Answer(group.label, "unclear", _why_unmeasured(group, lossy), asides)
    best = sound[0]
    undecided = [cell for cell in sound if _speedup(cell).high is None or (_speedup(cell).high or 0) >= MATERIAL_GAIN]
    spoken = undecided[0] if undecided else best
    return Answer(
        scope=group.label,
        outcome="unclear" if undecided else "nothing",
        headline=_unclear(spoken) if undecided else _nothing(spoken),
        details=(*what_a_step_is(spoken), *_losers(spoken, sound), *asides),
        sureness=sureness(spoken, group, lamps),
    )


def _whole_answers(best: CellSummary) -> tuple[str, ...]:
    """Say what is left of the gain once prefill is counted: the speed above is that of decoding."""
    found = value_of(best, "e2e_speedup")
    if found.value is None:
        return ()
    times = f"{found.value:.2f}x as fast {interval(found)}"
    return (f"that is decoding; whole answers of equal length, prefill included, come {times}",)


def _losers(best: CellSummary, sound: list[CellSummary]) -> tuple[str, ...]:
    return (*why_not_the_longest(best, sound), *why_slower(best, sound))


def _speedup(cell: CellSummary) -> MetricValue:
    return value_of(cell, "speedup")


def _gain(cell: CellSummary) -> float:
    return _speedup(cell).value or 0.0


def _times(cell: CellSummary) -> str:
    return f"{_gain(cell):.2f}x"


def _nothing(best: CellSummary) -> str:
    measured = f"{_times(best)} the speed of no speculation {interval(_speedup(best))}"
    return f"the best arm, {best.arm}, is {measured}"


def _unclear(cell: CellSummary) -> str:
    metric = _speedup(cell)
    measured = f"{cell.arm} measures {_times(cell)} the speed of no speculation"
    if metric.high is None:
        return f"{measured}, without an interval ({metric.note or metric.reason or 'no reason given'})"
    return f"{measured}, but its interval {interval(metric)} leaves open whether it helps"


def _why_unmeasured(group: Group, lossy: list[CellSummary]) -> str:
    if lossy:
        return "the only arms with a measured speed-up change the output"
    if not group.arms:
        return "no speculating arm was run"
    if group.baseline is None:
        return "there is no arm without speculation to compare with"
    if all(cell.cell_id in group.lost for cell in group.arms):
        return "every speculating arm lost its engine"
    reasons = dict.fromkeys(_speedup(cell).reason or "no reason given" for cell in group.arms)
    return f"speed-up was not measured ({listed(list(reasons), 2)})"


def _others(best: CellSummary, paying: list[CellSummary], sound: list[CellSummary]) -> list[str]:
    """Name the other arms that pay, and one that measures more without proof."""
    said = []
    if paying[1:]:
        more = [f"{cell.arm} ({_times(cell)})" for cell in paying[1:]]
        said.append(f"{listed(more)} {'pay' if len(more) > 1 else 'pays'} too")
    above = [cell for cell in sound if _gain(cell) > _gain(best)]
    if above:
        said.append(f"{above[0].arm} measures more, {_times(above[0])}, but its interval does not lie above 1")
    return said


def _lossy(lossy: list[CellSummary], group: Group) -> tuple[str, ...]:
    return tuple(
        f"{cell.arm} measures {_times(cell)} but {group.not_counted[cell.cell_id]}, so it does not count"
        for cell in lossy
    )


def _lost(group: Group) -> tuple[str, ...]:
    gone = [cell.arm for cell in group.arms if cell.cell_id in group.lost]
    if not gone:
        return ()
    return (f"{listed(gone)} lost {'their engines and do' if len(gone) > 1 else 'its engine and does'} not count",)


def _left_out(group: Group) -> tuple[str, ...]:
    gone = [cell.arm for cell in group.arms if cell.status == "left out"]
    return (f"{listed(gone)} {'were' if len(gone) > 1 else 'was'} left out",) if gone else ()
