"""What `draftmark suites from-traffic` says of a log that it turned into a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.bench.reporting.display import harmless
from draftmark.suites.traffic.conversion import PARTS

if TYPE_CHECKING:
    from collections.abc import Collection

    from draftmark.suites.traffic.conversion import Report

MOST_NAMES = 20
"""Names that are shown of those that stay readable."""

_NOT_SET = '"not set"'


def traffic_lines(report: Report) -> list[str]:
    """Return what became of a log, and how a plan asks it, as harmless lines."""
    lines = [f"{_requests(report.written)} written to {report.suite}"]
    for reason, where in report.left_out.items():
        shown = ", ".join(map(str, where[:5])) + (", ..." if len(where) > 5 else "")
        each = "which" if len(where) == 1 else "each"
        places = "line" if len(where) == 1 else "lines"
        lines.append(f"left out: {_requests(len(where))}, {each} {reason} ({places} {shown})")
    lines += [f"  {sentence}" for sentence in report.bad]
    if report.over_limit:
        lines.append(f"left out: {_requests(report.over_limit, 'later ')} (--limit)")
    if report.trace is not None:
        lines.append(f"arrivals over {report.span_s:,.3g} s written to {report.trace}")
    if report.without_time:
        have = "has" if report.without_time == 1 else "have"
        lines.append(f"{_requests(report.without_time)} {have} no time, so no trace begins them")
    if report.parts:
        told = ", ".join(f"{part} ({report.parts[part]:,})" for part in PARTS if report.parts[part])
        lines.append(f"requests that have more than messages: {told}; --without leaves such requests out")
    lines += _sampling(report)
    if report.hashed and (report.tool_names or report.parameter_names):
        named = [("names of tools", report.tool_names), ("names of parameters", report.parameter_names)]
        lines.append("still readable: " + "; ".join(f"{what} ({_shown(names)})" for what, names in named if names))
    repeats = ", allow_repeats: true" if report.repeated else ""
    lines += ["Entries in a plan:", f"  suites: [{{kind: jsonl, path: {report.suite}{repeats}}}]"]
    if report.trace is not None:
        lines.append(f"  load: {{kind: trace, path: {report.trace}}}")
    return [harmless(line) for line in lines]


def _sampling(report: Report) -> list[str]:
    lines = []
    for setting, counts in report.sampling.items():
        if set(counts) != {_NOT_SET}:
            told = ", ".join(f"{value} ({count:,})" for value, count in counts.most_common(5))
            lines.append(f"{setting} as recorded: {told}")
    if lines:
        lines.append("a run samples by its plan; request_sampling: recorded samples each request as it was")
    if report.not_replayed:
        told = ", ".join(f"{setting} ({report.not_replayed[setting]:,})" for setting in sorted(report.not_replayed))
        lines.append(f"kept in the file, replayed by no run: {told}")
    return lines


def _requests(number: int, kind: str = "") -> str:
    return f"{number:,} {kind}request{'' if number == 1 else 's'}"


def _shown(names: Collection[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(sorted(names)[:MOST_NAMES]) + more
