"""Why an arm loses, in plain words: what a step of it yields, and what that step costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.wording import interval, listed, value_of

if TYPE_CHECKING:
    from draftmark.results.summary import CellSummary

CLEARLY_SLOWER = 0.95
"""Speed-up below which an arm without an interval is called slower."""

MOST_EXPLAINED = 2
"""Slower arms whose reason is told; others are named."""

_TELLING_COST = 0.05
"""A part of a step is named from this share of a plain step on."""


def is_slower(cell: CellSummary) -> bool:
    """Say whether an arm is slower than no speculation beyond doubt, or clearly so where there is no interval."""
    metric = value_of(cell, "speedup")
    if metric.value is None:
        return False
    return metric.value < CLEARLY_SLOWER if metric.high is None else metric.high < 1


def what_a_step_is(cell: CellSummary) -> list[str]:
    """Say what a step of the arm that an answer speaks of yields and costs; empty where either was not measured."""
    length, ratio = value_of(cell, "acceptance_length").value, value_of(cell, "step_cost_ratio").value
    if length is None or ratio is None:
        return []
    split = _split(cell) if is_slower(cell) else ""
    return [f"a step yields {length:.2f} tokens and takes as long as {ratio:.2f} plain ones{split}"]


def why_not_the_longest(best: CellSummary, sound: list[CellSummary]) -> list[str]:
    """Say why the arm with the highest acceptance length is not the fastest, or that it loses although it is."""
    longest = longest_of(sound)
    if longest is None or _gain(longest) > _gain(best):
        return []
    if longest is best:
        cost = "" if what_a_step_is(best) else _cost(best, yields=False)
        return [f"it accepts most, {_length(best):.2f} tokens a step, and still loses{cost}"] if is_slower(best) else []
    accepts = f"{longest.arm} accepts most, {_length(longest):.2f} tokens a step,"
    return [f"{accepts} {_outcome(longest)}{_cost(longest, yields=False)}"]


def why_slower(best: CellSummary, sound: list[CellSummary]) -> list[str]:
    """Say which arms but the best are slower and why, those that accept most first.

    The arm that accepts most of all is left to `why_not_the_longest`. `MOST_EXPLAINED` are explained, others named.
    """
    told = (best, longest_of(sound))
    slower = sorted((cell for cell in sound if cell not in told and is_slower(cell)), key=_length, reverse=True)
    explained = [f"{cell.arm} is slower, {_measured(cell)}{_cost(cell, yields=True)}" for cell in slower]
    rest = [f"{cell.arm} ({_gain(cell):.2f}x)" for cell in slower[MOST_EXPLAINED:]]
    verb = "are" if len(rest) > 1 else "is"
    return explained[:MOST_EXPLAINED] + ([f"{listed(rest)} {verb} slower too"] if rest else [])


def longest_of(cells: list[CellSummary]) -> CellSummary | None:
    """Return the arm with the highest acceptance length; null where none accepted anything."""
    found = max(cells, key=_length, default=None)
    return found if found is not None and _length(found) > 1 else None


def _gain(cell: CellSummary) -> float:
    return value_of(cell, "speedup").value or 0.0


def _length(cell: CellSummary) -> float:
    return value_of(cell, "acceptance_length").value or 0.0


def _measured(cell: CellSummary) -> str:
    ends = interval(value_of(cell, "speedup"))
    return f"{_gain(cell):.2f}x {ends}" if ends else f"{_gain(cell):.2f}x"


def _outcome(cell: CellSummary) -> str:
    metric = value_of(cell, "speedup")
    if metric.low is None or metric.high is None:
        said = "yet measures slower" if _gain(cell) < 1 else "yet measures less"
    elif metric.high < 1:
        said = "yet is slower"
    else:
        said = "but gains less" if metric.low > 1 else "yet is not shown to gain"
    return f"{said}, {_measured(cell)}"


def _cost(cell: CellSummary, *, yields: bool) -> str:
    """Name what makes an arm's steps dear, in plain steps, as a clause; empty where nothing of it was measured.

    `yields` says also what a step yields. Yield over cost is the speed-up: 2.28 tokens for 3.70 plain steps is 0.62x.
    """
    length, ratio = value_of(cell, "acceptance_length").value, value_of(cell, "step_cost_ratio").value
    if ratio is None:
        return f": {_parts(cell)} in plain steps" if _parts(cell) else ""
    got = f"a step yields {length:.2f} tokens and" if yields and length is not None else "its step"
    return f": {got} takes as long as {ratio:.2f} plain ones{_split(cell)}"


def _split(cell: CellSummary) -> str:
    return f" ({_parts(cell)})" if _parts(cell) else ""


def _parts(cell: CellSummary) -> str:
    """Name the parts of a step that tell, the larger first."""
    drafting, verifying = value_of(cell, "draft_overhead").value, value_of(cell, "verify_inflation").value
    parts = []
    if drafting is not None and drafting >= _TELLING_COST:
        parts.append((drafting, f"drafting {drafting:.2f}"))
    if verifying is not None and (parts or verifying - 1 >= _TELLING_COST):
        parts.append((verifying, f"verifying up to {cell.draft_length + 1} tokens at once {verifying:.2f}"))
    return ", ".join(text for _, text in sorted(parts, key=lambda part: -part[0]))
