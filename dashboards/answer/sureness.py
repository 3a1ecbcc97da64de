"""How sure an answer is: what its interval stands on, what is unfinished, and which lamps are not green for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.answer.lamps import WORDS
from draftmark.dashboards.wording import qualifiers, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.dashboards.groups import Group
    from draftmark.results.summary import CellSummary, Lamp


def sureness(cell: CellSummary, group: Group, lamps: Sequence[Lamp], *, rivals: int = 1) -> tuple[str, ...]:
    """Return what a reader must know before believing an arm's speed-up, each in a few words.

    Args:
        cell: The arm that the answer speaks of, over all turns.
        group: Its comparison group.
        lamps: The run's lamps; those that are not green for this arm or the baseline are named.
        rivals: Arms that it was chosen from as the best.
    """
    return (
        *_interval(cell),
        *_uncompared(cell),
        *_unfinished(cell, group),
        *_choice(rivals),
        *_doubts(group, cell, lamps),
    )


def _interval(cell: CellSummary) -> tuple[str, ...]:
    metric = value_of(cell, "speedup")
    pairs = f"{metric.n:,} {'pair' if metric.n == 1 else 'pairs'} of answers"
    if metric.high is None:
        return (pairs,)
    count = metric.conversations
    clusters = "" if count is None else f"{count:,} {'conversation' if count == 1 else 'conversations'}, "
    return (f"95% interval from {clusters}{pairs}", *qualifiers(metric))


def _uncompared(cell: CellSummary) -> tuple[str, ...]:
    """Say of how many answers it is known that they are the baseline's, where some could not be compared."""
    metric = value_of(cell, "divergent_turns")
    if metric.value is None or metric.n >= cell.turns_ok:
        return ()
    return (f"{metric.n:,} of {cell.turns_ok:,} answers compared with those of no speculation",)


def _unfinished(cell: CellSummary, group: Group) -> tuple[str, ...]:
    done = cell.turns_ok + cell.turns_failed
    said = [f"only {done} of {cell.turns_expected} turns so far"] if cell.status == "partial" else []
    if cell.turns_failed:
        said.append(f"{cell.turns_failed} failed {'turns' if cell.turns_failed > 1 else 'turn'} left out")
    if group.baseline is not None and group.baseline.cell_id in group.lost:
        said.append("the arm without speculation lost its engine")
    return tuple(said)


def _choice(rivals: int) -> tuple[str, ...]:
    return (f"best of {rivals} arms, and picking the best flatters it",) if rivals > 1 else ()


def _doubts(group: Group, cell: CellSummary, lamps: Sequence[Lamp]) -> tuple[str, ...]:
    """Name the lamps that are not green for this arm, or for the group's baseline."""
    mine = {cell.cell_id}
    grave = [lamp for lamp in lamps if lamp.level in {"warning", "fault"} and lamp.name != "failures"]
    meant = [
        one for one in grave if not one.cells or set(one.cells) & (group.cell_ids if one.name == "baseline" else mine)
    ]
    return tuple(dict.fromkeys(f"{lamp.level} about {WORDS[lamp.name].subject}" for lamp in meant))
