"""A run as tables for the terminal: what to doubt first, then each suite's arms, then what people misread.

Seconds become milliseconds here and shares become percent; everything that came from outside is made harmless.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from draftmark.bench.cli.display import harmless
from draftmark.bench.forecast import in_words

if TYPE_CHECKING:
    from rich.console import RenderableType

    from draftmark.results.summary import CellSummary, Flag, MetricValue, RunSummary

DASH = "-"
_MOST_NAMED = 3
_LEVELS = {"fault": "bold red", "warning": "yellow", "note": "dim"}
_COLUMNS = (
    "arm",
    "D",
    "AL",
    "coverage",
    "draft overhead",
    "tok/s",
    "ms/token",
    "speed-up [95% interval]",
    "",
    "lossless",
)
_VERDICTS = {"fault": ("faulty", "bold red"), "unknown": ("unexplained", "yellow"), "numeric-tie": ("tied", "")}


def run_lines(summary: RunSummary, *, by_category: bool = False) -> list[RenderableType]:
    """Return what `show` prints, top to bottom."""
    parts: list[RenderableType] = [_heading(summary)]
    parts += [_flag(flag, summary) for level in _LEVELS for flag in summary.flags if flag.level == level]
    shown = [cell for cell in summary.cells if by_category or cell.category is None]
    for group in dict.fromkeys(cell.group for cell in shown):
        cells = [cell for cell in shown if cell.group == group]
        parts += [_table(summary, cells), *_left_out(cells)]
        parts += _hint([cell for cell in cells if cell.category is None])
    parts += [_failures(summary)] if summary.failures else []
    return parts


def _heading(summary: RunSummary) -> Text:
    manifest = summary.manifest
    measured = sum(cell.turns_ok + cell.turns_failed for cell in summary.cells if cell.category is None)
    expected = sum(cell.turns_expected for cell in summary.cells if cell.category is None and cell.status != "left out")
    text = Text(harmless(f"{manifest.name}: {manifest.target.name}, {manifest.status}, {measured} of {expected} turns"))
    if summary.elapsed_s is not None:
        text.append(f" in {in_words(summary.elapsed_s)}")
    return text


def _flag(flag: Flag, summary: RunSummary) -> Text:
    named = {cell.cell_id: f"{cell.suite}, {cell.arm}" for cell in summary.cells}
    about = [named[cell_id] for cell_id in flag.cells if cell_id in named]
    if len(about) > _MOST_NAMED:
        about[_MOST_NAMED:] = [f"{len(about) - _MOST_NAMED} more"]
    where = f"[{'; '.join(about)}] " if about else ""
    return Text.assemble((f"{flag.level}: ", _LEVELS[flag.level]), harmless(where + flag.text))


def _table(summary: RunSummary, cells: list[CellSummary]) -> Table:
    first = cells[0]
    load = f", {first.concurrency} at once" if first.concurrency > 1 else ""
    table = Table(title=Text(harmless(f"{first.suite} ({first.backend}{load})"), style="bold"), title_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in {"arm", "", "lossless"} else "right")
    verdicts = {cell.cell_id: Counter[str]() for cell in cells}
    for row in summary.divergences:
        verdicts.setdefault(row.cell_id, Counter())[row.verdict] += 1
    for cell in cells:
        if cell.status != "left out":
            table.add_row(*_row(cell, verdicts[cell.cell_id]))
    return table


def _left_out(cells: list[CellSummary]) -> list[Text]:
    return [
        Text(harmless(f"{cell.arm} is left out: {cell.status_text}"), style="dim")
        for cell in cells
        if cell.status == "left out" and cell.category is None
    ]


def _row(cell: CellSummary, verdicts: Counter[str]) -> list[Text | str]:
    name = cell.arm if cell.category is None else f"  {cell.category}"
    status = "" if cell.status == "complete" and not cell.turns_failed else f" ({cell.status_text})"
    return [
        Text(harmless(name + status)),
        str(cell.draft_length),
        _number(cell.metrics.get("acceptance_length"), ".2f"),
        _number(cell.metrics.get("coverage"), ".0%"),
        _number(cell.metrics.get("draft_overhead"), ".0%"),
        _number(cell.metrics.get("output_tps"), ".1f"),
        _number(cell.metrics.get("tpot"), ".1f", times=1000),
        _speedup(cell),
        _verdict(cell),
        _lossless(cell, verdicts),
    ]


def _number(metric: MetricValue | None, form: str, *, times: float = 1) -> str:
    return DASH if metric is None or metric.value is None else format(metric.value * times, form)


def _speedup(cell: CellSummary) -> str:
    metric = cell.metrics.get("speedup")
    if _is_baseline(cell) and cell.turns_ok:
        return "1 (baseline)"
    if metric is None or metric.value is None:
        return DASH
    if metric.low is None or metric.high is None:
        return f"{metric.value:.2f}x (no interval)"
    return f"{metric.value:.2f}x [{metric.low:.2f}, {metric.high:.2f}]"


def _verdict(cell: CellSummary) -> Text | str:
    metric = cell.metrics.get("speedup")
    if _is_baseline(cell) or metric is None or metric.low is None or metric.high is None:
        return ""
    if metric.low > 1:
        return Text("faster", style="green")
    return Text("slower", style="red") if metric.high < 1 else "no clear difference"


def _lossless(cell: CellSummary, verdicts: Counter[str]) -> Text | str:
    """Return yes, or how many answers left the baseline's and why; a dash where answers could not be compared."""
    differing = cell.metrics.get("divergent_turns")
    if _is_baseline(cell) or cell.category is not None:
        return ""
    if differing is None or differing.value is None:
        return DASH
    if differing.value == 0:
        return "yes"
    words = {"fault": ("fault", "bold red"), "unknown": ("unexplained", "yellow"), "numeric-tie": ("tied", "")}
    found = [(verdicts[key], *words[key]) for key in words if verdicts[key]]
    if not found:
        return f"{differing.value:.0f} differ"
    return Text(", ").join(
        Text(f"{n} {word}{'s' * (n > 1 and word != 'unexplained')}", style) for n, word, style in found
    )


def _is_baseline(cell: CellSummary) -> bool:
    return cell.drafter == "none" and not cell.control


def _hint(cells: list[CellSummary]) -> list[Text]:
    """Say so where the arm that accepts most is not the fastest: the field's favourite mistake."""
    both = [
        (length.value, speedup.value, cell)
        for cell in cells
        if cell.drafter != "none"
        and (length := cell.metrics.get("acceptance_length")) is not None
        and (speedup := cell.metrics.get("speedup")) is not None
        and length.value is not None
        and speedup.value is not None
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
