"""Runs judged against their baselines: what `draftmark gate` and `draftmark run --against` do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.bench.gating.baseline import is_missing
from draftmark.results.comparing import RunName, Side, compare_runs
from draftmark.results.errors import ResultsError
from draftmark.results.gating import Rules, Verdict, judge, without_baseline
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def gate_runs(
    baselines: Sequence[Path], candidate: Path, rules: Rules | None = None, *, allow_missing: bool = False
) -> Verdict:
    """Judge a run by its baseline runs.

    Raises `ResultsError` for a folder that is no run and for a baseline that is missing; with `allow_missing` a missing
    one is left out, and where none is left the run is recorded only.
    """
    rules = Rules() if rules is None else rules
    missing = [folder for folder in baselines if is_missing(folder)]
    if (missing or not baselines) and not allow_missing:
        where = f"there is no run in {missing[0]}" if missing else "name one with --baseline"
        raise ResultsError(
            f"no baseline: {where}, so 0 compared; --allow-missing-baseline lets a first run pass without one"
        )
    side = Side(RunStore.read(candidate))
    there = [folder for folder in baselines if folder not in missing]
    if not there:
        manifest = side.run.manifest
        name = RunName(run_id=manifest.run_id, name=manifest.name, folder=str(candidate), status=manifest.status)
        why = f"there is no run in {missing[0]}" if missing else "none was named"
        return without_baseline(name, side.summary, why)
    sides = [Side(RunStore.read(folder)) for folder in there]
    comparison = compare_runs(sides, side, metrics=list(rules.metrics), renamed=rules.renamed)
    return judge(comparison, rules, candidate=side.summary, baselines=[one.summary for one in sides])
