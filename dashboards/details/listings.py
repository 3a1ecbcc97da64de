"""The lists of what went wrong: failed turns, and answers that leave the baseline's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.dashboards.groups import cell_names

if TYPE_CHECKING:
    from draftmark.results.summary import RunSummary

MAX_ROWS = 1000
"""Rows a list shows; the rest is counted in words."""


@dataclass(frozen=True)
class Listing:
    """A capped list of things that went wrong: rows of text, and how many there are in truth."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int


def failures(summary: RunSummary) -> Listing:
    """List the failed turns."""
    names = cell_names(summary)
    rows = tuple(
        (
            names.get(one.get("cell_id", ""), one.get("cell_id", "")),
            f"{one.get('question_id', '')} turn {one.get('turn_index', '')}, repeat {one.get('repeat', '')}",
            one.get("kind", ""),
            one.get("message", ""),
        )
        for one in summary.failures[:MAX_ROWS]
    )
    return Listing(("arm", "prompt", "kind", "message"), rows, len(summary.failures))


def divergences(summary: RunSummary) -> Listing:
    """List where outputs leave the baseline's, faults before unknowns before numeric ties."""
    names = cell_names(summary)
    gravity = {"fault": 0, "unknown": 1, "numeric-tie": 2}
    found = sorted(summary.divergences, key=lambda one: gravity[one.verdict])
    rows = tuple(
        (
            names.get(one.cell_id, one.cell_id),
            f"{one.question_id} turn {one.turn_index}, repeat {one.repeat}",
            str(one.position),
            f"{'end' if one.baseline_id is None else one.baseline_id} → {'end' if one.arm_id is None else one.arm_id}",
            one.verdict,
            one.reason,
        )
        for one in found[:MAX_ROWS]
    )
    return Listing(("arm", "prompt", "position", "tokens", "verdict", "why"), rows, len(found))
