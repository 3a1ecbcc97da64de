"""Comparisons and verdicts as Markdown for a job summary: everything escaped, within the size that is accepted.

GitHub drops a step's summary above 1 MiB (docs.github.com, "Workflow commands", on job summaries). What does not fit is
cut from the least grave end, and the cut is said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from draftmark.bench.reporting.wording import change_of, limits, setting, span, value, word_of
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.comparing import Comparison, SettingChange
    from draftmark.results.gating import Verdict

MOST_BYTES = 1024 * 1024
"""Largest job summary of a step."""
MOST_LINES = 200
"""Findings and settings listed, at most, of each."""
_LONGEST = 300
_RESERVE = 200
"""Bytes kept free for the sentence that says what was cut."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "@": "&#64;", ":": "&#58;", '"': "&quot;"}
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!~$^=])")
_GRAVITY = ("regression", "impossible", "missing", "not comparable", "not gated", "pass")
_ICONS = {"pass": "✅", "regression": "❌", "cannot decide": "⚠️", "recorded only": "⚠️"}


def escaped(text: str) -> str:
    """Return a text that Markdown and HTML show as it is: no markup, link, mention or table border comes of it."""
    shown = harmless(text)
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    return "".join(_ENTITIES.get(part) or _MARKS.sub(r"\\\1", part) for part in shown)


def verdict_markdown(verdict: Verdict, *, most_bytes: int = MOST_BYTES) -> str:
    """Return a verdict for a job summary, the outcome first, in at most `most_bytes` bytes of UTF-8."""
    head = [f"## {_ICONS[verdict.outcome]} {verdict.outcome}", "", escaped(verdict.headline), ""]
    told = [f"- **{one.level}** {escaped(one.text)}" for one in verdict.findings]
    rows = []
    for one in sorted(verdict.judgements, key=lambda found: _GRAVITY.index(found.state)):
        cells = (
            escaped(one.cell),
            escaped(one.metric),
            value(one.baseline, one.unit),
            value(one.candidate, one.unit),
            span(one.change, one.low, one.high),
            *limits(one),
            f"**{one.state}**",
            escaped(one.text),
        )
        rows.append(f"| {' | '.join(cells)} |")
    columns = ("cell", "metric", "baseline", "candidate", "change [95%]", "tolerance", "would show", "verdict", "why")
    return _within(head, [*told, *_settings(verdict.settings)], columns, rows, most_bytes)


def comparison_markdown(comparison: Comparison, *, most_bytes: int = MOST_BYTES) -> str:
    """Return a comparison as Markdown, settings first, in at most `most_bytes` bytes of UTF-8."""
    before = ", ".join(run.name for run in comparison.baselines)
    head = [f"## {escaped(comparison.candidate.name)} against {escaped(before)}", ""]
    refused = bool(comparison.forbidding)
    changes = [*comparison.settings, *(change for cell in comparison.cells for change in cell.settings)]
    told = _settings(changes)
    told += [f"- **vanished** {escaped(f'{one.name} ({one.why})')}" for one in comparison.vanished]
    told += [f"- **new** {escaped(one.name)}" for one in comparison.appeared]
    rows = []
    for cell in comparison.cells:
        for metric in cell.metrics:
            shown = (
                escaped(cell.name),
                escaped(metric.metric),
                value(metric.baseline, metric.unit),
                value(metric.candidate, metric.unit),
                change_of(metric),
                f"**{word_of(cell, metric, refused=refused)}**",
            )
            rows.append(f"| {' | '.join(shown)} |")
    columns = ("cell", "metric", "baseline", "candidate", "change [95%]", "real?")
    return _within(head, told, columns, rows, most_bytes)


def _settings(changes: Sequence[SettingChange]) -> list[str]:
    once = dict.fromkeys(
        f"- **{'not comparable' if change.forbids else 'differs'}** {escaped(setting(change))}" for change in changes
    )
    return list(once)


def _within(head: list[str], told: list[str], columns: Sequence[str], rows: list[str], most_bytes: int) -> str:
    lines = [*head, *told[:MOST_LINES]]
    if len(told) > MOST_LINES:
        lines.append(f"- and {len(told) - MOST_LINES} more of these, cut here")
    if rows:
        lines += ["", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    size, kept = 0, []
    for line in [*lines, *rows]:
        size += len(line.encode()) + 1
        if size > most_bytes - _RESERVE:
            break
        kept.append(line)
    cut = len(lines) + len(rows) - len(kept)
    if cut:
        kept += ["", f"{cut} lines are cut here to stay within {most_bytes:,} bytes; the gravest came first."]
    return "\n".join(kept) + "\n"
