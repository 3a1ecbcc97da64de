"""Numbers that cannot be: clocks that run backwards, shares above 1, percentiles out of order, speed without tokens."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from draftmark.results.columns import Mask
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp, MetricValue

SHARES = ("coverage", "acceptance_rate", "conditional_acceptance", "joint_acceptance")
"""Metrics (or families) that lie between 0 and 1."""
AT_LEAST_ONE = ("acceptance_length", "acceptance_length_verified", "acceptance_length_when_drafted")
"""Metrics that lie between 1 and D + 1."""

OK = "No number is impossible: times run forwards, shares stay below 1, percentiles are in order."
_STATISTIC = re.compile(r"(?P<stem>.+)_(?P<rank>min|mean|p\d+|max|peak)")
_SLACK = 1e-9


def check_values(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield what is impossible about a cell's stamps and metrics, or that nothing is."""
    if not cell.ran:
        return
    found = [*_stamps(cell), *_tokens(cell)]
    found += [
        cell.lamp("values", "fault", f"{text}: the number cannot be true. Use none of this cell.")
        for text in impossible_metrics(cell.summary.metrics, draft_length=cell.summary.draft_length)
    ]
    yield from found
    if not found:
        yield cell.lamp("values", "ok", OK)


def _stamps(cell: CheckedCell) -> Iterator[Lamp]:
    columns = cell.columns
    order = [columns.sent_s, columns.first_s, columns.last_s, columns.done_s]
    # A comparison with an unknown stamp (NaN) is false, so it counts as in order.
    backwards = np.logical_or.reduce([late < early for n, early in enumerate(order) for late in order[n + 1 :]])
    number = int((columns.ok & backwards).sum())
    if number:
        text = (
            f"In {counted(number, 'turn')} time runs backwards (an answer ends before it starts): stamps are mixed up. "
            "Use no times."
        )
        yield cell.lamp("values", "fault", text)


def _tokens(cell: CheckedCell) -> Iterator[Lamp]:
    columns, summary = cell.columns, cell.summary
    empty = int((columns.ok & (columns.tokens == 0)).sum())
    beyond = columns.ok & (columns.impossible > 0)
    unknown = int((columns.ok & (columns.tokens < 0) & ~beyond).sum())
    if empty == summary.turns_ok:
        yield cell.lamp(
            "values", "fault", "No turn gave a single token, so nothing was measured. See what the server sends."
        )
        throughput = summary.metrics.get("output_tps")
        if throughput is not None and throughput.value:
            yield cell.lamp("values", "fault", "There is a throughput although there are no tokens.")
    if beyond.any():
        yield cell.lamp("values", "fault", _beyond(cell, beyond))
    timeless = np.isfinite(columns.sent_s) & np.isnan(columns.first_s) & (columns.output_kind > 0)
    silent = int((columns.ok & timeless & (columns.tokens != 0)).sum())
    if silent:
        text = (
            f"{counted(silent, 'turn')} succeeded, but no output of theirs could be read, so that none of their times "
            "is known; where all turns are such, speed and times show nothing. See what the server sends."
        )
        yield cell.lamp("values", "warning", text)
    if unknown:
        text = f"The engine did not say how many tokens {counted(unknown, 'turn')} gave: "
        text += "name the target (its tokenizer counts them), or ask the server for usage."
        yield cell.lamp("values", "warning", text)


def _beyond(cell: CheckedCell, beyond: Mask) -> str:
    columns, turn = cell.columns, int(np.flatnonzero(beyond)[0])
    own = cell.record.key.request_sampling is not None
    limit = "its own max_tokens" if own else f"the {cell.max_tokens:,} that max_tokens"
    return (
        f"In {counted(int(beyond.sum()), 'turn')} the engine counted more tokens than {limit} "
        f"allows (first in question {columns.questions[columns.question[turn]]}: "
        f"{columns.impossible[turn]:,}): its count cannot be true, and the tokens of such turns count as unknown."
    )


def impossible_metrics(metrics: Mapping[str, MetricValue], *, draft_length: int) -> list[str]:
    """Return one clause per number that its definition rules out."""
    found = []
    for name, metric in metrics.items():
        value, stem = metric.value, name.split("[", 1)[0]
        if value is None:
            continue
        if stem in SHARES and not -_SLACK <= value <= 1 + _SLACK:
            found.append(f"{name} is {value:.4g}, and a share lies between 0 and 1")
        if stem in AT_LEAST_ONE and not 1 - _SLACK <= value <= draft_length + 1 + _SLACK:
            found.append(f"{name} is {value:.4g}, and lies between 1 and D + 1 = {draft_length + 1}")
        if metric.unit in {"s", "tokens/s"} and value < 0:
            found.append(f"{name} is {value:.4g} {metric.unit}, and cannot be negative")
    return found + _out_of_order(metrics)


def _out_of_order(metrics: Mapping[str, MetricValue]) -> list[str]:
    """Compare statistics of one quantity: minimum, percentiles and maximum in order, the mean within their range."""
    ranked: dict[str, dict[str, float]] = {}
    for name, metric in metrics.items():
        match = _STATISTIC.fullmatch(name)
        if match and metric.value is not None:
            ranked.setdefault(match["stem"], {})[match["rank"]] = metric.value
    found = []
    for stem, values in ranked.items():
        ladder = sorted((_place(rank), rank) for rank in values if rank != "mean")
        pairs = [(low, high) for (_, low), (_, high) in pairwise(ladder)]
        if "mean" in values:
            pairs += [("min", "mean")] * ("min" in values)
            pairs += [("mean", top) for top in ("max", "peak") if top in values]
        found += [
            f"{stem}_{low} is {values[low]:.4g}, above {stem}_{high} of {values[high]:.4g}"
            for low, high in pairs
            if values[low] > values[high] * (1 + _SLACK)
        ]
    return found


def _place(rank: str) -> float:
    if not rank.startswith("p") or rank == "peak":
        return -1.0 if rank == "min" else 101.0
    percent = float(rank[1:])
    return percent if percent <= 100 else percent / 10  # p999 is the 99.9th percentile
