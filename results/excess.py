"""Which divergences count against an arm: those on turns where the control does not diverge as well.

The control is the baseline run again. Where it leaves the baseline's answer, that answer is not settled even without
speculation, so no arm is blamed for leaving it; a divergence of the control elsewhere excuses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.results.records import Divergence


def excess(arm: Iterable[Divergence], control: Iterable[Divergence]) -> list[Divergence]:
    """Return the arm's divergences on turns (question, turn, repeat) where the control of its group has none."""
    excused = {_turn(row) for row in control}
    return [row for row in arm if _turn(row) not in excused]


def _turn(row: Divergence) -> tuple[str, int, int]:
    return row.question_id, row.turn_index, row.repeat
