"""What a run enters into a leaderboard: each speculating arm, with what an entry must disclose and what it lacks."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.answer.caveat import caveats
from draftmark.dashboards.details.facts import plan_text
from draftmark.dashboards.leaderboard.contests import laps_of
from draftmark.dashboards.leaderboard.machines import engine_of, hardware_of
from draftmark.dashboards.sharing import without_local_paths
from draftmark.dashboards.wording import value_of
from draftmark.results.divergences import excess
from draftmark.results.roles import is_baseline, speculates
from draftmark.results.run_folder.reader import RunReader, read_manifest
from draftmark.results.standing import not_counted
from draftmark.results.summarise import groups_of, summarise

if TYPE_CHECKING:
    from pathlib import Path

    from draftmark.dashboards.leaderboard.contests import Laps
    from draftmark.results.records import CellRecord, Divergence
    from draftmark.results.summary import CellSummary, RunSummary


@dataclass(frozen=True, eq=False)
class Source:
    """The run that an entry comes from, as others may see it: local paths are cut to their ends."""

    key: str
    """What makes it unique: id, plan and start."""
    summary: RunSummary
    started_at: str
    """UTC, ISO 8601; empty where the run records no session."""
    plan: str
    """As JSON; empty where the run records none."""
    paths_cut: bool
    """Whether local paths in the plan were cut."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.summary.manifest.run_id


@dataclass(frozen=True, eq=False)
class Entry:
    """One arm of one run on one suite."""

    source: Source
    record: CellRecord
    """As the run's manifest has it."""
    cell: CellSummary
    """Over all turns, local paths cut."""
    parts: tuple[CellSummary, ...]
    """By category."""
    baseline: CellSummary | None
    hardware: str | None
    engine: str | None
    """With its version."""
    losslessness: str | None
    """What comparing its answers with the baseline's showed, in words; null where that is not known."""
    missing: tuple[str, ...]
    """What an entry must disclose and this one does not, each with the reason."""
    faults: tuple[str, ...]
    """Why its numbers do not count; none for an entry that may be ranked."""
    warnings: tuple[str, ...]
    """What makes its numbers doubtful."""
    caveats: tuple[str, ...]
    laps: Laps | None

    @property
    def ranked(self) -> bool:
        """Whether nothing stands against ranking it."""
        return not self.missing and not self.faults

    @property
    def options(self) -> dict[str, Any]:
        """The drafter's settings besides D, local paths cut."""
        shown = self.source.summary.manifest.cells
        return next(one.key.arm.options for one in shown if one.cell_id == self.record.cell_id)

    @property
    def finished(self) -> bool:
        """Whether all of its turns were measured."""
        return self.cell.status == "complete"


def read_entries(folder: Path) -> tuple[Source, list[Entry]]:
    """Return a run and its entries in the run's order; raises `ResultsError` for a folder that cannot be read."""
    run = RunReader(folder, read_manifest(folder))
    whole = summarise(run)
    shown = without_local_paths(whole)
    source = _source(whole, shown)
    entries = []
    for group_id, records in groups_of(run.manifest.cells).items():
        laps = laps_of(run, records, (source.key, group_id))
        control = next((c for c in records if not speculates(c.key.arm) and c.key.arm.control), None)
        unsteady = [] if control is None or control.left_out else run.divergences(control.cell_id)
        entries += [
            _entry(source, record, laps.get(record.cell_id), _lossless(run, record, unsteady, whole))
            for record in records
            if speculates(record.key.arm)
        ]
    return source, entries


def _source(whole: RunSummary, shown: RunSummary) -> Source:
    manifest = whole.manifest
    started = manifest.sessions[-1].started_at if manifest.sessions else ""
    return Source(
        key=json.dumps([manifest.run_id, manifest.plan_hash, [session.started_at for session in manifest.sessions]]),
        summary=shown,
        started_at=started,
        plan=plan_text(shown.manifest) if manifest.plan else "",
        paths_cut=shown.manifest.plan != manifest.plan,
    )


