"""Two entries against each other: the ratio of their speed-ups over the conversations that both were asked, paired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.pairs import pair_turns
from draftmark.results.metrics.recorded import counted_columns
from draftmark.results.metrics.stamps import decoding
from draftmark.results.roles import is_baseline, speculates
from draftmark.results.statistics import Interval, Sample, interval, ratio_of_ratios, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from draftmark.results.columns import CellColumns, Floats, Keys
    from draftmark.results.records import CellRecord
    from draftmark.results.run_folder.reader import RunReader

_NOTHING = Interval(None, None, ("no interval: no conversation was asked of both",))


@dataclass(frozen=True, eq=False)
class Lap:
    """An arm against one round of its baseline: one entry per pair of turns that both answered."""

    question: NDArray[np.str_]
    """Conversation."""
    stratum: NDArray[np.str_]
    """Category, or sub-category where there is one category only."""
    launch: Keys
    """Which launch, from 0; all 0 where the launches are not repetitions of the whole."""
    launches: int
    times: Floats
    """Shape (4, pairs): seconds and tokens of the baseline, then of the arm."""

    def among(self, questions: NDArray[np.str_]) -> Lap:
        """Return the pairs of some conversations alone."""
        kept = np.isin(self.question, questions)
        return Lap(self.question[kept], self.stratum[kept], self.launch[kept], self.launches, self.times[:, kept])


@dataclass(frozen=True, eq=False)
class Laps:
    """An arm against every round of its baseline."""

    origin: tuple[str, str]
    """Run and comparison group: arms of one origin have the very same baseline turns."""
    rounds: tuple[Lap, ...]
    """Against `none`, then against its control where there is one."""


def laps_of(run: RunReader, cells: Sequence[CellRecord], origin: tuple[str, str]) -> dict[str, Laps]:
    """Return the laps of each speculating cell of one comparison group that has any, by cell id."""
    columns = {
        cell.cell_id: counted_columns(run.turns(cell.cell_id, phase=None), cell.key)
        for cell in cells
        if cell.left_out is None
    }
    bases = [cell for cell in cells if not speculates(cell.key.arm) and cell.cell_id in columns]
    bases.sort(key=lambda cell: cell.key.arm.control)
    if not bases or not is_baseline(bases[0].key.arm):
        return {}
    found = {}
    for cell in cells:
        if speculates(cell.key.arm) and cell.cell_id in columns:
            rounds = [_lap(columns[base.cell_id], columns[cell.cell_id]) for base in bases]
            if len(rounds[0].question):
                found[cell.cell_id] = Laps(origin, tuple(lap for lap in rounds if len(lap.question)))
    return found


def contest(first: Laps, second: Laps) -> Interval:
    """Return the 95% interval of speed-up of the first / speed-up of the second; above 1 the first is faster.

    (sum T_none / sum N_none) / (sum T / sum N) of each, over the conversations that both answered, which are the
    clusters. The interval spans those against each round of the baselines: the same round on both sides where arms
    share them, so that what they share cancels, and all combinations otherwise.
    """
    if first.origin == second.origin:
        met = list(zip(first.rounds, second.rounds, strict=False))
    else:
        met = [(ours, theirs) for ours in first.rounds for theirs in second.rounds]
    return union([_met(ours, theirs) for ours, theirs in met])


def _met(first: Lap, second: Lap) -> Interval:
    shared = np.intersect1d(first.question, second.question)
    if len(shared) == 0:
        return _NOTHING
    launches = min(first.launches, second.launches)
    ours, theirs = (lap.among(shared) for lap in (first, second))
    strata = dict(zip(ours.question, ours.stratum, strict=True))
    stratum = np.unique([strata[name] for name in shared], return_inverse=True)[1].astype(np.int64)
    cluster = np.searchsorted(shared, np.concatenate([ours.question, theirs.question]))
    sample = Sample(cluster, stratum[cluster], np.concatenate([ours.launch % launches, theirs.launch % launches]))
    values = [*np.pad(ours.times, ((0, 0), (0, len(theirs.question))))]
    values += [*np.pad(theirs.times, ((0, 0), (len(ours.question), 0)))]
    return interval(sample, values, _ratio_of_speedups)


def _ratio_of_speedups(sums: Floats) -> Floats:
    quotient: Floats = ratio_of_ratios(sums[:4]) / ratio_of_ratios(sums[4:])
    return quotient


def _lap(base: CellColumns, arm: CellColumns) -> Lap:
    pairs = pair_turns(base, arm)
    theirs, ours = decoding(base), decoding(arm)
    both = theirs.valid[pairs.first] & ours.valid[pairs.second]
    first, second = pairs.first[both], pairs.second[both]
    several = len(np.unique(arm.category)) > 1
    names, codes = (arm.categories, arm.category) if several else (arm.details, arm.detail)
    sample = Sample(pairs.sample.cluster[both], pairs.sample.stratum[both], pairs.sample.launch[both])
    whole = sample.whole_launches
    launch = (
        np.searchsorted(whole, sample.launch).astype(np.int64) if len(whole) > 1 else np.zeros(len(first), np.int64)
    )
    return Lap(
        question=np.array(arm.questions, dtype=np.str_)[arm.question[second]],
        stratum=np.array(names, dtype=np.str_)[codes[second]],
        launch=launch,
        launches=max(len(whole), 1),
        times=np.stack([theirs.seconds[first], theirs.tokens[first], ours.seconds[second], ours.tokens[second]]),
    )
