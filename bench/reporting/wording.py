"""How changes are written everywhere: percent with sign, the interval in brackets, never a bare ratio."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.wording import number, unit_on_screen

if TYPE_CHECKING:
    from draftmark.results.comparing import CellChange, MetricChange, SettingChange
    from draftmark.results.gating import Judgement

DASH = "-"
_LONGEST_VALUE = 80
_BEYOND = 10.0
"""Changes from here on are so large that their size tells nothing."""


def value(found: float | None, unit: str) -> str:
    """Write a metric's value with its unit; a dash where there is none."""
    if found is None:
        return DASH
    shown = unit_on_screen(unit)
    return number(found, unit) + (f" {shown}" if shown not in ("", "count", "tokens") else "")


def percent(share: float | None) -> str:
    """Write a change with its sign: `-5.2%`; beyond tenfold just that."""
    if share is None:
        return DASH
    return f"{share:+.1%}" if share < _BEYOND else f"over +{_BEYOND:,.0%}"


def span(change: float | None, low: float | None, high: float | None) -> str:
    """Write a change with its interval: `-5.2% [-6.1%, -4.3%]`."""
    if change is None:
        return DASH
    if low is None or high is None:
        return f"{percent(change)}, no interval"
    return f"{percent(change)} [{percent(low)}, {percent(high)}]"


def change_of(metric: MetricChange) -> str:
    """Write a metric's change over what both runs were asked."""

    def off(ratio: float | None) -> float | None:
        return None if ratio is None else ratio - 1

    return span(off(metric.ratio), off(metric.low), off(metric.high))


def word_of(cell: CellChange, metric: MetricChange, *, refused: bool) -> str:
    """Say whether a difference is real, as the interval and the metric's declaration have it."""
    if refused or cell.forbidding:
        return "not comparable"
    return "not compared" if metric.ratio is None else metric.word


def setting(change: SettingChange) -> str:
    """Write a setting that differs: `sampling.temperature: 0.0 -> 0.8`."""
    return f"{change.field}: {_short(change.before)} -> {_short(change.after)}"


def limits(found: Judgement) -> tuple[str, str]:
    """Write a judgement's tolerance and the smallest loss that would have shown."""
    smallest = DASH if found.smallest is None else percent(found.smallest).replace("+", "")
    return (DASH if found.tolerance is None else f"{found.tolerance:.1%}"), smallest


def _short(found: Any) -> str:
    text = "not recorded" if found is None else json.dumps(found, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
