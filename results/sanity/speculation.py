"""Was speculation really on, and did it do anything? A dead drafter leaves every answer right, so nobody notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.window import window_counts
from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.metrics.window import WindowCounts
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

PERFECT_RATE = 0.98
"""Share of accepted drafts from which acceptance is called perfect."""
LOW_COVERAGE = 0.5
"""Share of steps with a draft below which perfect acceptance says little."""
FEWEST_PROPOSALS = 30
"""Proposals at a position before "never accepted" is said of it."""

COUNTERS_OK = "Speculation was on: by the engine's counters tokens were drafted over the cell, and some were accepted."
OK = "Speculation was on: tokens were drafted within the draft length asked for, and some were accepted."


def check_speculation(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield what is wrong with a speculating cell's drafting, or that nothing is."""
    if not cell.drafts or not cell.ran:
        return
    columns = cell.columns
    if not columns.has_steps[columns.ok].any():
        yield _by_counters(cell, window_counts(columns, cell.engine))
        return
    if len(columns.drafted) == 0:
        yield cell.lamp("speculation", "warning", "No answer was longer than one token, so there was nothing to draft.")
        return
    found = [lamp for check in (_draft_length, _acceptance, _positions) for lamp in check(cell)]
    yield from found
    if all(lamp.level == "note" for lamp in found):
        yield cell.lamp("speculation", "ok", OK)


def _by_counters(cell: CheckedCell, told: WindowCounts | str | None) -> Lamp:
    """Judge an engine that tells no steps by what it counted over the whole cell, if that is of use."""
    if isinstance(told, str):
        text = (
            f"The engine told nothing about its decode steps, and {told}; so nothing shows whether speculation was on."
        )
        return cell.lamp("speculation", "warning", text)
    drafted = None if told is None else told.verified if told.drafted is None else told.drafted
    if told is None or drafted is None:
        text = "The engine told nothing about its decode steps, so nothing shows whether speculation was on."
        return cell.lamp("speculation", "warning", text)
    if drafted == 0:
        text = (
            "The engine's counters saw no draft in the whole cell: this is the baseline under another name. Check that "
            "speculation is on, or that the text has anything for this drafter."
        )
        return cell.lamp("speculation", "warning", text)
    if told.accepted == 0:
        text = (
            f"By the engine's counters none of the {counted(drafted, 'drafted token')} was accepted: the drafter adds "
            "only cost. Check that it fits the target (weights, tokenizer, template)."
        )
        return cell.lamp("speculation", "warning", text)
    return cell.lamp("speculation", "ok", COUNTERS_OK)


def _draft_length(cell: CheckedCell) -> Iterator[Lamp]:
    limit, drafted = cell.summary.draft_length, int(cell.columns.drafted.max())
    delivered = int(cell.columns.delivered.max())
    if drafted > limit:
        text = (
            f"A step drafted {drafted} tokens although D is {limit}: the engine did not use the draft length asked for."
            " Set its own to that."
        )
        yield cell.lamp("speculation", "fault", text)
    elif delivered > limit + 1:
        text = (
            f"A step delivered {delivered} tokens although D = {limit} allows {limit + 1}: these are no single steps. "
            "Do not use what is counted per step."
        )
        yield cell.lamp("speculation", "fault", text)
    elif 0 < drafted < limit:
        text = f"No step drafted more than {drafted} of the {limit} tokens allowed, so a D of {drafted} is what ran."
        yield cell.lamp("speculation", "note", text)


def _acceptance(cell: CheckedCell) -> Iterator[Lamp]:
    columns = cell.columns
    steps, with_draft = len(columns.drafted), int((columns.drafted > 0).sum())
    drafted, accepted = int(columns.drafted.sum()), int(columns.accepted.sum())
    length = float(columns.delivered.sum()) / steps
    if drafted == 0:
        text = (
            f"The drafter never proposed a token in {counted(steps, 'step')}: this is the baseline under another name. "
            "Check that speculation is on, or that the text has anything for this drafter."
        )
        yield cell.lamp("speculation", "warning", text)
    elif accepted == 0:
        text = (
            f"None of the {counted(drafted, 'drafted token')} was accepted and a step gave {length:.2f} tokens: the "
            "drafter adds only cost. Check that it fits the target (weights, tokenizer, template)."
        )
        yield cell.lamp("speculation", "warning", text)
    elif accepted >= PERFECT_RATE * drafted and with_draft < LOW_COVERAGE * steps:
        text = (
            f"{accepted:,} of {counted(drafted, 'drafted token')} were accepted, but only because little was tried: "
            f"{1 - with_draft / steps:.0%} of steps had no draft, the others {drafted / with_draft:.2f} tokens each. "
            f"The acceptance length over all steps is {length:.4g}."
        )
        yield cell.lamp("speculation", "warning", text)


def _positions(cell: CheckedCell) -> Iterator[Lamp]:
    """Name the tail of positions that were proposed often and never accepted."""
    columns = cell.columns
    proposed = np.bincount(columns.drafted)[::-1].cumsum()[::-1]  # steps that drafted at least k tokens
    deepest = int(columns.accepted.max())
    dead = [k for k in range(deepest + 1, len(proposed)) if proposed[k] >= FEWEST_PROPOSALS]
    if deepest == 0 or not dead:
        return
    where = f"position {dead[0]} was" if len(dead) == 1 else f"positions {dead[0]}-{dead[-1]} were"
    text = (
        f"Drafted tokens at {where} never accepted ({counted(int(proposed[dead].sum()), 'proposal')}): D = {deepest} "
        "would give the same for less."
    )
    yield cell.lamp("speculation", "warning", text)
