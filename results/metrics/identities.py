"""What must hold of every turn's counts, whatever was measured; each broken identity is one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.columns import CellColumns, Mask


def broken_identities(cell: CellColumns, *, drafter: str, draft_length: int, limit: int = 100) -> list[str]:
    """Return a sentence for each identity that a successful turn breaks: `limit` at most, and how many more there are.

    Args:
        cell: Columns of one cell; `CellColumns.from_turns([turn])` checks a single record.
        drafter: The arm's drafter.
        draft_length: The arm's D; 0 for `none`.
        limit: Most sentences about turns.
    """
    found: list[str] = []
    more = 0
    for broken, sentence in _checks(cell, drafter, draft_length):
        turns = np.flatnonzero(broken)
        shown = turns[: max(limit - len(found), 0)]
        found += [f"{_place(cell, int(turn))}: {sentence(int(turn))}" for turn in shown]
        more += len(turns) - len(shown)
    return [*found, f"{more} more of this kind"] if more else found


def _place(cell: CellColumns, turn: int) -> str:
    question = cell.questions[cell.question[turn]]
    return f"question {question}, turn {cell.turn_index[turn]}, repeat {cell.repeat[turn]}"


def _steps(count: float) -> str:
    return "1 step" if count == 1 else f"{count:g} steps"


def _checks(cell: CellColumns, drafter: str, draft_length: int) -> list[tuple[Mask, Callable[[int], str]]]:
    """Return per identity which turns break it, and what to say of one."""
    known = cell.has_steps
    n = cell.step_count
    drafted, accepted, delivered = (cell.per_turn(steps) for steps in (cell.drafted, cell.accepted, cell.delivered))
    cut = cell.delivered <= cell.accepted
    last = np.zeros(len(cut), dtype=bool)
    last[cell.step_offsets[1:][n > 0] - 1] = True
    early_cut = cell.per_turn(cut & ~last)
    too_many = cell.per_turn(cell.delivered > cell.accepted + 1)
    empty = cell.per_turn(cell.delivered < 1)
    beyond = cell.per_turn(cell.accepted > cell.drafted)
    over = cell.per_turn(cell.drafted > draft_length)
    total = np.where(cell.tokens == 0, 0, 1) + delivered
    negative = cell.per_turn((cell.draft_s < 0) | (cell.verify_s < 0) | (cell.step_s < 0))
    checks: list[tuple[Mask, Callable[[int], str]]] = [
        (
            known & (cell.tokens >= 0) & (total != cell.tokens),
            lambda t: f"the engine counted {cell.tokens[t]} tokens, but prefill and the steps delivered {total[t]:g}",
        ),
        (
            cell.ok & (cell.output_ids >= 0) & (cell.tokens >= 0) & (cell.output_ids != cell.tokens),
            lambda t: f"the engine counted {cell.tokens[t]} tokens, but gave {cell.output_ids[t]} ids",
        ),
        (early_cut > 0, lambda t: f"it is cut short before its last step, in {_steps(early_cut[t])}"),
        (too_many > 0, lambda t: f"{_steps(too_many[t])} delivered more than their accepted tokens and one"),
        (empty > 0, lambda t: f"{_steps(empty[t])} delivered nothing"),
        (beyond > 0, lambda t: f"{_steps(beyond[t])} accepted more than was drafted"),
        (over > 0, lambda t: f"{_steps(over[t])} drafted more than D = {draft_length}"),
        (
            (n > 0) & ((delivered < n) | (delivered > n * (draft_length + 1))),
            lambda t: f"its acceptance length {delivered[t] / n[t]:.3f} lies outside 1 to {draft_length + 1}",
        ),
        (accepted > drafted, lambda t: f"{accepted[t]:g} tokens were accepted of {drafted[t]:g} drafted"),
        (negative > 0, lambda t: f"{_steps(negative[t])} took a negative time"),
    ]
    if drafter == "none":
        checks.append((drafted > 0, lambda t: f"the arm has no drafter, but {drafted[t]:g} tokens were drafted"))
    return checks
