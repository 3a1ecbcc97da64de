"""How many tokens each run of the target yields, and how the drafts fare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence


@declare(
    "acceptance_length",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="Tokens that one run of the target yields on average; 1 means that speculation gave nothing.",
)
def acceptance_length(evidence: Evidence) -> Outcome:
    """AL = sum e_i / n over all decode steps, drafting or not; the token from prefill is excluded."""
    steps = int(evidence.cell.step_count.sum())
    if steps == 0:
        return missing("no decode steps are known")
    return Outcome(float(evidence.cell.delivered.sum()) / steps, n=steps, source="engine")


ACCEPTANCE: tuple[Metric, ...] = (acceptance_length,)
