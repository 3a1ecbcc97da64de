"""How a comparison group's turns are split for the by-category view, and how many turns belong to each part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.columns import category_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.records import PromptRecord


@dataclass(frozen=True)
class Split:
    """By category, or by `category/sub_category` where all turns are of one category."""

    by_category: bool
    turns_per_pass: dict[str, int]
    """Part to the turns that one pass over the suite gives it, sorted by name; 0 where that is not on record."""

    @classmethod
    def of_group(cls, prompts: Sequence[PromptRecord], members: Iterable[CellColumns]) -> Split:
        """Split as the suite's prompts say; where they are not on record, as the turns of the group's cells say."""
        if prompts:
            categories = [category_label(prompt.category or None) for prompt in prompts]
            by_category = len(set(categories)) > 1
            names = categories if by_category else [_detail(prompt) for prompt in prompts]
            return cls(by_category, dict(sorted(Counter(names).items())))
        members = list(members)
        found = {name for columns in members for name in columns.categories}
        details = {name for columns in members for name in columns.details}
        return cls(len(found) > 1, dict.fromkeys(sorted(found if len(found) > 1 else details), 0))

    def select(self, columns: CellColumns, part: str) -> CellColumns:
        """Return the turns of one part; none where the part is unknown."""
        return columns.select(self.mask(columns, part))

    def mask(self, columns: CellColumns, part: str) -> Mask:
        """Return which turns are of one part; none where the part is unknown."""
        names, codes = (columns.categories, columns.category) if self.by_category else (columns.details, columns.detail)
        found: Mask = codes == names.index(part) if part in names else np.zeros(len(columns), dtype=bool)
        return found

    def expected(self, part: str, whole: int) -> int | None:
        """Return how many of a finished cell's `whole` turns are of this part; null where it is not on record."""
        per_pass = sum(self.turns_per_pass.values())
        return round(whole * self.turns_per_pass[part] / per_pass) if per_pass else None


def _detail(prompt: PromptRecord) -> str:
    category = category_label(prompt.category or None)
    return category if prompt.sub_category is None else f"{category}/{prompt.sub_category}"
