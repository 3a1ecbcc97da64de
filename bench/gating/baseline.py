"""Is there a baseline, and will it do? Asked before the expensive run, of what is known before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.comparing.matching import match_cells
from draftmark.results.comparing.settings import cell_changes, run_changes
from draftmark.results.errors import ResultsError
from draftmark.results.gating.rules import Rules
from draftmark.results.records import ModelIdentity, RunManifest, Session
from draftmark.results.run_folder.reader import MANIFEST
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from draftmark.results.comparing.changes import SettingChange
    from draftmark.results.records import CellRecord, Environment

MOST_NAMED = 5
_TOLD_BY_A_PLAN = ("plan", "chat_template_hash", "template_date", "thinking")


def is_missing(folder: Path) -> bool:
    """Say whether there is no baseline at all: no such folder, or an empty one.

    A folder with anything in it that is no run is not missing but wrong.
    """
    if (folder / MANIFEST).exists():
        return False
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def check_baseline(
    cells: Sequence[CellRecord],
    folder: Path,
    *,
    planned: RunManifest | None = None,
    environment: Environment | None = None,
    target: ModelIdentity | None = None,
    rules: Rules | None = None,
) -> list[str]:
    """Refuse a baseline that the gate could not decide by, before anything is run.

    Args:
        cells: What is about to be run, as planned.
        folder: The baseline run.
        planned: How the new run will begin; null leaves its template and thinking to the gate.
        environment: This machine; null leaves the hardware to the gate.
        target: The weights at hand; null leaves them to the gate.
        rules: Of the gate that will follow; the defaults if null.

    Returns:
        Sentences about what will keep single cells from being judged: new cells, and cells whose settings differ.

    Raises:
        ResultsError: there is no such run, it is damaged or unfinished, it has no turn or no cell in common with the
            plan, or it ran with settings or on a machine that nothing here can be compared with.
    """
    rules = Rules() if rules is None else rules
    if is_missing(folder):
        raise ResultsError(f"no baseline: there is no run in {folder}; run the plan once without --against to make one")
    run = RunStore.read(folder)
    manifest = run.manifest
    if manifest.status in ("running", "interrupted"):
        raise ResultsError(f"the baseline {folder} is {manifest.status}: resume it, or name another run")
    matching = match_cells(manifest.cells, cells, rules.renamed)
    pairs = [pair for pair in matching.pairs if not pair.after.key.arm.control]
    if not pairs:
        raise ResultsError(f"the baseline {folder} has no cell in common with this plan (0 of {len(cells)} cells)")
    forbidding = _of_run(manifest, planned, environment, target, rules)
    if forbidding:
        raise ResultsError(f"the baseline {folder} cannot be compared with a run here: {_listed(forbidding)}")
    differing = {pair.after.cell_id: _forbidding(cell_changes(pair.before, pair.after), rules) for pair in pairs}
    fit = [pair for pair in pairs if not differing[pair.after.cell_id]]
    if not fit:
        changes = list({change.field: change for found in differing.values() for change in found}.values())
        raise ResultsError(f"the baseline {folder} cannot be compared with this plan: {_listed(changes)}")
    if not any(next(run.turns(pair.before.cell_id), None) is not None for pair in fit):
        raise ResultsError(f"the baseline {folder} has no turn in any cell of this plan; run it to its end")
    gone = set(rules.vanished)
    return [
        *(
            f"{one.name} of the baseline is not in this plan: the gate will be red for it"
            for one in matching.vanished
            if not gone & {one.name, one.cell_id}
        ),
        *(f"{one.name} is new: nothing to compare with" for one in matching.appeared),
        *(
            f"{pair.after.cell_id} cannot be compared: {_listed(differing[pair.after.cell_id])}"
            for pair in pairs
            if differing[pair.after.cell_id]
        ),
    ]


def _of_run(
    manifest: RunManifest,
    planned: RunManifest | None,
    environment: Environment | None,
    target: ModelIdentity | None,
    rules: Rules,
) -> list[SettingChange]:
    sessions = manifest.sessions if environment is None else [Session(started_at="", environment=environment)]
    told = {} if planned is None else {name: getattr(planned, name) for name in _TOLD_BY_A_PLAN}
    here = manifest.model_copy(
        update={"sessions": sessions, "target": manifest.target if target is None else target, **told}
    )
    return _forbidding(run_changes(manifest, here), rules)


def _forbidding(changes: Sequence[SettingChange], rules: Rules) -> list[SettingChange]:
    return [change for change in changes if change.forbids and change.field not in rules.allow_different]


def _listed(changes: Sequence[SettingChange]) -> str:
    named = [f"{change.field} was {change.before!r}, is {change.after!r}" for change in changes[:MOST_NAMED]]
    more = f"; and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
    return "; ".join(named) + more
