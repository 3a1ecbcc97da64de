"""How the run went: failed and missing turns, engine launches, changed machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.sanity.cell import counted
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.records import Environment, RunManifest
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import CellSummary, LampLevel

FAILURES_OK = "Every planned turn was answered."
ONE_LAUNCH = (
    "The engine was launched once: intervals show what other prompts would give, not what another launch would; "
    "launches: 2 puts that into them."
)
MACHINE_FACTS = ("cpu", "cores", "gpus", "platform", "python", "draftmark", "packages", "variables")


def check_failures(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield failed and missing turns of a cell; both are kept out of every number."""
    summary = cell.summary
    done = summary.turns_ok + summary.turns_failed
    if summary.status == "left out":
        yield cell.lamp("failures", "note", f"This arm was left out: {summary.status_text}")
        return
    if summary.turns_failed:
        level: LampLevel = "warning" if summary.turns_ok else "fault"
        text = f"{summary.turns_failed:,} of {counted(done, 'turn')} failed and count in no number; see the failures."
        yield cell.lamp("failures", level, text)
    if done < summary.turns_expected and cell.record.lost is not None:
        text = f"Not finished ({done:,} of {counted(summary.turns_expected, 'turn')}), since {cell.record.lost}"
        yield cell.lamp("failures", "fault" if not done else "warning", text)
    elif done < summary.turns_expected:
        text = f"Not finished ({done:,} of {counted(summary.turns_expected, 'turn')}): resume the run to get the rest."
        yield cell.lamp("failures", "warning", text)
    elif not summary.turns_failed:
        yield cell.lamp("failures", "ok", FAILURES_OK)


def check_launches(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield how many starts of the engine stand behind a cell's numbers."""
    if not cell.ran:
        return
    launches = len(np.unique(cell.columns.launch[cell.columns.ok]))
    if launches == 1:
        yield cell.lamp("launches", "note", ONE_LAUNCH)
    else:
        yield cell.lamp("launches", "ok", f"The engine was launched {launches} times.")


def check_machines(manifest: RunManifest) -> Iterator[Lamp]:
    """Yield what changed between the sessions of a resumed run."""
    environments = [session.environment for session in manifest.sessions]
    changed = Counter(name for one in environments[1:] for name in _differences(environments[0], one))
    if changed:
        text = f"The run was continued on another machine or with other software ({', '.join(changed)} changed)."
        text += " Run it anew on one."
        yield Lamp(name="launches", level="warning", text=text, cells=[])


def check_any_token(cells: Sequence[CellSummary]) -> Iterator[Lamp]:
    """Yield a fault for a run in which not one turn succeeded: it measured nothing."""
    if not any(cell.turns_ok for cell in cells):
        text = "Not one turn succeeded, so this run measured nothing: see the failures."
        yield Lamp(name="values", level="fault", text=text, cells=[])


def _differences(one: Environment, other: Environment) -> list[str]:
    return [name for name in MACHINE_FACTS if getattr(one, name) != getattr(other, name)]
