"""Comparisons and verdicts for the terminal: the answer first, then what differs, then every number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from draftmark.bench.reporting.display import cell_text
from draftmark.bench.reporting.wording import change_of, limits, setting, span, value, word_of
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from draftmark.results.comparing import Comparison, SettingChange
    from draftmark.results.gating import Verdict

MOST_TOLD = 12
"""Settings that are only told, at most; the others are counted."""
_OUTCOMES = {
    "pass": "bold green",
    "regression": "bold red",
    "cannot decide": "bold yellow",
    "recorded only": "bold yellow",
}
_STATES = {
    "regression": "bold red",
    "pass": "green",
    "not gated": "dim",
    "missing": "yellow",
    "impossible": "yellow",
    "not comparable": "dim",
}
_WORDS = {"worse": "red", "better": "green", "not comparable": "dim", "not known": "dim", "not compared": "dim"}
_LEVELS = {"regression": "bold red", "cannot decide": "yellow", "told": "dim"}


def comparison_lines(comparison: Comparison) -> list[RenderableType]:
    """Return what `compare` prints, top to bottom."""
    names = [f"{run.name} ({run.folder})" for run in (*comparison.baselines, comparison.candidate)]
    lines: list[RenderableType] = [Text(harmless(f"{names[-1]} against {', '.join(names[:-1])}"), style="bold")]
    refused = bool(comparison.forbidding)
    in_cells = [change for cell in comparison.cells for change in cell.settings]
    lines += _settings([*comparison.settings, *in_cells])
    lines += [Text(harmless(f"vanished: {one.name} ({one.why})"), style="yellow") for one in comparison.vanished]
    lines += [Text(harmless(f"new: {one.name} ({one.why})")) for one in comparison.appeared]
    if not comparison.cells:
        return [*lines, Text("0 compared: the runs have no cell in common.", style="bold yellow")]
    table = _table("cell", "metric", "baseline", "candidate", "change [95% interval]", "real?", "known by")
    notes: dict[str, None] = {}
    for cell in comparison.cells:
        for number, metric in enumerate(cell.metrics):
            word = word_of(cell, metric, refused=refused)
            table.add_row(
                cell_text(cell.name) if number == 0 else "",
                metric.metric,
                value(metric.baseline, metric.unit),
                value(metric.candidate, metric.unit),
                Text(change_of(metric), style="dim" if word == "not comparable" else ""),
                Text(word, style=_WORDS.get(word, "")),
                f"{metric.method}, {metric.pairs} prompts" if metric.pairs else metric.method,
            )
            notes |= dict.fromkeys([*metric.notes, *([metric.reason] if metric.reason else [])])
    lines.append(table)
    lines += [Text(harmless(note), style="dim") for note in list(notes)[:MOST_TOLD]]
    return lines


def verdict_lines(verdict: Verdict) -> list[RenderableType]:
    """Return what `gate` prints, the verdict first."""
    lines: list[RenderableType] = [
        Text.assemble((f"{verdict.outcome}: ", _OUTCOMES[verdict.outcome]), harmless(verdict.headline))
    ]
    names = [f"{run.name} ({run.folder})" for run in verdict.baselines]
    if names:
        candidate = verdict.candidate
        lines.append(Text(harmless(f"{candidate.name} ({candidate.folder}) against {', '.join(names)}")))
    lines += [Text.assemble((f"{one.level}: ", _LEVELS[one.level]), harmless(one.text)) for one in verdict.findings]
    lines += _settings(verdict.settings)
    if verdict.judgements:
        table = _table("cell", "metric", "baseline", "candidate", "change [95% interval]", "tolerance", "would show")
        table.add_column("verdict")
        for one in verdict.judgements:
            tolerance, smallest = limits(one)
            table.add_row(
                cell_text(one.cell),
                one.metric,
                value(one.baseline, one.unit),
                value(one.candidate, one.unit),
                span(one.change, one.low, one.high),
                tolerance,
                smallest,
                Text.assemble((one.state, _STATES[one.state]), harmless(f": {one.text}")),
            )
        lines.append(table)
    if verdict.tests:
        text = (
            f"{verdict.compared} compared, {verdict.tests} tested; over all of these together a run without any "
            f"change is red in at most {verdict.false_alarms:.0%} of nights. "
            "'would show' is the smallest loss seen in 8 of 10."
        )
        lines.append(Text(text, style="dim"))
    return lines


def _settings(changes: Sequence[SettingChange]) -> list[RenderableType]:
    once = list({(change.field, repr(change.before), repr(change.after)): change for change in changes}.values())
    forbidding = [change for change in once if change.forbids]
    told = [change for change in once if not change.forbids]
    lines: list[RenderableType] = [
        Text.assemble(("not comparable: ", "bold yellow"), harmless(setting(change))) for change in forbidding
    ]
    lines += [Text(harmless(f"differs: {setting(change)}")) for change in told[:MOST_TOLD]]
    if len(told) > MOST_TOLD:
        lines.append(Text(f"and {len(told) - MOST_TOLD} more settings differ; --json lists them", style="dim"))
    return lines


def _table(*names: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    left: Iterable[str] = {"cell", "metric", "real?", "known by"}
    for name in names:
        table.add_column(name, justify="left" if name in left else "right")
    return table
