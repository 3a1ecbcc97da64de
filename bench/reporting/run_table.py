"""A run as tables for the terminal: what to doubt first, then each suite's arms, then what people misread.

Seconds become milliseconds here and shares become percent; everything that came from outside is made harmless.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from draftmark.bench.reporting.display import harmless
from draftmark.bench.running.forecast import in_words
from draftmark.results.divergences import excess
from draftmark.results.roles import is_baseline, speculates
from draftmark.results.standing import not_counted, standing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from draftmark.results.records import Divergence
    from draftmark.results.summary import CellSummary, Lamp, MetricValue, RunSummary

DASH = "-"
_MOST_NAMED = 3
_LEVELS = {"fault": "bold red", "warning": "yellow", "note": "dim", "unjudged": "dim"}
_COLUMNS = (
    "arm",
    "AL",
    "coverage",
    "draft\noverhead",
    "tok/s",
    "ms per\ntoken",
    "speed-up\n[95% interval]",
    "lossless",
)
_WAITS = (
    ("first", "ttft_p50", ".0f", 1000),
    ("last", "ttft_p99", ".0f", 1000),
    ("rate", "achieved_request_rate", ".2f", 1),
    ("met", "objectives_met", ".1%", 1),
    ("goodput", "goodput", ".2f", 1),
)
"""What is said, the metric it is, its format, and what it is multiplied by."""
_MARKED = ("acceptance_length", "coverage", "draft_overhead", "output_tps", "tpot")
_LEGEND = "tok/s counts the wait for the first token; ms per token does not."
BOUND = "~ is inferred: a bound, which the truth may fall short of."
ROUGH = "rough: an interval from few conversations."
_COMPARED = "lossless, {n} of {of}: so many answers were compared, all equal; the others could not be."


def run_lines(summary: RunSummary, *, by_category: bool = False) -> list[RenderableType]:
    """Return what `show` prints, top to bottom."""
    parts: list[RenderableType] = [heading(summary), *lamps(summary)]
    shown = [cell for cell in summary.cells if by_category or cell.category is None]
    void = not_counted(summary)
    for group in dict.fromkeys(cell.group for cell in shown):
        cells = [cell for cell in shown if cell.group == group]
        overall = [cell for cell in cells if cell.category is None]
        table = [_table(summary, cells)] if any(cell.turns_ok or cell.turns_failed for cell in overall) else []
        parts += ["", title(cells[0]), *table, *_waits(overall), *_unfinished(overall)]
        parts += [*_words(overall, void), *_hint(overall, void)]
    parts += [_failures(summary)] if summary.failures else []
    if any(isinstance(part, Table) for part in parts):
        parts += ["", *(Text(line, style="dim") for line in (_LEGEND, *_marks(shown)))]
    return parts


def _marks(cells: list[CellSummary]) -> list[str]:
    """Explain the marks that stand in the tables, each once."""
    values = [cell.metrics.get(name) for cell in cells for name in _MARKED]
    told = [BOUND] if any(metric is not None and is_bound(metric) for metric in values) else []
    speedups = [cell.metrics.get("speedup") for cell in cells if not is_baseline(cell)]
    told += [ROUGH] if any(metric is not None and rough(metric) for metric in speedups) else []
    partly = [found for cell in cells if (found := _partly_compared(cell)) is not None]
    return told + [_COMPARED.format(n=n, of=of) for n, of in partly[:1]]


def is_bound(metric: MetricValue) -> bool:
    """Say whether a number is known to lie on one side of the truth only."""
    return metric.value is not None and " bound" in (metric.note or "")


def rough(metric: MetricValue) -> str:
    """Return the word behind an interval from few conversations; empty for others."""
    return " rough" if metric.low is not None and "rough" in (metric.note or "") else ""


def _partly_compared(cell: CellSummary) -> tuple[int, int] | None:
    """Return how many answers of how many were compared and equal; null where all were, or some differ."""
    differing = cell.metrics.get("divergent_turns")
    if is_baseline(cell) or cell.category is not None or differing is None or differing.value != 0:
        return None
    return (differing.n, cell.turns_ok) if differing.n < cell.turns_ok else None


def heading(summary: RunSummary) -> Text:
    """Return which run it is and how far it got."""
    manifest = summary.manifest
    measured = sum(cell.turns_ok + cell.turns_failed for cell in summary.cells if cell.category is None)
    expected = sum(cell.turns_expected for cell in summary.cells if cell.category is None and cell.status != "left out")
    said = manifest.plan.get("thinking")
    thinking = f" thinking {said}" if isinstance(said, str) else ""
    options = manifest.plan.get("template_options")
    told = f" {json.dumps(options, ensure_ascii=False)}" if options else ""
    target = f"{manifest.target.name}{thinking}{told}"
    text = Text(harmless(f"{manifest.name}: {target}, {manifest.status}, {measured} of {expected} turns"))
    if summary.elapsed_s is not None:
        text.append(f" in {in_words(summary.elapsed_s)}")
    if manifest.plan.get("request_sampling") == "recorded":
        text.append(", request_sampling: recorded")
    return text


def lamps(summary: RunSummary) -> list[Text]:
    """Return what to doubt, the gravest first; lamps that are in order say nothing."""
    return [_lamp(lamp, summary) for level in _LEVELS for lamp in summary.lamps if lamp.level == level]


def _lamp(lamp: Lamp, summary: RunSummary) -> Text:
    where = _named(set(lamp.cells), [cell for cell in summary.cells if cell.category is None])
    return Text.assemble((f"{lamp.level}: ", _LEVELS[lamp.level]), harmless(f"{where}{lamp.text}"))


def _named(ids: set[str], cells: list[CellSummary]) -> str:
    """Say which cells a lamp speaks of: nothing for all of them, a suite for all of its arms, else suite and arms."""
    if not ids or ids >= {cell.cell_id for cell in cells}:
        return ""
    parts = []
    for suite in dict.fromkeys(cell.suite for cell in cells if cell.cell_id in ids):
        here = [cell for cell in cells if cell.suite == suite]
        arms = [cell.arm for cell in here if cell.cell_id in ids]
        if len(arms) > _MOST_NAMED and len(arms) < len(here):
            arms[_MOST_NAMED:] = [f"{len(arms) - _MOST_NAMED} more"]
        parts.append(suite if len(arms) == len(here) else f"{suite}: {', '.join(arms)}")
    return f"[{'; '.join(parts)}] "


def title(cell: CellSummary) -> Text:
    """Return the suite, backend and load that a table is about."""
    at_once = "" if cell.concurrency in (None, 1) else f", {cell.concurrency} at once"
    load = at_once if cell.open_load is None else f", {cell.open_load}"
    return Text(harmless(f"{cell.suite} ({cell.backend}{load})"), style="bold")


def _table(summary: RunSummary, cells: list[CellSummary]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in {"arm", "lossless"} else "right", vertical="bottom")
    found: dict[str, list[Divergence]] = {cell.cell_id: [] for cell in cells}
    for row in summary.divergences:
        found.setdefault(row.cell_id, []).append(row)
    control = next((found[cell.cell_id] for cell in cells if cell.control), [])
    for cell in cells:
        if cell.status != "left out":
            table.add_row(*_row(cell, Counter(row.verdict for row in excess(found[cell.cell_id], control))))
    return table


def _waits(cells: list[CellSummary]) -> list[Text]:
    """Say how long users wait and what met the objectives: for loads, and where there is no speed-up to show."""
    alone = all(cell.concurrency == 1 for cell in cells) and any(map(is_baseline, cells))
    met = [cell.metrics.get("objectives_met") for cell in cells]
    if alone and all(metric is None or metric.value is None for metric in met):
        return []
    told = [(cell.arm, _waits_of(cell)) for cell in cells if cell.turns_ok]
    return [Text(f"{harmless(arm)}: {', '.join(waits)}") for arm, waits in told if waits]


def _waits_of(cell: CellSummary) -> list[str]:
    found = {name: _number(cell.metrics.get(metric), form, times=times) for name, metric, form, times in _WAITS}
    told = []
    if found["first"] != DASH:
        told.append(f"first token after {found['first']} ms (median), {found['last']} ms (99%)")
    if cell.open_load is not None and found["rate"] != DASH:
        told.append(f"{found['rate']} requests/s sent")
    if found["met"] != DASH:
        told.append(f"objectives met by {found['met']}, goodput {found['goodput']} turns/s")
    return told


def _unfinished(cells: list[CellSummary]) -> list[Text]:
    """Say which arms were left out, do not have all of their turns, or have failed ones; equal states share a line."""
    states: dict[str, list[str]] = {}
    for cell in cells:
        if cell.status != "complete" or cell.turns_failed:
            left_out = "left out: " * (cell.status == "left out")
            states.setdefault(f"{left_out}{cell.status_text}", []).append(cell.arm)
    return [Text(harmless(f"{', '.join(arms)}: {state}"), style="dim") for state, arms in states.items()]


def _row(cell: CellSummary, verdicts: Counter[str]) -> list[Text | str]:
    return [
        Text(harmless(cell.arm if cell.category is None else f"  {cell.category}")),
        _number(cell.metrics.get("acceptance_length"), ".2f"),
        _number(cell.metrics.get("coverage"), ".0%"),
        _number(cell.metrics.get("draft_overhead"), ".0%"),
        _number(cell.metrics.get("output_tps"), ".1f"),
        _number(cell.metrics.get("tpot"), ".1f", times=1000),
        _speedup(cell),
        _lossless(cell, verdicts),
    ]


def _number(metric: MetricValue | None, form: str, *, times: float = 1) -> str:
    if metric is None or metric.value is None:
        return DASH
    return f"{'~' * is_bound(metric)}{metric.value * times:{form}}"


def _speedup(cell: CellSummary) -> str:
    metric = cell.metrics.get("speedup")
    if is_baseline(cell) and cell.turns_ok:
        return "1 (baseline)"
    if metric is None or metric.value is None:
        return DASH
    if metric.low is None or metric.high is None:
        return f"{metric.value:.2f}x, no interval"
    return f"{metric.value:.2f}x [{metric.low:.2f}, {metric.high:.2f}]{rough(metric)}"


def _words(cells: list[CellSummary], void: Mapping[str, str]) -> list[Text]:
    """Say in words what the intervals mean: which arms are surely faster or slower, and which not surely either.

    `void` says why the speed of some cells does not count; the words about these say it as well, and come last.
    """
    said: dict[str, list[str]] = {"faster": [], "slower": [], "no clear difference": []}
    for cell in sorted(cells, key=lambda cell: cell.cell_id in void):
        word = standing(cell.metrics.get("speedup")) if speculates(cell) else None
        if word is not None:
            why = void.get(cell.cell_id)
            said.setdefault(word if why is None else f"{word}, but not counted ({why})", []).append(cell.arm)
    parts = [f"{word}: {', '.join(arms)}" for word, arms in said.items() if arms]
    return [Text(harmless(f"Against none: {'; '.join(parts)}."))] if parts else []


def _lossless(cell: CellSummary, verdicts: Counter[str]) -> Text | str:
    """Return yes, `7 of 11` where no more were compared, or how many answers left the baseline's and why; else a dash.

    `verdicts` counts the divergences beyond the control's; one that only differs where the control does says how often.
    """
    differing = cell.metrics.get("divergent_turns")
    if is_baseline(cell) or cell.category is not None:
        return ""
    if differing is None or differing.value is None:
        return DASH
    if differing.value == 0:
        partly = _partly_compared(cell)
        return "yes" if partly is None else "{} of {}".format(*partly)
    words = {"fault": ("fault", "bold red"), "unknown": ("unexplained", "yellow"), "numeric-tie": ("tied", "")}
    found = [(verdicts[key], *words[key]) for key in words if verdicts[key]]
    if not found:
        return f"{differing.value:.0f} differ"
    return Text(", ").join(
        Text(f"{n} {word}{'s' * (n > 1 and word != 'unexplained')}", style) for n, word, style in found
    )


def _hint(cells: list[CellSummary], void: Mapping[str, str]) -> list[Text]:
    """Say so where the arm that accepts most is not the fastest: the field's favourite mistake.

    Only arms with all of their turns and without a cause in `void` count: there is no lesson in others.
    """
    both = [
        (length.value, speedup.value, cell)
        for cell in cells
        if speculates(cell)
        and cell.cell_id not in void
        and (length := cell.metrics.get("acceptance_length")) is not None
        and (speedup := cell.metrics.get("speedup")) is not None
        and length.value is not None
        and speedup.value is not None
        and cell.status == "complete"
    ]
    if len(both) < 2:
        return []
    longest, fastest = max(both, key=lambda item: item[0]), max(both, key=lambda item: item[1])
    if longest[2] is fastest[2]:
        return []
    text = (
        f"Acceptance length is not speed-up: {longest[2].arm} has the highest ({longest[0]:.2f}) and runs at "
        f"{longest[1]:.2f}x, while {fastest[2].arm} is the fastest at {fastest[1]:.2f}x with {fastest[0]:.2f}."
    )
    return [Text(harmless(text), style="italic")]


def _failures(summary: RunSummary) -> Text:
    lines = [f"{len(summary.failures)} turns failed; they are counted apart and in no number above:"]
    kinds = Counter((failure["kind"], failure["message"]) for failure in summary.failures)
    lines += [f"  {count} x {kind}: {message}" for (kind, message), count in kinds.most_common(5)]
    return Text(harmless("\n".join(lines), keep_newlines=True))
