"""The regression gate: what is asked of a candidate run, how it is judged, and the verdict with its exit code."""

from draftmark.results.gating.judging import judge, without_baseline
from draftmark.results.gating.rules import DEFAULT_TOLERANCES, MetricRule, Rules
from draftmark.results.gating.verdict import EXIT_CODES, Finding, Judgement, Verdict

__all__ = [
    "DEFAULT_TOLERANCES",
    "EXIT_CODES",
    "Finding",
    "Judgement",
    "MetricRule",
    "Rules",
    "Verdict",
    "judge",
    "without_baseline",
]
