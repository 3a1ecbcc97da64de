"""Turns of two cells that were asked the same question: the ground on which an arm is compared with its baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.statistics import Sample

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns, Ints, Keys, Mask


@dataclass(frozen=True, eq=False)
class Pairs:
    """Turns equal in question, turn index and repeat, in which both sides succeeded; one entry per pair."""

    first: Keys
    """Index of the turn in the first cell (the baseline)."""
    second: Keys
    """Index of the turn in the second cell (the arm)."""
    planned: int
    """Pairs that either side holds a turn of, failed ones included."""
    same_prompt: Mask
    """Both were asked exactly the same; false where an earlier answer of the conversation differed."""
    comparable: Mask
    """Asked the same, and both outputs are known as ids, or both as text only."""
    same_output: Mask
    """Comparable, and the outputs are equal."""
    sample: Sample

    def __len__(self) -> int:
        return len(self.first)

    @property
    def differing(self) -> Mask:
        """Comparable, and the outputs differ; what cannot be compared is neither equal nor different."""
        return self.comparable & ~self.same_output


@dataclass(frozen=True, eq=False)
class Round:
    """A cell of the baseline with the pairs, one at least, that an arm forms with it."""

    cell: CellColumns
    pairs: Pairs


def pair_turns(first: CellColumns, second: CellColumns) -> Pairs:
    """Pair the turns of two cells by question, turn index and repeat, and keep those in which both succeeded."""
    ours = {name: code for code, name in enumerate(second.questions)}
    extra = len(ours)
    to_second = np.array(
        [ours.get(name, extra + code) for code, name in enumerate(first.questions)], dtype=np.int64
    ).reshape(-1)
    turns = 1 + max(int(first.turn_index.max(initial=0)), int(second.turn_index.max(initial=0)))
    repeats = 1 + max(int(first.repeat.max(initial=0)), int(second.repeat.max(initial=0)))

    def keys(cell: CellColumns, question: Keys) -> Keys:
        return (question * turns + cell.turn_index) * repeats + cell.repeat

    first_keys = keys(first, to_second[first.question])
    second_keys = keys(second, second.question.astype(np.int64))
    shared, left, right = np.intersect1d(first_keys, second_keys, return_indices=True)
    planned = len(np.unique(first_keys)) + len(np.unique(second_keys)) - len(shared)
    ok = first.ok[left] & second.ok[right]
    left, right = left[ok], right[ok]
    same_prompt = first.prompt_key[left] == second.prompt_key[right]
    kinds = first.output_kind[left], second.output_kind[right]
    comparable = same_prompt & (kinds[0] == kinds[1]) & (kinds[0] > 0)
    return Pairs(
        first=left,
        second=right,
        planned=planned,
        same_prompt=same_prompt,
        comparable=comparable,
        same_output=comparable & (first.output_key[left] == second.output_key[right]),
        sample=Sample(
            second.question[right], second.stratum[right], _launches(first.launch[left], second.launch[right])
        ),
    )


def _launches(first: Ints, second: Ints) -> Keys:
    """Return a launch code per pair: the two launches together, since leaving out either leaves out the pair.

    Where one side ran in a single launch, launches of the other alone say nothing about it: then there is one.
    """
    sides = [np.unique(side) for side in (first, second)]
    if min(len(side) for side in sides) < 2:
        return np.zeros(len(first), dtype=np.int64)
    return np.unique(np.stack([first, second]), axis=1, return_inverse=True)[1].reshape(-1)
