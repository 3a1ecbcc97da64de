"""What the page says first: for each suite, which arm pays, by how much, how sure that is, and why the others do not.

An arm pays when its whole 95% interval of `speedup` lies above 1. Nothing pays when every arm's interval ends below
`MATERIAL_GAIN`. Between the two, or without intervals, the run cannot tell. An arm whose output differs from the
baseline's beyond the control never counts as paying.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.dashboards.groups import Group, groups_of
from draftmark.dashboards.wording import interval, listed, value_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from draftmark.results.summary import CellSummary, Lamp, MetricValue, RunSummary

MATERIAL_GAIN = 1.05
"""An interval that includes 1 and reaches above this leaves open a gain worth having."""

VERDICTS = {"pays": "pays", "nothing": "nothing pays here", "unclear": "cannot tell"}
"""Outcomes in words."""

_SUBJECTS = {
    "speculation": "speculation",
    "baseline": "the baseline",
    "losslessness": "the output",
    "client": "the client",
    "launches": "launches",
    "identities": "the engine's counts",
    "values": "values",
}

_TELLING_COST = 0.2
"""A cost is named as a reason from this share of a plain step on."""


@dataclass(frozen=True)
class Answer:
    """One suite's answer, in the parts a page sets apart; `sentence` joins them."""

    scope: str
    outcome: Literal["pays", "nothing", "unclear"]
    headline: str
    details: tuple[str, ...] = ()
    """What a reader would ask next: why the arm that accepts most is not the fastest, which others pay too."""
    sureness: tuple[str, ...] = ()
    """What the interval stands on and what it does not hold."""

    @property
    def sentence(self) -> str:
        """The whole answer as one sentence."""
        verdict = "" if self.outcome == "pays" else f"{VERDICTS[self.outcome]}: "
        return f"{self.scope}: {verdict}{'; '.join([self.headline, *self.details])}"


def answers(summary: RunSummary) -> list[Answer]:
    """Return one answer per comparison group, in the run's order."""
    everyone = [cell.cell_id for cell in summary.cells]
    faults = [lamp for lamp in summary.lamps if lamp.name == "losslessness" and lamp.level == "fault"]
    faulty = {cell for lamp in faults for cell in lamp.cells or everyone}
    return [answer(group, faulty=faulty, lamps=summary.lamps) for group in groups_of(summary) if group.overall]


def answer(group: Group, *, faulty: Collection[str] = (), lamps: Sequence[Lamp] = ()) -> Answer:
    """Answer for one group.

    Args:
        group: The arms to choose from.
        faulty: Ids of cells whose output is wrong.
        lamps: The run's lamps; those that put the answer in doubt are named beside it.
    """
    measured = [cell for cell in group.arms if _speedup(cell).value is not None]
    lossy = [cell for cell in measured if cell.cell_id in faulty]
    sound = sorted((cell for cell in measured if cell.cell_id not in faulty), key=_gain, reverse=True)
    paying = [cell for cell in sound if (_speedup(cell).low or 0) > 1]
    asides = _lossy(lossy) + _left_out(group)
    if paying:
        best = paying[0]
        return Answer(
            scope=group.label,
            outcome="pays",
            headline=f"{best.arm} is {_times(best)} the speed of no speculation {interval(_speedup(best))}",
            details=(*_others(best, paying, sound), *_why_not_the_longest(best, sound), *asides),
            sureness=(*_sureness(best), *_choice(len(sound)), *_doubts(group, best, lamps)),
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
        details=(*_why_not_the_longest(spoken, sound), *asides),
        sureness=(*_sureness(spoken), *_doubts(group, spoken, lamps)),
    )


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
    return f"{measured}, but its interval {interval(metric)} reaches from below 1 to above {MATERIAL_GAIN}"


def _why_unmeasured(group: Group, lossy: list[CellSummary]) -> str:
    if lossy:
        return "the only arms with a measured speed-up change the output"
    if not group.arms:
        return "no speculating arm was run"
    if group.baseline is None:
        return "there is no arm without speculation to compare with"
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