def _entry(source: Source, record: CellRecord, laps: Laps | None, lossless: tuple[str | None, str]) -> Entry:
    summary = source.summary
    mine = [cell for cell in summary.cells if cell.cell_id == record.cell_id]
    cell = next(one for one in mine if one.category is None)
    rest = [one for one in summary.cells if one.group == cell.group and one.category is None]
    baseline = next((one for one in rest if is_baseline(one) and one.status != "left out"), None)
    hardware, engine = hardware_of(record, summary.manifest), engine_of(record, summary.manifest)
    around = {one.cell_id for one in rest if not speculates(one)} | {cell.cell_id}
    lamps = [lamp for lamp in summary.lamps if not lamp.cells or around & set(lamp.cells)]
    missing = {
        "D": None if cell.draft_length else "the run does not record the draft length",
        **{words: _lacking(cell, name) for words, name in _NEEDED.items()},
        "milliseconds per token of no speculation": _NO_BASELINE if baseline is None else _lacking(baseline, "tpot"),
        "losslessness": None if lossless[0] else lossless[1],
        "hardware": None if hardware.text else hardware.reason,
        "engine version": None if engine.text else engine.reason,
        "how to repeat it": None if source.plan else "the run records no plan",
    }
    own = summary.manifest.model_copy(update={"cells": [record]})
    return Entry(
        source=source,
        record=record,
        cell=cell,
        parts=tuple(one for one in mine if one.category is not None),
        baseline=baseline,
        hardware=hardware.text,
        engine=engine.text,
        losslessness=lossless[0],
        missing=tuple(f"{words}: {reason}" for words, reason in missing.items() if reason),
        faults=(*_unfit(cell, summary), *(lamp.text for lamp in lamps if lamp.level == "fault")),
        warnings=tuple(lamp.text for lamp in lamps if lamp.level == "warning"),
        caveats=caveats(summary.model_copy(update={"manifest": own})),
        laps=laps,
    )


_NEEDED = {"speed-up": "speedup", "AL": "acceptance_length", "draft overhead": "draft_overhead"}
_NO_BASELINE = "the run has no baseline (`none`) arm with these prompts"


def _lacking(cell: CellSummary, name: str) -> str | None:
    metric = value_of(cell, name)
    return None if metric.value is not None else metric.reason or "no reason given"


def _unfit(cell: CellSummary, summary: RunSummary) -> list[str]:
    if cell.status == "left out":
        return [f"not run: {cell.status_text}"]
    found = [f"not finished: {cell.status_text}"] if cell.status != "complete" else []
    counted = not_counted(summary).get(cell.cell_id)
    return [*found, *([counted] if counted else [])]


def _lossless(
    run: RunReader, record: CellRecord, unsteady: list[Divergence], summary: RunSummary
) -> tuple[str | None, str]:
    """Return what the comparison of the answers showed, or null and why that is not known."""
    temperature = record.key.sampling.temperature
    if temperature > 0 and record.key.request_sampling is None:
        return None, f"at temperature {temperature:g} only a test of the engine's distribution could show it"
    cell = next(one for one in summary.cells if one.cell_id == record.cell_id and one.category is None)
    compared = value_of(cell, "divergent_turns")
    if compared.value is None:
        return None, compared.reason or "the answers were not compared with the baseline's"
    if not run.divergences_checked(record.cell_id):
        return None, "why answers left the baseline's is looked into at the end of a run, which was not reached"
    return _compared(run.divergences(record.cell_id), unsteady, f"of {compared.n:,} answers")


def _compared(found: list[Divergence], unsteady: list[Divergence], of_all: str) -> tuple[str | None, str]:
    """Return what divergences amount to, those that the baseline's second run excuses aside; or why that is open."""
    against = Counter(row.verdict for row in excess(found, unsteady))
    if against["unknown"]:
        return None, f"{against['unknown']} {of_all} left the baseline's for a reason not measured"
    if against["fault"]:
        return f"{against['fault']} {of_all} changed without excuse", ""
    excused = len(found) - against["numeric-tie"]
    why = [f"{against['numeric-tie']} at numeric ties"] * bool(against["numeric-tie"])
    why += [f"{excused} where no speculation does not repeat itself"] * bool(excused)
    return f"{len(found)} {of_all} differ from no speculation's" + (f": {', '.join(why)}" if why else ""), ""
