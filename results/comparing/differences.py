"""What changed in one metric of one cell: the ratio over what both runs were asked, and its interval."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from draftmark.results.comparing.changes import LogRatio, MetricChange, spanned
from draftmark.results.comparing.pairing import Paired, paired
from draftmark.results.comparing.quantities import ALONE, QUANTITIES, Measured, measured, rounds_of, together
from draftmark.results.comparing.uncertainty import (
    between_rounds,
    by_launch,
    log_ratio,
    over_conversations,
    over_rounds,
    with_launches,
)
from draftmark.results.errors import ResultsError
from draftmark.results.metrics import METRICS, Metric, metric_of
from draftmark.results.sanity.values import impossible_metrics
from draftmark.results.statistics import ROUGH_CLUSTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.columns import CellColumns, Floats
    from draftmark.results.comparing.side import Cell
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.summary import MetricValue

BY_CONVERSATION = "paired by conversation"
BY_ROUND_OF_PROMPTS = "the same prompts, round against round"
BY_ROUND = "whole rounds"
_Found: TypeAlias = tuple[Paired, list[LogRatio | str], tuple[int, int], float, str]
"""Pairs, intervals or why there are none, rounds, the log ratio, and how it was found."""
_OF_DRAFTERS = frozenset({"speedup", "acceptance_length", "acceptance_rate", "coverage", "draft_overhead"})
"""Metrics that say nothing of an arm without speculation."""


def declared(name: str) -> Metric:
    """Return a metric's declaration; raise `ResultsError` for a name that no metric has, with the one that is near."""
    found = metric_of(name)
    if found is None:
        near = difflib.get_close_matches(name, METRICS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "docs/metrics.md lists them"
        raise ResultsError(f"no metric is named {name!r}; {hint}")
    return found


def applies(name: str, *, drafts: bool) -> bool:
    """Say whether a metric says anything of an arm with, or without, speculation."""
    return drafts or name not in _OF_DRAFTERS


def metric_change(name: str, before: Sequence[Cell], after: Cell) -> MetricChange:
    """Compare one metric of a cell.

    Args:
        name: As declared; `ResultsError` for a name that is not.
        before: The cell in each baseline run, one at least; their rounds count as further rounds of one run.
        after: The cell in the candidate run.
    """
    metric = declared(name)
    values = _value(before[0], name), _value(after, name)
    change = MetricChange(
        metric=name,
        unit=metric.unit,
        better=metric.better,
        baseline=values[0].value if values[0] else None,
        candidate=values[1].value if values[1] else None,
        against=[],
        ratio=None,
        method=BY_CONVERSATION,
    )
    wrong = _impossible(name, (before[0], after))
    if wrong is not None:
        return change.model_copy(update={"reason": f"not compared: {wrong}", "impossible": wrong})
    for side, value in zip(("the baseline", "the candidate"), values, strict=True):
        if value is None or value.value is None:
            why = "its summary has no such number" if value is None else value.reason or "no reason is recorded"
            return change.model_copy(update={"reason": f"missing in {side}: {why}"})
    if name == "speedup":
        result = _speedup(before, after)
        if result is None:
            reason = "not every run has an arm without speculation beside this one"
            return change.model_copy(update={"reason": reason})
        return _finished(change, result)
    shared = after.evidence().shares_steps
    if name in QUANTITIES and not (shared and name in ALONE):
        return _finished(change, _pooled(name, before, after))
    return _rounds(change, metric, before, after)


def _value(cell: Cell, name: str) -> MetricValue | None:
    return cell.summary.metrics.get(name)


def _impossible(name: str, cells: Sequence[Cell]) -> str | None:
    for side, cell in zip(("baseline", "candidate"), cells, strict=True):
        value = _value(cell, name)
        if value is None or value.value is None:
            continue
        found = impossible_metrics({name: value}, draft_length=cell.summary.draft_length)
        if found:
            return f"in the {side} run {found[0]}"
    return None


def _finished(change: MetricChange, result: _Found) -> MetricChange:
    pairs, found, rounds, value, method = result
    told = {"pairs": len(pairs), "left_out": pairs.left_out, "rounds": rounds, "method": method}
    if len(pairs) == 0:
        reason = "no prompt was asked in the same words in both runs"
        return change.model_copy(update={**told, "reason": reason})
    if not np.isfinite(value):
        return change.model_copy(update={**told, "reason": "no ratio: one side is 0"})
    against = [one for one in found if isinstance(one, LogRatio)]
    if len(against) < len(found):
        against = []
    notes = []
    if 0 < pairs.clusters < ROUGH_CLUSTERS and against and method == BY_CONVERSATION:
        notes.append(f"rough ({pairs.clusters} conversations)")
    if pairs.left_out:
        notes.append(f"{pairs.left_out} turns are in one run only or were asked in other words")
    low, high = spanned(against) or (None, None)
    why = next((one for one in found if isinstance(one, str)), None)
    ratio = float(np.exp(value))
    return change.model_copy(
        update={**told, "against": against, "ratio": ratio, "low": low, "high": high, "notes": notes, "reason": why}
    )


def _side(cells: Sequence[Cell], evidence: Sequence[Evidence], name: str) -> Measured:
    parts = QUANTITIES[name].parts
    return together(
        [
            measured(one, parts, run=run, by_launch=cell.open)
            for run, (cell, one) in enumerate(zip(cells, evidence, strict=True))
        ]
    )


def _pooled(name: str, before: Sequence[Cell], after: Cell) -> _Found:
    sides = [
        _side(before, [cell.evidence() for cell in before], name),
        _side([after], [after.evidence()], name),
    ]
    pairs, rounds = paired(sides), _rounds_on(sides)
    draws = QUANTITIES[name].varies == "with draws"
    method = BY_ROUND_OF_PROMPTS if draws else BY_CONVERSATION
    if len(pairs) == 0:
        return pairs, [], rounds, float("nan"), method
    sums = np.concatenate([pairs.sums[1], pairs.sums[0]])
    value = _log(sums)
    if draws:
        return pairs, [over_rounds(pairs, sides)], rounds, value, method
    found = over_conversations(pairs, sums)
    if isinstance(found, LogRatio):
        launches = [by_launch([side], [entry], [1]) for side, entry in zip(sides, pairs.entries, strict=True)]
        found = with_launches(found, launches)
    return pairs, [found], rounds, value, method


def _speedup(before: Sequence[Cell], after: Cell) -> _Found | None:
    """Compare speed-ups: each run's arm against its own baseline, and again against the second run of that."""
    spans: list[LogRatio | str] = []
    first: tuple[Paired, tuple[int, int], float] | None = None
    for plain in ("baseline", "control"):
        references: list[CellColumns | None] = [getattr(cell, plain) for cell in (*before, after)]
        known = [one for one in references if one is not None]
        if len(known) < len(references):
            continue
        sides = [
            _side(before, [cell.of(one) for cell, one in zip(before, known[:-1], strict=True)], "tpot"),
            _side(before, [cell.evidence() for cell in before], "tpot"),
            _side([after], [after.of(known[-1])], "tpot"),
            _side([after], [after.evidence()], "tpot"),
        ]
        pairs = paired(sides)
        if first is not None and len(pairs) == 0:
            continue
        value = float("nan")
        if len(pairs):
            sums = np.concatenate([pairs.sums[2], pairs.sums[3], pairs.sums[0], pairs.sums[1]])
            value = _log(sums)
            found = over_conversations(pairs, sums)
            if isinstance(found, LogRatio):
                launches = [
                    by_launch(sides[place : place + 2], pairs.entries[place : place + 2], (1, -1)) for place in (0, 2)
                ]
                found = with_launches(found, launches)
            spans.append(found)
        if first is None:
            first = pairs, _rounds_on([sides[1], sides[3]]), value
    if first is None:
        return None
    pairs, rounds, value = first
    return pairs, spans, rounds, value, BY_CONVERSATION


def _rounds_on(sides: Sequence[Measured]) -> tuple[int, int]:
    return len(np.unique(sides[0].round)), len(np.unique(sides[1].round))


def _log(sums: Floats) -> float:
    return float(log_ratio(sums.sum(axis=1, keepdims=True))[0])


def _rounds(change: MetricChange, metric: Metric, before: Sequence[Cell], after: Cell) -> MetricChange:
    """Compare a metric that no sum over turns makes by its values in whole rounds."""
    sides = [
        [value for cell in cells for value in _by_round(metric, change.metric, cell)] for cells in (before, [after])
    ]
    rounds = (len(sides[0]), len(sides[1]))
    told = {"rounds": rounds, "method": BY_ROUND}
    found = between_rounds(*sides)
    if isinstance(found, str):
        one, other = change.baseline, change.candidate
        ratio = None if not one or other is None or other / one <= 0 else other / one
        return change.model_copy(update={**told, "ratio": ratio, "reason": found})
    low, high = spanned([found]) or (None, None)
    update = {**told, "against": [found], "ratio": float(np.exp(found.value)), "low": low, "high": high}
    return change.model_copy(update=update)


def _by_round(metric: Metric, name: str, cell: Cell) -> list[float]:
    found = []
    for code, mask in rounds_of(cell.columns, by_launch=cell.open):
        value = metric.measure(cell.evidence(mask, code=code)).get(name)
        if value is not None and value.value is not None:
            found.append(value.value)
    return found
