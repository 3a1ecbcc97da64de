"""Every number shown, as small pure functions of a cell's columns: `METRICS` lists them, `measure` computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.metrics.acceptance import ACCEPTANCE
from draftmark.results.metrics.achieved import ACHIEVED
from draftmark.results.metrics.declaration import Metric
from draftmark.results.metrics.goodput import GOODPUT
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.metrics.losslessness import LOSSLESSNESS
from draftmark.results.metrics.overhead import OVERHEAD
from draftmark.results.metrics.positions import POSITIONS
from draftmark.results.metrics.repetition import REPETITION
from draftmark.results.metrics.speedup import SPEEDUP
from draftmark.results.metrics.throughput import THROUGHPUT
from draftmark.results.metrics.timing import TIMING

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence
    from draftmark.results.summary import MetricValue

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *ACCEPTANCE,
        *SPEEDUP,
        *OVERHEAD,
        *TIMING,
        *THROUGHPUT,
        *GOODPUT,
        *ACHIEVED,
        *LOSSLESSNESS,
        *REPETITION,
        *POSITIONS,
    )
}
"""Every declared metric by name, in the order in which a reader wants them."""


def metric_of(name: str) -> Metric | None:
    """Return the declaration of a measured name: `acceptance_length`, or `conditional_acceptance[3]` of a family."""
    stem = name.split("[", 1)[0]
    families = (metric for metric in METRICS.values() if metric.family and metric.name.split("[", 1)[0] == stem)
    return METRICS.get(name) or next(families, None)


def measure(evidence: Evidence) -> dict[str, MetricValue]:
    """Compute every declared metric of one cell, or of one category of it, each a number or null with the reason."""
    return {name: value for metric in METRICS.values() for name, value in metric.measure(evidence).items()}


__all__ = ["METRICS", "Metric", "broken_identities", "measure", "metric_of"]
