"""From the text of a metrics endpoint to counters: added up over engines, with restarts noticed.

Read by the parsers of `prometheus_client`, so that quotes, braces and commas in labels, the order of labels and both
text formats are its business. Counters begin at zero again when their process does: a difference across that is no
count.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from draftmark.backends.base import BackendError
from draftmark.results.counter_names import RESETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client.samples import Sample

STARTED = "process_start_time_seconds"
"""What the official clients export: another value means another process."""
_POSITION = "position"
_TOTAL = "_total"
_NAME = re.compile(r"^[^{]*")


class MetricsUnreadable(BackendError):
    """A metrics endpoint gave something that is no counter."""


def read_series(text: str, names: Mapping[str, str]) -> dict[str, float]:
    """Return the counters of an exposition, one number per series.

    Args:
        text: Prometheus text format or OpenMetrics.
        names: What the server calls a counter, less `_total`, to what it is called here.

    Returns:
        `name{label="value",...}` to its value, labels in alphabetical order; a counter with a `position` label, counted
        from 0, is `name[k]{...}` with k from 1. `process_start_time_seconds` is there where the server has it.

    Raises:
        MetricsUnreadable: it is no exposition, a counter is not a number from 0, or a series is there twice.
    """
    found: dict[str, float] = {}
    for sample in _samples(text):
        own = sample.name.removesuffix(_TOTAL)
        name = STARTED if sample.name == STARTED else names.get(own)
        if name is None:
            continue
        labels = dict(sample.labels)
        place = labels.pop(_POSITION, None)
        if place is not None:
            name = f"{name}[{_position(sample.name, place)}]"
        series = name + "{" + ",".join(f"{key}={json.dumps(labels[key])}" for key in sorted(labels)) + "}"
        value = float(sample.value)
        if not (math.isfinite(value) and value >= 0):
            raise MetricsUnreadable(f"the counter {sample.name} of the metrics endpoint is {value:g}, no count")
        if series in found:
            raise MetricsUnreadable(f"the metrics endpoint has the counter {sample.name} twice with the same labels")
        found[series] = value
    return found


def summed(series: Mapping[str, float]) -> dict[str, float]:
    """Add series up by their name; when processes began is no count and is left out."""
    sums: dict[str, float] = {}
    for key, value in series.items():
        name = name_of(key)
        if name != STARTED:
            sums[name] = sums.get(name, 0.0) + value
    return sums


def name_of(series: str) -> str:
    """Return the name of a series without its labels."""
    found = _NAME.match(series)
    return found.group() if found else series


def reset_between(before: Mapping[str, float], after: Mapping[str, float]) -> str | None:
    """Return why two snapshots of series do not count the same processes; null where they do.

    A sum over engines hides one that began anew while others went on, so each series is looked at.
    """
    for series, was in before.items():
        now = after.get(series)
        if name_of(series) == STARTED:
            if now is not None and now != was:
                return "the server's process began anew in between"
        elif now is None:
            return f"the counter {series} is gone: the server was restarted in between"
        elif now < was:
            return f"the counter {series} went back from {was:g} to {now:g}: the server was restarted in between"
    return None


def window(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float] | str:
    """Return what was counted between two snapshots of series, by name; else why nothing can be said.

    A series that appears in between began at zero, as labels do that are first used then.
    """
    reason = reset_between(before, after)
    if reason is not None:
        return reason
    first = summed(before)
    return {name: value - first.get(name, 0.0) for name, value in summed(after).items()}


class Series:
    """Snapshots of one server's series over time; counts the restarts between them."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._resets = 0
        self.reason: str | None = None
        """Of the last restart that was seen."""

    def sums(self, series: Mapping[str, float]) -> dict[str, float]:
        """Return a snapshot's sums by name, with the number of restarts seen so far as a counter of its own."""
        reason = reset_between(self._last, series)
        if reason is not None:
            self._resets += 1
            self.reason = reason
        self._last = dict(series)
        return {**summed(series), RESETS: float(self._resets)}


def _samples(text: str) -> Iterable[Sample]:
    from prometheus_client import parser
    from prometheus_client.openmetrics import parser as openmetrics

    parse = openmetrics if text.rstrip().endswith("# EOF") else parser
    try:
        return [one for family in parse.text_string_to_metric_families(text) for one in family.samples]
    except (ValueError, KeyError, IndexError) as fault:
        raise MetricsUnreadable(f"what the metrics endpoint gave is no Prometheus text: {fault}") from fault


def _position(name: str, place: str) -> int:
    if not place.isascii() or not place.isdigit():
        raise MetricsUnreadable(f"the counter {name} of the metrics endpoint has the position {place!r}, no number")
    return int(place) + 1
