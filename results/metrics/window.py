"""Acceptance from an engine's counters around a cell, for engines that tell nothing of single requests.

Valid only where nothing else was in flight at both snapshots and the engine counted the very tokens of the cell's
turns; the runner sees to the first, `window_counts` to the second. Steps without a draft are inferred as for single
requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.results.counter_names import DRAFTING_S, RESETS, VERIFIED
from draftmark.results.metrics.declaration import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from draftmark.results.columns import CellColumns, Mask

NOTE = "from engine counters over the whole cell; no interval"
PADDING = "drafts as the engine counts them: padding, if it counts that too, is among them"
_OF_DRAFTS = ("drafting_steps", "drafted_tokens", "accepted_tokens")


TOO_LARGE = 2.0**53
"""From here on a floating-point counter does not change when one is added."""


@dataclass(frozen=True)
class WindowCounts:
    """Sums over all windows of a cell; every successful turn lies in one of them."""

    turns: int
    tokens: int
    drafting: int | None = None
    """Steps with a draft; null, as the next two, where the engine does not count drafts."""
    drafted: int | None = None
    accepted: int | None = None
    accepted_up_to: tuple[int, ...] = ()
    """Drafts accepted up to position k = 1, 2, ..., as far as the engine counts by position."""
    verified: int | None = None
    """Runs of the target over drafts, where the engine counts these and no drafts."""
    drafting_s: float | None = None
    """Seconds of drafting, where the engine counts these too."""

    @property
    def steps(self) -> int:
        """n^ = sum T - turns - sum a: a lower bound, by what the ends of answers cut off; else the runs over drafts.

        These too are a lower bound, by the steps that had none.
        """
        if self.accepted is not None:
            return self.tokens - self.turns - self.accepted
        return self.verified or 0

    def measure(self, name: str) -> Outcome | None:
        """Return a metric by its name; null for those that counters do not tell."""
        delivered = self.tokens - self.turns
        over_steps = {
            "acceptance_length": delivered,
            "coverage": self.drafting,
            "drafted_per_step": self.drafted,
        }
        counted = over_steps.get(name)
        if counted is not None and self.steps > 0:
            padding = () if name == "acceptance_length" else (PADDING,)
            return Outcome(
                counted / self.steps, self.steps, "inferred", notes=("inferred, upper bound", NOTE, *padding)
            )
        if name == "t_draft_busy" and self.drafting_s is not None and self.steps > 0:
            return Outcome(self.drafting_s / self.steps, self.steps, "engine", notes=("inferred, upper bound", NOTE))
        if self.accepted is None:
            return None
        if name == "acceptance_length_when_drafted" and self.drafting:
            return Outcome(1 + self.accepted / self.drafting, self.drafting, "engine", notes=(NOTE, PADDING))
        if name == "acceptance_rate" and self.drafted:
            return Outcome(self.accepted / self.drafted, self.drafted, "engine", notes=(NOTE, PADDING))
        return None

    def joint_acceptance(self, position: int) -> Outcome | None:
        """Return joint_acceptance[k]; null where the engine does not count by position."""
        if not self.drafting or position > len(self.accepted_up_to):
            return None
        value = self.accepted_up_to[position - 1] / self.drafting
        return Outcome(value, self.drafting, "engine", notes=(NOTE,))


def windows_of(facts: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the windows of a cell's `engine.json` that hold counters; none where there is no such file."""
    return [window for window in (facts or {}).get("windows", []) if "before" in window]


def difference(window: Mapping[str, Any]) -> dict[str, float]:
    """Return what an engine counted within a window, by the counters' names."""
    before = window["before"]
    return {name: value - (before.get(name) or 0.0) for name, value in window["after"].items() if value is not None}


