"""How numbers, units and names are written on a page: seconds as milliseconds, nulls as words, never NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from draftmark.results.summary import MetricValue

if TYPE_CHECKING:
    from draftmark.results.summary import CellSummary

NOT_MEASURED = "not measured"


def value_of(cell: CellSummary, name: str) -> MetricValue:
    """Return a cell's metric, as null with a reason where the cell lacks it or holds a number that is not finite.

    An interval with one end missing or not finite is dropped whole: half an interval tells nothing.
    """
    found = cell.metrics.get(name)
    if found is None:
        reason = cell.status_text if cell.status == "left out" else "this run has no such number"
        return MetricValue(value=None, n=0, unit="1", reason=reason)
    if found.value is not None and not math.isfinite(found.value):
        return found.model_copy(update={"value": None, "low": None, "high": None, "reason": "the number is not finite"})
    ends = (found.low, found.high)
    if ends != (None, None) and not all(end is not None and math.isfinite(end) for end in ends):
        return found.model_copy(update={"low": None, "high": None})
    return found


def on_screen(value: float, unit: str) -> tuple[float, str]:
    """Convert a stored value to the unit a reader sees: seconds become milliseconds, the rest stays."""
    return (value * 1000.0, "ms") if unit == "s" else (value, unit)


def unit_on_screen(unit: str) -> str:
    """Name the unit a reader sees; ratios and shares have none."""
    return {"s": "ms", "1": ""}.get(unit, unit)


def number(value: float, unit: str) -> str:
    """Write a number with the digits it deserves, without its unit.

    Counts are whole and grouped, ratios and shares have two decimals, below a tenth two figures, times and rates three
    figures at least.
    """
    shown, _ = on_screen(value, unit)
    if unit == "count":
        return f"{shown:,.0f}" if float(shown).is_integer() else f"{shown:,.1f}"
    if unit == "1" and 1e-5 <= abs(shown) < 0.095:
        return f"{shown:.2g}"
    if unit in {"1", "tokens"}:
        return f"{shown:,.2f}"
    size = abs(shown)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{shown:,.{decimals}f}"


def interval(metric: MetricValue) -> str | None:
    """Write a metric's interval as `[low, high]`; null where there is none."""
    if metric.low is None or metric.high is None:
        return None
    return f"[{number(metric.low, metric.unit)}, {number(metric.high, metric.unit)}]"


def is_rough(metric: MetricValue) -> bool:
    """Say whether the metric's own note calls its interval rough (few conversations)."""
    return metric.note is not None and "rough" in metric.note


def provenance(metric: MetricValue) -> str:
    """Say in one line what stands behind a number: observations, source, and what qualifies it."""
    parts = [f"n = {metric.n:,}"]
    if metric.source:
        parts.append(metric.source)
    if metric.note:
        parts.append(metric.note)
    return "; ".join(parts)


_PLAIN = {"prompt sampling only": "one launch of the engine"}
"""Notes of metrics that a newcomer would not understand, in plain words."""


def qualifiers(metric: MetricValue) -> list[str]:
    """Return what a metric's note says, part by part, in plain words."""
    return [_PLAIN.get(part, part) for part in (metric.note or "").split("; ") if part]


def shortened(text: str, limit: int) -> str:
    """Cut a long name to `limit` characters, the last an ellipsis; the whole name stays in the table and on hover."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def squeezed(text: str, limit: int) -> str:
    """Cut a long name in its middle, so that both ends stay: names of arms often differ at their ends alone."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}…{text[len(text) - tail :]}"


def last_words(text: str, limit: int = 200) -> str:
    """Return an engine's last words on one line, cut in the middle: how it ended is first, its error comes last."""
    return squeezed(" ".join(text.split()), limit)


def listed(items: list[str], most: int = 3) -> str:
    """Join names as a sentence does, naming at most `most` of them and counting the others."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def without_common_stem(categories: list[str]) -> dict[str, str]:
    """Return what each category is called where all are `one/...`: what comes after it."""
    stems = {name.partition("/")[0] for name in categories}
    if len(stems) > 1 or not all(name.partition("/")[2] for name in categories):
        return {name: name for name in categories}
    return {name: name.partition("/")[2] for name in categories}
