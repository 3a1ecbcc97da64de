"""What the metrics of one cell are computed from: its columns, its baseline's, and the facts of the arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns


@dataclass(frozen=True, eq=False)
class Evidence:
    """One cell and what it is compared with. `baseline` is the cell itself for the baseline."""

    cell: CellColumns
    drafter: str
    draft_length: int
    baseline: CellColumns | None = None
    control: CellColumns | None = None
    concurrency: int = 1
    temperature: float = 0.0
    gpus: int | None = None
