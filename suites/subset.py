"""Which prompts of a suite a limit keeps: seeded, stratified by category and sub-category, the same on every Python.

Order comes from sha256, never from `random`: a subset depends on the seed, the ids and their strata alone, so adding a
Python version, or shuffling the file, changes nothing. The chosen prompts stay in the suite's own order.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

Stratum = tuple[str | None, str | None]
"""Category and sub-category."""


class Choosable(Protocol):
    """What a choice looks at: a `Prompt`, or a row of a file whose text was not kept."""

    @property
    def question_id(self) -> str:
        """Unique within the suite."""
        ...

    @property
    def category(self) -> str | None:
        """First level of the strata."""
        ...

    @property
    def sub_category(self) -> str | None:
        """Second level of the strata."""
        ...


def choose(rows: Sequence[Choosable], limit: int | None, seed: int) -> list[int]:
    """Return the indices of the rows to keep, ascending.

    No limit, or one that reaches the size, keeps all. Otherwise exactly `limit` rows are kept, shared out over the
    strata in proportion to their sizes (see `allocate`) and drawn within each by the order of sha256(seed, id).
    """
    if limit is None or limit >= len(rows):
        return list(range(len(rows)))
    strata: defaultdict[Stratum, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        strata[row.category, row.sub_category].append(index)
    shares = allocate({stratum: len(members) for stratum, members in strata.items()}, limit, seed)
    chosen: list[int] = []
    for stratum, members in strata.items():
        members.sort(key=lambda index: _draw(seed, rows[index].question_id))
        chosen += members[: shares[stratum]]
    return sorted(chosen)


def allocate(sizes: dict[Stratum, int], limit: int, seed: int) -> dict[Stratum, int]:
    """Share `limit` rows out over strata of the given sizes; `limit` is below the sum of the sizes.

    With room for all strata: largest remainder on limit * size / total, then each stratum left without a row takes one
    from the stratum furthest above its exact share. With fewer rows than strata: one row each, categories taking turns,
    larger strata first. Ties fall by sha256.
    """
    if limit < len(sizes):
        return _one_each(sizes, limit, seed)
    total = sum(sizes.values())
    shares = {stratum: limit * size // total for stratum, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (-(limit * sizes[stratum] % total), _draw(seed, *stratum)))
    for stratum in by_remainder[: limit - sum(shares.values())]:
        shares[stratum] += 1
    for empty in [stratum for stratum, share in shares.items() if share == 0]:
        givers = [stratum for stratum, share in shares.items() if share > 1]
        giver = min(givers, key=lambda s: (limit * sizes[s] - shares[s] * total, _draw(seed, *s)))
        shares[giver] -= 1
        shares[empty] = 1
    return shares


def describe(kept: int, size: int, seed: int) -> str:
    """Say in words what was taken, for `Suite.selection`."""
    if kept == size:
        return f"all {size} prompts"
    return (
        f"{kept} of {size} prompts, stratified by category and sub-category, drawn with seed {seed}, "
        "in the suite's order"
    )


def _one_each(sizes: dict[Stratum, int], limit: int, seed: int) -> dict[Stratum, int]:
    category_sizes: defaultdict[str | None, int] = defaultdict(int)
    for (category, _), size in sizes.items():
        category_sizes[category] += size
    turn_of_category: defaultdict[str | None, int] = defaultdict(int)
    queue: list[tuple[int, int, bytes, Stratum]] = []
    for stratum in sorted(sizes, key=lambda s: (-sizes[s], _draw(seed, *s))):
        category = stratum[0]
        queue.append((turn_of_category[category], -category_sizes[category], _draw(seed, *stratum), stratum))
        turn_of_category[category] += 1
    served = {entry[-1] for entry in sorted(queue, key=lambda entry: entry[:3])[:limit]}
    return {stratum: int(stratum in served) for stratum in sizes}


def _draw(seed: int, *words: str | None) -> bytes:
    return hashlib.sha256(json.dumps([seed, *words]).encode()).digest()
