"""Every number shown, as small pure functions of a cell's columns: `METRICS` lists them, `measure` computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.metrics.acceptance import ACCEPTANCE
from draftmark.results.metrics.achieved import ACHIEVED
from draftmark.results.metrics.declaration import Metric
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.metrics.goodput import GOODPUT
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.metrics.losslessness import LOSSLESSNESS
from draftmark.results.metrics.overhead import OVERHEAD
from draftmark.results.metrics.positions import POSITIONS
from draftmark.results.metrics.speedup import SPEEDUP
from draftmark.results.metrics.throughput import THROUGHPUT
from draftmark.results.metrics.timing import TIMING

if TYPE_CHECKING:
    from draftmark.results.columns import CellColumns
    from draftmark.results.metrics.window import WindowCounts
    from draftmark.results.records.loads import Objectives, OpenLoad
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
        *POSITIONS,
    )
}
"""Every declared metric by name, in the order in which a reader wants them."""


def metric_of(name: str) -> Metric | None:
    """Return the declaration of a measured name: `acceptance_length`, or `conditional_acceptance[3]` of a family."""
    stem = name.split("[", 1)[0]
    families = (metric for metric in METRICS.values() if metric.family and metric.name.split("[", 1)[0] == stem)
    return METRICS.get(name) or next(families, None)


def measure(
    cell: CellColumns,
    *,
    drafter: str,
    draft_length: int,
    baseline: CellColumns | None = None,
    control: CellColumns | None = None,
    concurrency: int = 1,
    temperature: float = 0.0,
    gpus: int | None = None,
    window: WindowCounts | str | None = None,
    open_load: OpenLoad | None = None,
    objectives: Objectives | None = None,
    whole: CellColumns | None = None,
    part: bool = False,
) -> dict[str, MetricValue]:
    """Compute every declared metric of one cell, each a number or null with the reason.

    For one category, pass the selection of all columns. A `none` arm without a baseline is taken to be the baseline.

    Args:
        cell: Columns of the arm's cell.
        drafter: The arm's drafter; `none` needs no steps to be measured.
        draft_length: The arm's D.
        baseline: Columns of the `none` arm of the same comparison group; the cell itself when it is that arm; null
            where the run has no baseline.
        control: Columns of the second `none` arm, which serves as another round of the baseline and tells what differs
            without any speculation; null where there is none. For the control's own cell pass null.
        concurrency: Turns in flight, as the plan asked; of no matter in an open loop.
        temperature: Sampling temperature of the cell.
        gpus: GPUs the engine ran on (tensor x pipeline x data parallel); null where that is not recorded.
        window: What the engine counted over all turns of the cell, or why that is of no use; null for a part of them.
        open_load: The schedule that conversations followed; null for a closed loop.
        objectives: Times that turns should not exceed; null where the plan has none.
        whole: Columns of all turns that the engine answered during the cell, where `cell` holds some of them only (one
            category, or no warm-up and cool-down): they were in flight too.
        part: Whether `cell` is one category among others.
    """
    if baseline is None and drafter == "none":
        baseline = cell
    evidence = Evidence(
        cell,
        drafter,
        draft_length,
        baseline,
        control,
        concurrency,
        temperature,
        gpus,
        window,
        open_load,
        objectives,
        whole,
        part,
    )
    return {name: value for metric in METRICS.values() for name, value in metric.measure(evidence).items()}


__all__ = ["METRICS", "Metric", "broken_identities", "measure", "metric_of"]
