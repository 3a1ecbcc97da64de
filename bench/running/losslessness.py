"""After the measured turns, at temperature 0: where each arm's tokens leave the baseline's, and how close it was there.

Only turns that were asked the same thing are compared; in a conversation the turns after a divergence were not. The
control is compared like any arm, so that what two runs of the baseline change is told from what speculation changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.redaction import redacted
from draftmark.bench.running.questions import effective_sampling
from draftmark.results.divergences import compare_turns, judge_divergence
from draftmark.results.records import Divergence
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from draftmark.backends.base import Backend, TieEvidence
    from draftmark.bench.plans.cells import Group
    from draftmark.bench.running.questions import Questions
    from draftmark.results.divergences import DivergencePoint
    from draftmark.results.records import CellRecord, TurnRecord
    from draftmark.results.run_folder.store import RunStore


def compared(group: Group) -> list[str]:
    """Return the ids of the cells whose output is compared with the baseline's; none in a plan without a baseline."""
    if group.baseline is None or group.baseline.left_out is not None:
        return []
    return [cell.cell_id for cell in group.running if cell != group.baseline]


def has_greedy_turns(group: Group) -> bool:
    """Say whether some turns of a group are asked at temperature 0, so that their texts can be compared."""
    key = group.cells[0].key
    return any(effective_sampling(key, prompt).temperature == 0 for prompt in group.suite.prompts)


def compare_outputs(
    group: Group,
    whole: Collection[str],
    store: RunStore,
    questions: Questions,
    engine: Callable[[CellRecord], Backend | None],
) -> dict[str, list[Divergence]]:
    """Return the divergences of each compared cell that is in `whole` (finished); an empty list where there are none.

    Every divergence is put to the target by the `tie_evidence` of what `engine` gives for the cell, so this belongs
    after all measuring; where it gives none, how close the tokens were stays unknown.
    """
    if group.baseline is None:
        return {}
    ready = [name for name in compared(group) if name in whole]
    judging = _Judging(group, group.baseline, questions, engine)
    return {cell.cell_id: judging.divergences(cell, store) for cell in group.cells if cell.cell_id in ready}


class _Judging:
    """Looks at the cells of one group, with the engine still at hand."""

    def __init__(
        self,
        group: Group,
        baseline: CellRecord,
        questions: Questions,
        engine: Callable[[CellRecord], Backend | None],
    ) -> None:
        self._group = group
        self._baseline = baseline
        self._prompts = {prompt.question_id: prompt for prompt in group.suite.prompts}
        self._questions = questions
        self._engine = engine

    def divergences(self, cell: CellRecord, store: RunStore) -> list[Divergence]:
        turns = {_key(turn): turn for turn in store.turns(cell.cell_id)}
        temperature = cell.key.sampling.temperature
        found = compare_turns(store.turns(self._baseline.cell_id), turns.values(), temperature=temperature)
        return [self._divergence(cell, one.point, turns[one.key]) for one in found if one.point is not None]

    def _divergence(self, cell: CellRecord, point: DivergencePoint, turn: TurnRecord) -> Divergence:
        evidence, problem = self._evidence(cell, point, turn)
        margin, difference, top_two = None, None, None
        if evidence is not None:
            margin, difference, top_two = evidence.margin, evidence.numeric_difference, evidence.top_two
        verdict, reason = judge_divergence(point, margin=margin, numeric_difference=difference, top_two=top_two)
        if evidence is not None and evidence.passes is not None:
            reason = f"{reason}; compared were {evidence.passes}"
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
    ) -> tuple[TieEvidence | None, str | None]:
        """Ask the target; a check that fails is told instead of raised, since everything is measured already."""
        if point.baseline_id is None or point.arm_id is None or turn.output_ids is None:
            return None, None
        asked, problem = self._asked(turn)
        if asked is None:
            return None, problem
        try:
            engine = self._engine(cell)
            if engine is None:
                return None, None
            prefix = [*asked, *turn.output_ids[: point.position]]
            return engine.tie_evidence(cell.key.arm, prefix, (point.baseline_id, point.arm_id)), None
        except Exception as fault:  # noqa: BLE001 - whatever an engine does here must not cost the run
            return None, redacted(f"the engine could not be asked: {type(fault).__name__}: {fault}")

    def _asked(self, turn: TurnRecord) -> tuple[Sequence[int] | None, str | None]:
        """Return the ids that a turn was asked, or why they are unknown."""
        prompt = self._prompts[turn.question_id]
        try:
            asked = self._questions.question(turn.cell_id, self._group.suite.name, prompt, turn.repeat, turn.turn_index)
        except SuiteError as fault:
            return None, str(fault)
        if asked is None:
            return None, "what this turn was asked cannot be rebuilt: an earlier answer of its conversation is missing"
        if asked.ids is None:
            return None, "the prompt was sent as messages, so that its tokens are unknown"
        return asked.ids, None


def _key(turn: TurnRecord) -> tuple[str, int, int]:
    return (turn.question_id, turn.turn_index, turn.repeat)
