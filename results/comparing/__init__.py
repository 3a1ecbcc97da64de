"""Two runs held against each other: settings that differ, cells that correspond, and what changed in them."""

from draftmark.results.comparing.changes import (
    CellChange,
    Comparison,
    Ended,
    LogRatio,
    MetricChange,
    RunName,
    SettingChange,
)
from draftmark.results.comparing.comparison import DEFAULT_METRICS, compare_runs
from draftmark.results.comparing.side import Side

__all__ = [
    "DEFAULT_METRICS",
    "CellChange",
    "Comparison",
    "Ended",
    "LogRatio",
    "MetricChange",
    "RunName",
    "SettingChange",
    "Side",
    "compare_runs",
]
