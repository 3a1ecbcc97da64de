"""What decides besides the metrics: lamps that are faults, lost output, failed and missing turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.gating.verdict import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.comparing.changes import CellChange, Comparison, SettingChange
    from draftmark.results.gating.rules import Rules
    from draftmark.results.summary import Lamp, RunSummary


def run_findings(
    comparison: Comparison,
    candidate: RunSummary,
    baselines: Sequence[RunSummary],
    forbidding: Sequence[SettingChange],
) -> list[Finding]:
    """Return what is found of whole runs, the gravest first."""
    found = [*_faults(candidate), *_unfinished(comparison)]
    for summary in baselines:
        found += [
            Finding(level="cannot decide", text=f"the baseline is unfit: {lamp.text}")
            for lamp in summary.lamps
            if lamp.level == "fault" and lamp.name != "losslessness" and not _of_control_alone(lamp, summary)
        ]
    found += [
        Finding(
            level="cannot decide", text=f"not comparable: {change.field} was {change.before!r}, is {change.after!r}"
        )
        for change in forbidding
    ]
    return found


def lone_findings(candidate: RunSummary) -> list[Finding]:
    """Return what is found of a run by itself, where there is nothing to compare it with."""
    found = list(_faults(candidate))
    status = candidate.manifest.status
    if status != "complete":
        found.append(Finding(level="cannot decide", text=_resume("candidate", status)))
    if not any(cell.turns_ok for cell in candidate.cells):
        found.append(Finding(level="cannot decide", text="no turn of the candidate run succeeded"))
    return found


def _resume(which: str, status: str) -> str:
    return f"the {which} run is {status}: resume it before it is judged"


def _faults(candidate: RunSummary) -> Iterator[Finding]:
    """Yield faults of the candidate: output that speculation changed is red, numbers that are void decide nothing."""
    for lamp in candidate.lamps:
        if lamp.level == "fault":
            lossless = lamp.name != "losslessness"
            where = _where(lamp, candidate)
            yield Finding(level="cannot decide" if lossless else "regression", text=f"{lamp.name}: {where}{lamp.text}")


def _of_control_alone(lamp: Lamp, summary: RunSummary) -> bool:
    controls = {cell.cell_id for cell in summary.cells if cell.control}
    return bool(lamp.cells) and set(lamp.cells) <= controls


def _where(lamp: Lamp, summary: RunSummary) -> str:
    arms = [
        f"{cell.suite}, {cell.arm}" for cell in summary.cells if cell.category is None and cell.cell_id in lamp.cells
    ]
    more = f" and {len(arms) - 2} more" if len(arms) > 2 else ""
    return f"{'; '.join(arms[:2])}{more}: " if arms else ""


def _unfinished(comparison: Comparison) -> Iterator[Finding]:
    if comparison.candidate.status != "complete":
        yield Finding(level="cannot decide", text=_resume("candidate", comparison.candidate.status))
    for run in comparison.baselines:
        if run.status != "complete":
            yield Finding(level="cannot decide", text=_resume("baseline", run.status))
    ids = [run.run_id for run in comparison.baselines]
    if comparison.candidate.run_id in ids:
        yield Finding(level="cannot decide", text="the candidate is its own baseline: this is one run")
    for twice in dict.fromkeys(one for one in ids if ids.count(one) > 1):
        text = f"the baseline {twice} is there twice: rounds of one run do not count again; name it once"
        yield Finding(level="cannot decide", text=text)


def cell_findings(cell: CellChange, candidate: RunSummary, rules: Rules) -> Iterator[Finding]:
    """Yield what keeps a cell from being judged: turns that failed or are missing."""
    if cell.unfinished is not None:
        yield Finding(level="cannot decide", text=f"{cell.name}: {cell.unfinished}")
    summary = next(one for one in candidate.cells if one.category is None and one.cell_id == cell.candidate_id)
    asked = summary.turns_ok + summary.turns_failed
    before, after = cell.failed_share
    if after - before > rules.failed_turns:
        failed = f"{summary.turns_failed} of {asked} turns failed, {after:.1%} (baseline: {before:.1%})"
        text = f"{cell.name}: {failed}, and failed turns count in no number"
        yield Finding(level="cannot decide", text=text)
