from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.comparing import Side, compare_runs
from draftmark.results.gating import Rules, Verdict, judge
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def gated() -> Callable[..., Verdict]:
    """Gate run folders, the candidate last, by rules given as they stand in a file."""

    def gate(*folders: Path, **rules: Any) -> Verdict:
        asked = Rules.model_validate(rules)
        *before, after = [Side(RunStore.read(folder)) for folder in folders]
        found = compare_runs(before, after, metrics=list(asked.metrics), renamed=asked.renamed)
        return judge(found, asked, candidate=after.summary, baselines=[one.summary for one in before])

    return gate
