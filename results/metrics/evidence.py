"""What the metrics of one cell are computed from: its columns, its baseline's, and the facts of the arm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Outcome, missing
from draftmark.results.metrics.flight import times_of
from draftmark.results.metrics.pairs import Round, pair_turns
from draftmark.results.metrics.shared_steps import SharedSteps, shared_steps
from draftmark.results.metrics.stamps import Decoding, Gaps, decoding, gaps
from draftmark.results.metrics.step_times import StepTimes, step_times
from draftmark.results.metrics.window import PADDING
from draftmark.results.statistics import Sample, interval, ratio, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from draftmark.results.columns import CellColumns, Floats, Ints, Mask, Shorts
    from draftmark.results.metrics.flight import Times
    from draftmark.results.metrics.window import WindowCounts
    from draftmark.results.records.loads import Objectives, OpenLoad
    from draftmark.results.statistics import Statistic
    from draftmark.results.summary import Source


@dataclass(frozen=True, eq=False)
class Evidence:
    """One cell and what it is compared with; the baseline's own `baseline` is its cell."""

    cell: CellColumns
    """The arm's turns that count."""
    drafter: str
    """The arm's drafter; `none` needs no steps to be measured."""
    draft_length: int
    """The arm's D."""
    baseline: CellColumns | None = None
    """The `none` arm of the same comparison group, `cell` itself for that arm; null where the run has no baseline."""
    control: CellColumns | None = None
    """The second `none` arm: another round of the baseline, which tells what differs without any speculation. Null
    where there is none, and for the control itself."""
    concurrency: int = 1
    """Turns in flight, as the plan asked; of no matter in an open loop."""
    temperature: float = 0.0
    """Of the cell's sampling; a turn may have its own."""
    gpus: int | None = None
    """GPUs that the engine ran on (tensor x pipeline x data parallel); null where that is not recorded."""
    window: WindowCounts | str | None = None
    """What the engine counted over all turns of the cell, or why that is of no use; null for a part of them."""
    open_load: OpenLoad | None = None
    """The schedule that conversations followed; null for a closed loop."""
    objectives: Objectives | None = None
    """Times that turns should not exceed; null where the plan has none."""
    whole: CellColumns | None = None
    """All turns that the engine answered during the cell, where `cell` holds some of them only (one category, or no
    warm-up and cool-down): they were in flight too. Null where there were no others."""
    part: bool = False
    """Whether `cell` is one category among others."""

    def sampled(self, cell: CellColumns) -> Mask:
        """Say of each turn of a cell of this group whether it was sampled above temperature 0, by its own setting."""
        own = cell.own_temperature
        found: Mask = np.where(np.isnan(own), self.temperature, own) > 0
        return found

    @cached_property
    def any_sampled(self) -> bool:
        """Whether texts of some turn differ by design."""
        return bool(self.sampled(self.cell).any()) if len(self.cell) else self.temperature > 0

    @cached_property
    def all_sampled(self) -> bool:
        """Whether those of every turn do, so that no texts can be compared."""
        return bool(self.sampled(self.cell).all()) if len(self.cell) else self.temperature > 0

    @property
    def drafts(self) -> bool:
        """Whether the arm speculates at all."""
        return self.drafter != "none"

    @property
    def is_baseline(self) -> bool:
        """Whether the cell is the `none` arm that the others are compared with."""
        return self.baseline is self.cell

    @property
    def count_source(self) -> Source:
        """How step counts are known: by the engine, inferred, or for `none` by definition (every step is one token)."""
        if not self.drafts:
            return "definition"
        return "inferred" if self.infers_steps else "engine"

    @cached_property
    def infers_steps(self) -> bool:
        """Whether some turn's steps are inferred from statistics that leave out those without a draft."""
        return self.drafts and bool(self.cell.inferred_steps.any())

    @cached_property
    def counted(self) -> CellColumns:
        """The cell with steps that are known by definition filled in: `none` has T - 1 steps of one token."""
        return self.cell if self.drafts else with_single_token_steps(self.cell)

    @cached_property
    def baseline_round(self) -> Round | str:
        """The baseline paired with this arm, its steps filled in likewise; or why nothing can be compared with it."""
        return self._round(self.baseline)

    @cached_property
    def control_round(self) -> Round | str:
        """The control as another round of the baseline; or why there is none."""
        return self._round(self.control)

    def _round(self, baseline: CellColumns | None) -> Round | str:
        if self.turns_ok == 0:
            return self.no_turns()
        if baseline is None:
            return "the run has no baseline (`none`) arm with these prompts"
        pairs = pair_turns(baseline, self.cell)
        if len(pairs) == 0:
            return "no turn was answered by both this arm and the baseline"
        return Round(with_single_token_steps(baseline), pairs)

    @property
    def served(self) -> CellColumns:
        """All turns that the engine answered during the cell, the ones that count among them."""
        return self.cell if self.whole is None else self.whole

    @cached_property
    def measured_times(self) -> list[Times] | None:
        """In an open loop: the times between warm-up and cool-down; null in a closed loop."""
        return None if self.open_load is None else times_of(self.served, self.open_load)

    @cached_property
    def sample(self) -> Sample:
        """How the cell's turns were drawn."""
        return Sample(self.cell.question, self.cell.stratum, self.cell.launch)

    @cached_property
    def turns_ok(self) -> int:
        """Turns that succeeded."""
        return int(self.cell.ok.sum())

    @cached_property
    def cut(self) -> Mask:
        """Per step: EOS, a stop string or max_tokens ended the answer inside the block (e_i <= a_i)."""
        return self.counted.delivered <= self.counted.accepted

    @cached_property
    def useful(self) -> Shorts:
        """u_i = min(a_i, e_i) per step: accepted drafts that reached the answer."""
        return np.minimum(self.counted.accepted, self.counted.delivered)

    @cached_property
    def useful_drafts(self) -> Shorts:
        """v_i per step: drafted tokens, on a cut step only as many as were delivered."""
        useful = self.counted.drafted.copy()
        useful[self.cut] = np.minimum(useful, self.counted.delivered)[self.cut]
        return useful

    @cached_property
    def steps(self) -> Floats:
        """Decode steps n of each turn."""
        return self.counted.step_count.astype(np.float64)

    @cached_property
    def drafting(self) -> Floats:
        """Per turn: steps with at least one draft."""
        return self.counted.per_turn(self.counted.drafted > 0)

    @cached_property
    def delivered(self) -> Floats:
        """Per turn: sum of e_i."""
        return self.counted.per_turn(self.counted.delivered)

    @cached_property
    def decoding(self) -> Decoding:
        """The decode phase of each turn."""
        return decoding(self.cell)

    @cached_property
    def gaps(self) -> Gaps:
        """The gaps between reads of all turns."""
        return gaps(self.cell)

    @cached_property
    def step_times(self) -> StepTimes:
        """Times of the cell's steps."""
        return step_times(self.counted, drafts=self.drafts)

    @cached_property
    def baseline_step_times(self) -> StepTimes | None:
        """Times of the baseline's steps; null where there is nothing to compare with."""
        against = self.baseline_round
        return None if isinstance(against, str) else step_times(against.cell, drafts=False)

    @property
    def shares_steps(self) -> bool:
        """Whether several requests were in flight, so that times belong to engine steps and not to turns."""
        return self.concurrency > 1 or self.open_load is not None

    @cached_property
    def shared_steps(self) -> SharedSteps:
        """Times of the engine steps behind the cell's turns."""
        return shared_steps(self.counted, drafts=self.drafts)

    @cached_property
    def baseline_shared_steps(self) -> SharedSteps | None:
        """Times of the engine steps of the baseline; null where there is none."""
        return None if self.baseline is None else shared_steps(with_single_token_steps(self.baseline), drafts=False)

    @cached_property
    def output_places(self) -> Ints:
        """Per step: position in the output of its first token; prefill's token is position 0."""
        # The running sum may wrap around; within a turn its differences do not, so it needs no wider numbers.
        before = np.cumsum(self.counted.delivered, dtype=np.int32)
        before -= self.counted.delivered
        some = self.counted.step_count > 0
        before -= np.repeat(before[self.counted.step_offsets[:-1][some]], self.counted.step_count[some])
        before += 1
        return before

    @cached_property
    def steps_placed(self) -> Mask:
        """Per turn: the place of each step in the output is known, as far as counts without idle steps can tell it."""
        idle = self.counted.per_turn(self.counted.drafted == 0) > 0
        unplaced = self.counted.inferred_steps & (idle | ~self.counted.steps_in_order)
        return ~unplaced if self.drafts else np.ones(len(self.counted), dtype=bool)

    @cached_property
    def context_places(self) -> Ints:
        """Per step: tokens of prompt and output before its first token; negative where the prompt's are unknown."""
        prompts = np.where(self.counted.prompt_tokens >= 0, self.counted.prompt_tokens, -(2**30))
        return np.repeat(prompts.astype(np.int32), self.counted.step_count) + self.output_places

    @cached_property
    def known_notes(self) -> tuple[str, ...]:
        """Says so where steps are known for a part of the turns only."""
        known = int(self.counted.has_steps.sum())
        return () if known == self.turns_ok else (f"steps known for {known} of {self.turns_ok} turns",)

    @property
    def step_notes(self) -> tuple[str, ...]:
        """What qualifies a mean over all decode steps."""
        return (*self.known_notes, *self.bound_notes)

    @property
    def draft_notes(self) -> tuple[str, ...]:
        """Says that drafts are as the engine counts them, where nothing tells padding from them."""
        blind = self.infers_steps and not self.cell.padding_tokens[self.cell.inferred_steps].any()
        return (PADDING,) if blind else ()

    @property
    def bound_notes(self) -> tuple[str, ...]:
        """Says that what is divided by the number of steps is an upper bound: too few are known where inferred."""
        return ("inferred, upper bound",) if self.infers_steps else ()

    def no_steps(self) -> str | None:
        """Return why nothing can be said of this cell's steps; null where something can."""
        if self.turns_ok == 0:
            return self.no_turns()
        if not self.counted.has_steps.any():
            return self._no_counts() if self.drafts else "the answers' token counts are unknown"
        if len(self.counted.drafted) == 0:
            return "no answer went beyond the one token that prefill gives, so there was no decode step"
        return None

    def _no_counts(self) -> str:
        why = f", and {self.window}" if isinstance(self.window, str) else ""
        return f"the engine reported no per-step counts{why}"

    def counted_by_engine(self, name: str) -> Outcome | None:
        """Return a metric from the engine's counters, for turns whose steps are unknown; null where it is not told."""
        window = self._window_instead
        return None if window is None else window.measure(name)

    def joint_by_engine(self, position: int) -> Outcome | None:
        """Return joint_acceptance[k] from the engine's counters likewise."""
        window = self._window_instead
        return None if window is None else window.joint_acceptance(position)

    @property
    def _window_instead(self) -> WindowCounts | None:
        """The engine's counters where no step of the arm is known; null otherwise."""
        if isinstance(self.window, str) or not self.drafts or self.counted.has_steps.any():
            return None
        return self.window

    def no_turns(self) -> str:
        """Return the reason that a cell without successful turns gives for everything."""
        return "no turn was measured" if len(self.cell) == 0 else "no turn succeeded"

    def uncounted(self, reason: str) -> str:
        """Return a reason, and that turns' counts of tokens are impossible, where that may be why."""
        beyond = int((self.cell.ok & (self.cell.impossible > 0)).sum())
        if not beyond:
            return reason
        return f"{reason}; {beyond} of {self.turns_ok} turns have more tokens than max_tokens allows, which is no count"

    def known_of(self, known: int) -> tuple[str, ...]:
        """Return the note that only so many of the successful turns have what a number needs; none if all do."""
        return () if known == self.turns_ok else (f"{known} of {self.turns_ok} turns have it",)

    def compared(
        self,
        columns: Callable[[Round], Sequence[Floats]],
        statistic: Statistic,
        *,
        n: int,
        source: Source = "timed",
        notes: tuple[str, ...] = (),
    ) -> Outcome:
        """Return a statistic of sums over the pairs with the baseline, which there must be.

        Its interval spans those against each round of the baseline (`none` and its control). `columns` gives one number
        per pair and sum, 0 where the pair does not count; a control without such a pair is no round.
        """
        against = self.baseline_round
        if isinstance(against, str):
            return missing(against)
        values = columns(against)
        value = _of_sums(values, statistic)
        if not np.isfinite(value):
            return missing("the time to compare with is 0 on these turns")
        found = [interval(against.pairs.sample, values, statistic)]
        if self.control is not None and not isinstance(self.control_round, str):
            values = columns(self.control_round)
            again = _of_sums(values, statistic)
            if np.isfinite(again):
                if value:
                    notes = (*notes, f"baseline rounds differ by {abs(again / value - 1):.1%}")
                found.append(interval(self.control_round.pairs.sample, values, statistic))
        spans = union(found)
        notes = (*notes, *spans.notes)
        return Outcome(value, n, source, spans.low, spans.high, notes, conversations=spans.conversations)

    def pooled(
        self,
        numerator: Floats,
        denominator: Floats,
        *,
        source: Source,
        n: int | None = None,
        bounds: tuple[float | None, float | None] = (None, None),
        notes: tuple[str, ...] = (),
        nothing: str = "nothing was observed that could be averaged",
    ) -> Outcome:
        """Return sum(numerator) / sum(denominator) over the cell's turns, with its interval.

        Both hold one number per turn, 0 for turns that do not count. `n` defaults to the sum of the denominator;
        `nothing` is the reason given when that is 0. What is true by definition has no interval.
        """
        total = float(denominator.sum())
        if total == 0:
            return missing(nothing)
        value = float(numerator.sum()) / total
        count = round(total) if n is None else n
        if source == "definition":
            return Outcome(value, n=count, source=source, notes=notes)
        found = interval(self.sample, [numerator, denominator], ratio, bounds=bounds)
        notes = (*notes, *found.notes)
        return Outcome(value, count, source, found.low, found.high, notes, conversations=found.conversations)


