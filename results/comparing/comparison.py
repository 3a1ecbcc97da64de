"""Two runs, or one run and several baselines of it, compared cell by cell and metric by metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.comparing.changes import CellChange, Comparison, Ended, RunName, SettingChange
from draftmark.results.comparing.differences import applies, declared, metric_change
from draftmark.results.comparing.matching import cell_names, match_cells
from draftmark.results.comparing.settings import cell_changes, run_changes
from draftmark.results.errors import ResultsError
from draftmark.results.roles import speculates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from draftmark.results.comparing.side import Cell, Side
    from draftmark.results.summary import CellSummary

DEFAULT_METRICS = ("speedup", "acceptance_length", "acceptance_rate", "output_tps", "tpot", "ttft", "step_time")
"""What is compared unless metrics are named."""


def compare_runs(
    baselines: Sequence[Side],
    candidate: Side,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    renamed: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare a run with one baseline run or several equal ones, whose rounds are taken together.

    Args:
        baselines: One at least; their order does not matter but for the values shown, which are the first's.
        candidate: The run in question.
        metrics: Names of declared metrics; `ResultsError` for others.
        renamed: The baseline's cell to the candidate's, by name or id, for cells that became others on purpose.
    """
    for name in metrics:
        declared(name)
    matchings = [match_cells(side.cells, candidate.cells, renamed) for side in baselines]
    _known(renamed or {}, baselines, candidate)
    partners: dict[str, list[tuple[int, str]]] = {}
    mapped: dict[str, str] = {}
    for number, (side, matching) in enumerate(zip(baselines, matchings, strict=True)):
        names = cell_names(side.cells)
        for pair in matching.pairs:
            partners.setdefault(pair.after.cell_id, []).append((number, pair.before.cell_id))
            if pair.renamed:
                mapped[pair.after.cell_id] = names[pair.before.cell_id]
    names = cell_names(candidate.cells)
    cells = [
        _cell(
            [baselines[number].cell(cell_id) for number, cell_id in partners[record.cell_id]],
            candidate.cell(record.cell_id),
            names[record.cell_id],
            mapped.get(record.cell_id),
            metrics,
        )
        for record in candidate.cells
        if record.cell_id in partners and not record.key.arm.control
    ]
    appeared = [ended for ended in matchings[0].appeared if ended.cell_id not in partners]
    return Comparison(
        baselines=[_run_name(side) for side in baselines],
        candidate=_run_name(candidate),
        settings=_once(
            change for side in baselines for change in run_changes(side.run.manifest, candidate.run.manifest)
        ),
        cells=cells,
        vanished=_each_once(ended for matching in matchings for ended in matching.vanished),
        appeared=appeared,
    )


def _cell(
    before: Sequence[Cell], after: Cell, name: str, renamed_from: str | None, metrics: Sequence[str]
) -> CellChange:
    drafts = speculates(after.record.key.arm)
    settings = _once(
        change
        for cell in before
        for change in cell_changes(cell.record, after.record, cached=(cell.cached, after.cached))
    )
    summary = after.summary
    variation = [cell.summary.metrics.get("output_tps_repeat_cv") for cell in (before[0], after)]
    return CellChange(
        name=name,
        baseline_id=before[0].record.cell_id,
        candidate_id=after.record.cell_id,
        renamed_from=renamed_from,
        speculates=drafts,
        settings=settings,
        metrics=[metric_change(metric, before, after) for metric in metrics if applies(metric, drafts=drafts)],
        repeat_cv=(variation[0].value if variation[0] else None, variation[1].value if variation[1] else None),
        failed_share=(_failed_share([cell.summary for cell in before]), _failed_share([summary])),
        unfinished=_unfinished([cell.summary for cell in before], summary),
    )


def _failed_share(cells: Sequence[CellSummary]) -> float:
    asked = sum(cell.turns_ok + cell.turns_failed for cell in cells)
    return sum(cell.turns_failed for cell in cells) / asked if asked else 0.0


def _unfinished(before: Sequence[CellSummary], after: CellSummary) -> str | None:
    if after.status == "partial":
        return after.status_text
    return next((f"in the baseline {cell.status_text}" for cell in before if cell.status == "partial"), None)


def _known(renamed: Mapping[str, str], baselines: Sequence[Side], candidate: Side) -> None:
    old = {name for side in baselines for pair in cell_names(side.cells).items() for name in pair}
    new = {name for pair in cell_names(candidate.cells).items() for name in pair}
    for was, now in renamed.items():
        if was not in old:
            raise ResultsError(f"renamed: no baseline has a cell {was!r}; `draftmark compare` prints the names")
        if now not in new:
            raise ResultsError(f"renamed: the candidate has no cell {now!r}; `draftmark compare` prints the names")
    ids = {key: cell_id for cell_id, name in cell_names(candidate.cells).items() for key in (cell_id, name)}
    goals = [ids[now] for now in renamed.values()]
    for was, now in renamed.items():
        if goals.count(ids[now]) > 1:
            raise ResultsError(f"renamed: {was!r} and another cell both become {now!r}; one cell can be only one")


def _once(changes: Iterable[SettingChange]) -> list[SettingChange]:
    found: list[SettingChange] = []
    for change in changes:
        if change not in found:
            found.append(change)
    return sorted(found, key=lambda change: not change.forbids)


def _each_once(ended: Iterable[Ended]) -> list[Ended]:
    return list({one.name: one for one in ended}.values())


def _run_name(side: Side) -> RunName:
    manifest = side.run.manifest
    return RunName(run_id=manifest.run_id, name=manifest.name, folder=str(side.run.path), status=manifest.status)
