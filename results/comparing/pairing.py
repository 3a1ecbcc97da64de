"""Turns that several cells were all asked in the same words: repeats are averaged, conversations are the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.columns import Floats, Keys
    from draftmark.results.comparing.quantities import Measured


@dataclass(frozen=True, eq=False)
class Paired:
    """What each side measured of the same prompts, an entry per prompt: a turn of a conversation in its own words."""

    sums: list[Floats]
    """Per side, shape (2, prompts): numerator and denominator, the mean over the times that the side asked it."""
    cluster: Keys
    """Conversation, as codes from 0."""
    stratum: Keys
    """Category, as codes from 0."""
    left_out: int
    """Turns (question, turn) of any side that are not among these, or not in all the words in which they were asked."""
    entries: list[Keys]
    """Per side and turn: which of these prompts it was; -1 for none."""

    def __len__(self) -> int:
        return len(self.cluster)

    @property
    def clusters(self) -> int:
        """Conversations."""
        return len(np.unique(self.cluster))


def paired(sides: Sequence[Measured]) -> Paired:
    """Pair the turns of cells by question, turn and the hash of the prompt."""
    names: dict[str, int] = {}
    rows = [
        np.stack(
            [
                np.array([names.setdefault(name, len(names)) for name in side.question], dtype=np.int64),
                side.turn_index.astype(np.int64),
                side.prompt,
            ]
        )
        for side in sides
    ]
    asked, code = np.unique(np.concatenate(rows, axis=1), axis=1, return_inverse=True)
    codes = np.split(code.reshape(-1), np.cumsum([row.shape[1] for row in rows])[:-1])
    counts = np.stack([np.bincount(one, minlength=asked.shape[1]) for one in codes])
    common = (counts > 0).all(axis=0)
    place = np.where(common, np.cumsum(common) - 1, -1)
    turns, inverse = np.unique(asked[:2], axis=1, return_inverse=True)
    spoiled = np.bincount(inverse.reshape(-1), weights=~common, minlength=turns.shape[1]) > 0
    strata: dict[str, int] = {}
    of_prompt = np.zeros(asked.shape[1], dtype=np.int64)
    of_prompt[codes[0][::-1]] = [strata.setdefault(name, len(strata)) for name in reversed(sides[0].stratum)]
    return Paired(
        sums=[
            np.stack([np.bincount(one, weights=row, minlength=asked.shape[1])[common] for row in side.sums])
            / counts[number][common]
            for number, (one, side) in enumerate(zip(codes, sides, strict=True))
        ],
        cluster=np.unique(asked[0][common], return_inverse=True)[1].reshape(-1),
        stratum=of_prompt[common],
        left_out=int(spoiled.sum()),
        entries=[place[one] for one in codes],
    )
