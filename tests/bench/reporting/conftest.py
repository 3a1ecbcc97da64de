from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.comparing import RunName, SettingChange
from draftmark.results.gating import Finding, Judgement, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = "<script>alert(1)</script> | `x` [link](http://evil) @team\x1b[31m\n# heading"


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    """A verdict in which every name is hostile, with so many judgements of each state."""

    def build(cells: int = 1, **changes: Any) -> Verdict:
        run = RunName(run_id="r", name=HOSTILE, folder=HOSTILE, status="complete")
        judgements = [
            Judgement(
                cell=f"{HOSTILE} {number}",
                metric="tpot",
                state=state,
                text=HOSTILE,
                baseline=0.02,
                candidate=0.021,
                unit="s",
                change=0.05,
                low=0.04,
                high=0.06,
                tolerance=0.03,
                smallest=0.012,
            )
            for number in range(cells)
            for state in ("pass", "not gated", "missing", "not comparable", "impossible", "regression")
        ]
        fields: dict[str, Any] = {
            "outcome": "regression",
            "headline": HOSTILE,
            "baselines": [run],
            "candidate": run,
            "findings": [Finding(level="regression", text=HOSTILE), Finding(level="told", text="a new cell")],
            "settings": [SettingChange(field="engine.x", before=HOSTILE, after=None, forbids=True)],
            "judgements": judgements,
            "vanished": [],
            "appeared": [],
            "compared": 6,
            "tests": 3,
            "false_alarms": 0.05,
        }
        return Verdict(**(fields | changes))

    return build
