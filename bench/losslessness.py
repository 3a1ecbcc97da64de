"""After the measured turns, at temperature 0: where each arm's tokens leave the baseline's, and how close it was there.

Only turns that were asked the same thing are compared; in a conversation the turns after a divergence were not. The
control is compared like any arm, so that what two runs of the baseline change is told from what speculation changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.metrics.losslessness import compare_turns, judge
from draftmark.results.records import Divergence
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from draftmark.backends.base import Backend
    from draftmark.bench.asking import Asker
    from draftmark.bench.cells import Group
    from draftmark.results.metrics.losslessness import DivergencePoint
    from draftmark.results.records import CellRecord, TurnRecord
    from draftmark.results.store import RunStore


def compared(group: Group) -> list[str]:
    """Return the ids of the cells whose output is compared with the baseline's; none in a plan without a baseline."""
    if group.baseline is None or group.baseline.left_out is not None:
        return []
    return [cell.cell_id for cell in group.running if cell != group.baseline]


def compare_outputs(group: Group, store: RunStore, asker: Asker, backend: Backend) -> dict[str, list[Divergence]]:
    """Return each compared cell's divergences; an empty list where there are none.

    Every divergence is put to the target through `backend.tie_evidence`, so this belongs after all measuring.
    """
    if group.baseline is None:
        return {}
    judging = _Judging(group, group.baseline, asker, backend)
    return {cell.cell_id: judging.divergences(cell, store) for cell in group.cells if cell.cell_id in compared(group)}


class _Judging:
    """Looks at the cells of one group, with the engine still at hand."""

    def __init__(self, group: Group, baseline: CellRecord, asker: Asker, backend: Backend) -> None:
        self._group = group
        self._baseline = baseline
        self._prompts = {prompt.question_id: prompt for prompt in group.suite.prompts}
        self._asker = asker
        self._backend = backend

    def divergences(self, cell: CellRecord, store: RunStore) -> list[Divergence]:
        turns = {_key(turn): turn for turn in store.turns(cell.cell_id)}
        found = compare_turns(store.turns(self._baseline.cell_id), turns.values())
        return [self._divergence(cell, one.point, turns[one.key]) for one in found if one.point is not None]

    def _divergence(self, cell: CellRecord, point: DivergencePoint, turn: TurnRecord) -> Divergence:
        evidence, problem = self._evidence(cell, point, turn)
        margin, difference, top_two = evidence or (None, None, None)
        verdict, reason = judge(point, margin=margin, numeric_difference=difference, top_two=top_two)
        return Divergence(
            cell_id=turn.cell_id,
            question_id=turn.question_id,
            turn_index=turn.turn_index,
            repeat=turn.repeat,
            position=point.position,
            baseline_id=point.baseline_id,
            arm_id=point.arm_id,
            margin=margin,
            numeric_difference=difference,
            top_two=top_two,
            verdict=verdict,
            reason=reason if problem is None else problem,
        )

    def _evidence(
        self, cell: CellRecord, point: DivergencePoint, turn: TurnRecord
    ) -> tuple[tuple[float, float, tuple[int, int]] | None, str | None]:
        """Ask the target; a check that fails is told instead of raised, since everything is measured already."""
        if point.baseline_id is None or point.arm_id is None or turn.output_ids is None:
            return None, None
        try:
            prompt = self._asker.prompt_of(turn, self._group.suite.name, self._prompts[turn.question_id])
        except SuiteError as fault:
            return None, str(fault)
        try:
            prefix = [*prompt, *turn.output_ids[: point.position]]
            found = self._backend.tie_evidence(cell.key.arm, prefix, (point.baseline_id, point.arm_id))
        except Exception as fault:  # noqa: BLE001 - whatever an engine does here must not cost the run
            return None, f"the engine could not be asked: {type(fault).__name__}: {fault}"
        return (None if found is None else (found.margin, found.numeric_difference, found.top_two)), None


def _key(turn: TurnRecord) -> tuple[str, int, int]:
    return (turn.question_id, turn.turn_index, turn.repeat)
