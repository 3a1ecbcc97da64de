"""What the checks look at: one cell with its summary, its columns and the divergences found in its outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from draftmark.results.roles import is_baseline, speculates
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from draftmark.results.columns import CellColumns
    from draftmark.results.records import CellRecord, Divergence
    from draftmark.results.summary import CellSummary, LampLevel, LampName


@dataclass(frozen=True, eq=False)
class CheckedCell:
    """One cell, over all its turns."""

    record: CellRecord
    summary: CellSummary
    columns: CellColumns
    divergences: list[Divergence] | None
    """Null where its outputs were not compared with the baseline's."""
    engine: dict[str, Any] | None = None
    """What the engine counted around it (`engine.json`); null where it counts nothing."""
    sent_tokens: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """Tokens of each prompt as it was sent, by (question, turn), where that is known."""
    thinking: str | None = None
    """How the plan says that the target thinks: `off`, `on`, `low`, `medium` or `high`; null where it does not."""

    @property
    def drafts(self) -> bool:
        """Whether the arm speculates at all."""
        return speculates(self.summary)

    @property
    def is_baseline(self) -> bool:
        """Whether the others are compared with this cell."""
        return is_baseline(self.summary)

    @property
    def max_tokens(self) -> int:
        """Most tokens that one turn could have, unless its request had a limit of its own."""
        return self.record.key.sampling.max_tokens

    @property
    def limits(self) -> NDArray[np.int64]:
        """Most tokens that each turn could have, by its own request or else by the cell."""
        own = self.columns.own_max_tokens
        return np.where(own < 0, self.max_tokens, own).astype(np.int64)

    @property
    def ran(self) -> bool:
        """Whether there is any successful turn to look at."""
        return self.summary.turns_ok > 0

    def lamp(self, name: LampName, level: LampLevel, text: str) -> Lamp:
        """Return a lamp about this cell alone."""
        return Lamp(name=name, level=level, text=text, cells=[self.summary.cell_id])


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: `1 turn`, `2 turns`, `1,200 turns`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