def reset_in(window: Mapping[str, Any]) -> str | None:
    """Return why a window's differences are no counts: counters began at zero again within it; null if none did."""
    before, after = window["before"], window["after"]
    if after.get(RESETS, 0.0) != before.get(RESETS, 0.0):
        return "the engine's counters began at zero again within the cell"
    odd = next((name for side in (before, after) for name, value in side.items() if value is None), None)
    if odd is not None:
        return f"the engine's counter {odd} was no number"
    huge = next((name for side in (before, after) for name, value in side.items() if abs(value) >= TOO_LARGE), None)
    if huge is not None:
        return (
            f"the engine's counter {huge} was too large to count single tokens ({after.get(huge, before.get(huge)):g})"
        )
    gone = next((name for name in before if name not in after), None)
    if gone is not None:
        return f"the engine's counter {gone} was gone after the cell"
    back = next((name for name, value in difference(window).items() if value < 0), None)
    return None if back is None else f"the engine's counter {back} went back within the cell"


def explained(cell: CellColumns) -> Mask:
    """Return the turns whose tokens are all that their requests left in the counters.

    One that failed midway leaves tokens that no turn has. An engine goes on beyond a stop string, which is looked for
    outside it.
    """
    return cell.ok & ~cell.stopped & (cell.tokens >= 0)


def window_counts(cell: CellColumns, facts: Mapping[str, Any] | None) -> WindowCounts | str | None:
    """Add up the windows of a cell's `engine.json`.

    Returns:
        The sums, if they hold the cell's tokens and nothing else; why they do not; null where nothing was counted.
    """
    windows = windows_of(facts)
    if not windows:
        return None
    if len(windows) < len((facts or {}).get("windows", [])):
        return "its counters could not be read around every launch"
    sums: dict[str, float] = {}
    for counted in map(difference, windows):
        for name, value in counted.items():
            sums[name] = sums.get(name, 0.0) + value
    return _problem(cell, windows, sums) or _counts(cell, sums)


def _problem(cell: CellColumns, windows: Sequence[Mapping[str, Any]], sums: Mapping[str, float]) -> str | None:
    """Say why windows do not hold a cell's tokens and nothing else; null if they do."""
    if (reason := _unexplained(cell) or next(filter(None, map(reset_in, windows)), None)) is not None:
        return reason
    if "output_tokens" not in sums:
        return "it counts no output tokens, by which these turns could be known"
    if (other := _of_others(round(sums["output_tokens"]), int(cell.tokens.sum()))) is not None:
        return other
    if VERIFIED not in sums and not all(name in sums for name in _OF_DRAFTS):
        return "it counts no drafts"
    return None


def _unexplained(cell: CellColumns) -> str | None:
    """Say which turns left tokens in the counters that nobody knows; null if none did."""
    uncounted = int((cell.ok & (cell.tokens < 0)).sum())
    if uncounted:
        return f"its counters cannot be held against its answers: the tokens of {uncounted} of {len(cell)} are unknown"
    spoilt = int((~explained(cell)).sum())
    if spoilt:
        return f"its counters cannot be shared out: {spoilt} of {len(cell)} turns failed or ended at a stop string"
    return None


def _of_others(counted: int, own: int) -> str | None:
    """Say why an engine's count of tokens is not that of the turns; null if it is."""
    if counted == own:
        return None
    if counted == 0:
        return f"its counters stood still while it gave the {own:,} tokens of these turns"
    told = f"it counted {counted:,} tokens where these turns have {own:,}"
    return f"{told}: one of its two counts is wrong" if counted < own else f"{told}, so that others used it too"


def _counts(cell: CellColumns, sums: Mapping[str, float]) -> WindowCounts:
    turns, tokens = len(cell), round(sums["output_tokens"])
    if not all(name in sums for name in _OF_DRAFTS):
        return WindowCounts(turns, tokens, verified=round(sums[VERIFIED]))
    by_position: list[int] = []
    while (name := f"accepted_tokens[{len(by_position) + 1}]") in sums:
        by_position.append(round(sums[name]))
    drafting, drafted, accepted = (round(sums[name]) for name in _OF_DRAFTS)
    busy_s = sums.get(DRAFTING_S)
    return WindowCounts(turns, tokens, drafting, drafted, accepted, tuple(by_position), drafting_s=busy_s)