def _why_not_the_longest(best: CellSummary, sound: list[CellSummary]) -> list[str]:
    """Say why the arm with the highest acceptance length is not the fastest, if it is not."""
    lengths = {cell.arm: value_of(cell, "acceptance_length").value or 0.0 for cell in sound}
    longest = max(sound, key=lambda cell: lengths[cell.arm])
    loses = (_speedup(longest).high or _gain(longest)) < 1
    if lengths[longest.arm] <= 1 or (_gain(longest) >= _gain(best) and not loses):
        return []
    accepts = f"accepts most (AL {lengths[longest.arm]:.2f})"
    cost = _cost(longest)
    since = f", since {cost}" if cost else ""
    if longest is best:
        return [f"it {accepts} and still loses{since}"]
    return [f"{longest.arm} {accepts} {_outcome(longest)}, {_times(longest)}{since}"]


def _outcome(cell: CellSummary) -> str:
    metric = _speedup(cell)
    if metric.low is None or metric.high is None:
        return "yet measures slower" if _gain(cell) < 1 else "yet measures less"
    if metric.high < 1:
        return "yet is slower"
    return "but gains less" if metric.low > 1 else "yet is not shown to gain"


def _cost(cell: CellSummary) -> str:
    """Name what makes an arm's steps dear, the larger cost first; empty where nothing of it was measured."""
    drafting = value_of(cell, "draft_overhead").value
    verifying = value_of(cell, "verify_inflation").value
    ratio = value_of(cell, "step_cost_ratio").value
    costs = []
    if drafting is not None and drafting >= _TELLING_COST:
        costs.append((drafting, f"drafting costs {drafting:.1f} of a target step"))
    if verifying is not None and verifying - 1 >= _TELLING_COST:
        tokens = f"up to {cell.draft_length + 1} tokens at once"
        costs.append((verifying - 1, f"verifying {tokens} takes {verifying:.1f}x a plain step"))
    if costs:
        return " and ".join(text for _, text in sorted(costs, key=lambda cost: -cost[0]))
    return f"its steps take {ratio:.1f}x a plain step" if ratio is not None and ratio - 1 >= _TELLING_COST else ""


def _lossy(lossy: list[CellSummary]) -> tuple[str, ...]:
    return tuple(f"{cell.arm} measures {_times(cell)} but changes the output, so it does not count" for cell in lossy)


def _left_out(group: Group) -> tuple[str, ...]:
    return tuple(f"{cell.arm} was left out" for cell in group.arms if cell.status == "left out")


def _sureness(cell: CellSummary) -> tuple[str, ...]:
    """Say what the number stands on: pairs, the metric's note, unfinished or failed turns."""
    metric = _speedup(cell)
    pairs = f"{metric.n:,} {'pair' if metric.n == 1 else 'pairs'}"
    said = [pairs if metric.high is None else f"95% interval over {pairs}"]
    if metric.note and metric.high is not None:
        said.append(metric.note)
    if cell.status == "partial":
        said.append(cell.status_text)
    if cell.turns_failed:
        said.append(f"{cell.turns_failed} failed {'turns' if cell.turns_failed > 1 else 'turn'} left out")
    return tuple(said)


def _choice(rivals: int) -> tuple[str, ...]:
    return (f"best of {rivals} arms, interval not widened for the choice",) if rivals > 1 else ()


def _doubts(group: Group, cell: CellSummary, lamps: Sequence[Lamp]) -> tuple[str, ...]:
    """Name the lamps that are not green for this arm, or for the group's baseline."""
    mine = {cell.cell_id}
    grave = [lamp for lamp in lamps if lamp.level in {"warning", "fault"} and lamp.name != "failures"]
    meant = [f for f in grave if not f.cells or set(f.cells) & (group.cell_ids if f.name == "baseline" else mine)]
    return tuple(dict.fromkeys(f"{lamp.level} about {_SUBJECTS[lamp.name]}" for lamp in meant))
