"""Acceptance from an engine's counters around a cell, for engines that tell nothing of single requests.

Valid only where nothing else was in flight at both snapshots and the engine counted the very tokens of the cell's
turns; the runner sees to the first, `window_counts` to the second. Steps without a draft are inferred as for single
requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.results.metrics.declaration import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.results.columns import CellColumns

NOTE = "from engine counters over the whole cell; no interval"


@dataclass(frozen=True)
class WindowCounts:
    """Sums over all windows of a cell; every successful turn lies in one of them."""

    turns: int
    tokens: int
    drafting: int
    """Steps with a draft."""
    drafted: int
    accepted: int
    accepted_up_to: tuple[int, ...]
    """Drafts accepted up to position k = 1, 2, ..., as far as the engine counts by position."""

    @property
    def steps(self) -> int:
        """n^ = sum T - turns - sum a: a lower bound, by what the ends of answers cut off."""
        return self.tokens - self.turns - self.accepted

    def measure(self, name: str) -> Outcome | None:
        """Return a metric by its name; null for those that counters do not tell."""
        delivered = self.tokens - self.turns
        over_steps = {
            "acceptance_length": delivered,
            "coverage": self.drafting,
            "drafted_per_step": self.drafted,
        }
        if name in over_steps and self.steps > 0:
            return Outcome(over_steps[name] / self.steps, self.steps, "inferred", notes=("inferred, upper bound", NOTE))
        if name == "acceptance_length_when_drafted" and self.drafting:
            return Outcome(1 + self.accepted / self.drafting, self.drafting, "engine", notes=(NOTE,))
        if name == "acceptance_rate" and self.drafted:
            return Outcome(self.accepted / self.drafted, self.drafted, "engine", notes=(NOTE,))
        return None

    def joint_acceptance(self, position: int) -> Outcome | None:
        """Return joint_acceptance[k]; null where the engine does not count by position."""
        if not self.drafting or position > len(self.accepted_up_to):
            return None
        value = self.accepted_up_to[position - 1] / self.drafting
        return Outcome(value, self.drafting, "engine", notes=(NOTE,))


def window_counts(cell: CellColumns, facts: Mapping[str, Any] | None) -> WindowCounts | None:
    """Add up the windows of a cell's `engine.json`; null unless they hold the cell's tokens and nothing else.

    An engine goes on beyond a stop string, which is looked for outside it: it then counts steps that are no turn's.
    """
    windows = list((facts or {}).get("windows", []))
    if not windows or not cell.ok.all() or cell.stopped.any() or (cell.tokens < 0).any():
        return None
    sums: dict[str, float] = {}
    for window in windows:
        for name, value in window["after"].items():
            sums[name] = sums.get(name, 0.0) + value - window["before"].get(name, 0.0)
    needed = ("output_tokens", "drafting_steps", "drafted_tokens", "accepted_tokens")
    if any(name not in sums for name in needed) or sums["output_tokens"] != float(cell.tokens.sum()):
        return None
    by_position: list[int] = []
    while (name := f"accepted_tokens[{len(by_position) + 1}]") in sums:
        by_position.append(round(sums[name]))
    return WindowCounts(
        turns=len(cell),
        tokens=round(sums["output_tokens"]),
        drafting=round(sums["drafting_steps"]),
        drafted=round(sums["drafted_tokens"]),
        accepted=round(sums["accepted_tokens"]),
        accepted_up_to=tuple(by_position),
    )