def _of_sums(values: Sequence[Floats], statistic: Statistic) -> float:
    return float(statistic(np.array([[column.sum()] for column in values]))[0])


def with_single_token_steps(cell: CellColumns) -> CellColumns:
    """Return a `none` cell in which turns without recorded steps have T - 1 steps of one token, of unknown time."""
    filled = cell.ok & ~cell.has_steps & (cell.tokens > 0)
    if not filled.any():
        return cell
    counts = np.where(filled, cell.tokens - 1, cell.step_count)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    recorded = np.repeat(~filled, counts)
    steps: dict[str, Floats | Shorts | Mask] = {}
    for name, value in (("drafted", 0), ("accepted", 0), ("delivered", 1), ("batch", 1)):
        column = np.full(len(recorded), value, dtype=np.int16)
        column[recorded] = getattr(cell, name)
        steps[name] = column
    beside = np.zeros(len(recorded), dtype=bool)
    beside[recorded] = cell.beside_prefill
    steps["beside_prefill"] = beside
    for name in ("draft_s", "verify_s", "step_s"):
        unknown = np.broadcast_to(np.float64(np.nan), len(recorded))  # one number, however many steps there are
        steps[name] = times = unknown.copy() if recorded.any() else unknown
        if recorded.any():
            times[recorded] = getattr(cell, name)
    return replace(cell, has_steps=cell.has_steps | filled, step_offsets=offsets, **steps)  # type: ignore[arg-type]
