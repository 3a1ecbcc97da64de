from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.comparing import Comparison, MetricChange, Side, compare_runs
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def compared() -> Callable[..., Comparison]:
    """Compare run folders, the candidate last."""

    def compare(*folders: Path, **options: Any) -> Comparison:
        *before, after = [Side(RunStore.read(folder)) for folder in folders]
        return compare_runs(before, after, **options)

    return compare


@pytest.fixture
def change_of() -> Callable[..., MetricChange]:
    """The change of one metric in the one drafting arm."""

    def find(comparison: Comparison, metric: str, arm: str = "ngram") -> MetricChange:
        (cell,) = [cell for cell in comparison.cells if f" {arm}" in cell.name]
        (found,) = [one for one in cell.metrics if one.metric == metric]
        return found

    return find
