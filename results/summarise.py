"""From the raw records of a run to its summary: every cell, over all turns and by category, with metrics and lamps."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from draftmark.results.arm_labels import arm_labels
from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.flight import counted_turns
from draftmark.results.metrics.recorded import evidence_of
from draftmark.results.metrics.window import window_counts
from draftmark.results.parts import Split
from draftmark.results.records import SCHEMA_VERSION
from draftmark.results.records.loads import ClosedLoad, Objectives
from draftmark.results.roles import speculates
from draftmark.results.sanity import CheckedCell, check_group, check_run
from draftmark.results.summary import CellSummary, RunSummary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.columns import Mask
    from draftmark.results.records import CellRecord, Divergence, PromptRecord, RunManifest, TurnRecord
    from draftmark.results.run_folder.reader import RunReader
    from draftmark.results.summary import Lamp, MetricValue

_DRAFTER_SETTINGS = frozenset({"drafter", "draft_length", "drafter_settings"})
"""Resolved settings that say which drafter it is; a backend names more of them under `drafter_settings`."""


def summarise(run: RunReader) -> RunSummary:
    """Derive the summary of a run from its records; running, partial and interrupted runs are fine and say so.

    Cells come in the manifest's order, each first over all turns, then by category (by `category/sub_category` where a
    suite has one category only). One comparison group is in memory at a time. Raises `ResultsError` for damaged
    records, naming file and line.
    """
    manifest, seen = run.manifest, _Seen(run.prompts())
    objectives = objectives_of(manifest)
    labels = arm_labels(cell.key.arm for cell in manifest.cells)
    label_of = {cell.cell_id: label for cell, label in zip(manifest.cells, labels, strict=True)}
    cells: dict[str, list[CellSummary]] = {}
    lamps: list[Lamp] = []
    said = manifest.plan.get("thinking")
    thinking = said if isinstance(said, str) else None
    for group_id, records in groups_of(manifest.cells).items():
        group = _load(group_id, records, run, seen)
        checked = []
        for member in group.members:
            cell_id = member.cell.cell_id
            cells[cell_id] = [
                _summary(group, member, label_of[cell_id], part, objectives)
                for part in (None, *group.split.turns_per_pass)
            ]
            found = run.divergences(cell_id) if run.divergences_checked(cell_id) else None
            seen.divergences += found or []
            summary, sent = cells[cell_id][0], seen.sent_tokens(member.cell.key.suite)
            checked.append(CheckedCell(member.cell, summary, member.columns, found, member.engine, sent, thinking))
        lamps += check_group(checked)
    in_order = [summary for cell in manifest.cells for summary in cells[cell.cell_id]]
    return RunSummary(
        schema_version=SCHEMA_VERSION,
        manifest=manifest,
        cells=in_order,
        lamps=check_run(manifest, [cell for cell in in_order if cell.category is None], lamps),
        divergences=seen.divergences,
        failures=seen.failures,
        elapsed_s=seen.elapsed_s(manifest),
    )


def groups_of(cells: Sequence[CellRecord]) -> dict[str, list[CellRecord]]:
    """Sort cells into comparison groups, in order: equal in all but the arm. The id is a hash of what is equal."""
    groups: dict[str, list[CellRecord]] = {}
    for cell in cells:
        rest = json.dumps(cell.key.model_dump(mode="json", exclude={"arm"}), sort_keys=True)
        groups.setdefault(hashlib.sha256(rest.encode()).hexdigest()[:12], []).append(cell)
    return groups


def objectives_of(manifest: RunManifest) -> Objectives | None:
    """Return the objectives of a run's plan; null where it has none."""
    told = manifest.plan.get("objectives")
    return None if told is None else Objectives.model_validate(told)


def changed_settings(cell: CellRecord, baseline: CellRecord | None) -> dict[str, tuple[Any, Any]]:
    """Return the baseline's resolved settings that are different for this arm, as name to (baseline, this arm).

    The drafter's own settings are left out: its kind, D and options, and whatever the baseline does not have at all.
    """
    if baseline is None or not cell.resolved:
        return {}
    told = cell.resolved.get("drafter_settings")
    own = _DRAFTER_SETTINGS | set(cell.key.arm.options) | set(told if isinstance(told, list) else ())
    before = {name: value for name, value in baseline.resolved.items() if name not in own}
    return {name: (was, cell.resolved.get(name)) for name, was in before.items() if cell.resolved.get(name) != was}


@dataclass
class _Seen:
    """What the summary needs of prompts and single turns, gathered while they stream by."""

    prompts: list[PromptRecord]
    failures: list[dict[str, str]] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    last_stamp: dict[int, float] = field(default_factory=dict)

    def watch(self, turns: Iterator[TurnRecord]) -> Iterator[TurnRecord]:
        for turn in turns:
            stamps = (turn.sent_s, turn.last_token_s, turn.done_s, self.last_stamp.get(turn.session))
            known = [stamp for stamp in stamps if stamp is not None]
            if known:
                self.last_stamp[turn.session] = max(known)
            if turn.status == "failed" and turn.phase == "measured":
                self.failures.append(_failure(turn))
            yield turn

    def sent_tokens(self, suite: str) -> dict[tuple[str, int], int]:
        """Return how many tokens each prompt of a suite was sent with, by (question, turn), where that is known."""
        return {
            (prompt.question_id, prompt.turn_index): prompt.prompt_tokens
            for prompt in self.prompts
            if prompt.suite == suite and prompt.prompt_tokens is not None
        }

    def elapsed_s(self, manifest: RunManifest) -> float | None:
        """Sum over sessions; one that was killed counts up to its last recorded turn, and pauses between do not."""
        spans = [
            self.last_stamp.get(index) if session.elapsed_s is None else session.elapsed_s
            for index, session in enumerate(manifest.sessions)
        ]
        known = [span for span in spans if span is not None]
        return sum(known) if known else None


def _failure(turn: TurnRecord) -> dict[str, str]:
    return {
        "cell_id": turn.cell_id,
        "question_id": turn.question_id,
        "turn_index": str(turn.turn_index),
        "repeat": str(turn.repeat),
        "kind": turn.failure.kind if turn.failure else "unknown",
        "message": turn.failure.message if turn.failure else "the record gives no reason",
    }


@dataclass(frozen=True, eq=False)
class _Member:
    """One cell of a comparison group with its turns, whole and in parts."""

    cell: CellRecord
    columns: CellColumns
    parts: dict[str, CellColumns]
    counts: dict[str | None, Mask] | None
    """By part: which turns count, where not all of them do."""
    engine: dict[str, Any] | None
    """What the engine counted around its turns."""

    def counted(self, part: str | None) -> CellColumns:
        """Return the turns of one part that count: in an open loop, those of neither warm-up nor cool-down."""
        columns = self.of(part)
        return columns if self.counts is None else columns.select(self.counts[part])

    def of(self, part: str | None) -> CellColumns:
        """Return the turns of one part; all of them for null."""
        return self.columns if part is None else self.parts[part]


@dataclass(frozen=True, eq=False)
class _Group:
    """Cells that differ in the arm alone, and how they are split."""

    id: str
    split: Split
    members: list[_Member]

    def reference(self, *, control: bool) -> _Member | None:
        """Return the baseline, or its control; null where the plan has none or it was left out."""
        for member in self.members:
            arm = member.cell.key.arm
            if not speculates(arm) and arm.control is control and member.cell.left_out is None:
                return member
        return None

    def expected(self, member: _Member, part: str | None) -> int:
        """Return the turns that a finished cell has in this part; those it has, where the plan is not on record."""
        whole = member.cell.expected_turns
        if part is not None and len(member.columns) >= whole:
            return len(member.of(part))  # in an open loop no part need have its share of the suite
        planned = whole if part is None else self.split.expected(part, whole)
        return len(member.of(part)) if planned is None else planned


def _load(group_id: str, cells: list[CellRecord], run: RunReader, seen: _Seen) -> _Group:
    loaded = [
        CellColumns.from_turns(seen.watch(run.turns(cell.cell_id, phase=None)), max_tokens=cell.key.sampling.max_tokens)
        for cell in cells
    ]
    split = Split.of_group([prompt for prompt in seen.prompts if prompt.suite == cells[0].key.suite], loaded)
    members = [
        _Member(
            cell=cell,
            columns=columns,
            parts={part: split.select(columns, part) for part in split.turns_per_pass},
            counts=_counts(cell, columns, split),
            engine=run.engine(cell.cell_id),
        )
        for cell, columns in zip(cells, loaded, strict=True)
    ]
    return _Group(group_id, split, members)


def _counts(cell: CellRecord, columns: CellColumns, split: Split) -> dict[str | None, Mask] | None:
    whole = counted_turns(columns, cell.key.load)
    if whole.all():
        return None
    return {None: whole, **{part: whole[split.mask(columns, part)] for part in split.turns_per_pass}}


def _counted(member: _Member | None, part: str | None) -> CellColumns | None:
    return None if member is None else member.counted(part)


def _summary(
    group: _Group, member: _Member, label: str, part: str | None, objectives: Objectives | None
) -> CellSummary:
    cell, columns = member.cell, member.of(part)
    key, arm = cell.key, cell.key.arm
    baseline, control = group.reference(control=False), group.reference(control=True)
    load = key.load
    metrics = measure(
        evidence_of(
            cell,
            member.counted(part),
            baseline=_counted(baseline, part),
            control=_counted(control, part),
            window=window_counts(columns, member.engine) if part is None else None,
            objectives=objectives,
            whole=member.columns,
            part=len(columns) < len(member.columns),
        )
    )
    ok, failed, expected = int(columns.ok.sum()), int((~columns.ok).sum()), group.expected(member, part)
    status, text = _status(cell, ok, failed, expected)
    return CellSummary(
        cell_id=cell.cell_id,
        backend=key.backend,
        engine=key.engine,
        target=key.target,
        drafter=arm.drafter,
        draft_length=arm.draft_length,
        control=arm.control,
        arm=label,
        group=group.id,
        suite=key.suite,
        category=part,
        concurrency=load.concurrency if isinstance(load, ClosedLoad) else load.max_in_flight,
        open_load=None if isinstance(load, ClosedLoad) else load.label,
        status=status,
        status_text=text,
        turns_ok=ok,
        turns_failed=failed,
        turns_expected=expected,
        truncated=int(columns.truncated.sum()),
        metrics=_without_numbers(metrics, text) if status == "left out" else metrics,
        changed=changed_settings(cell, None if baseline is None else baseline.cell),
    )


def _status(
    cell: CellRecord, ok: int, failed: int, expected: int
) -> tuple[Literal["complete", "partial", "left out"], str]:
    if cell.left_out is not None:
        return "left out", cell.left_out
    done = ok + failed
    ending = f", {failed} failed" if failed else ""
    if done < expected:
        lost = "" if cell.lost is None else f"; {cell.lost}"
        return "partial", f"partial {done}/{expected}{ending}{lost}"
    return "complete", f"{done} of {expected} turns{ending}"


def _without_numbers(metrics: dict[str, MetricValue], reason: str) -> dict[str, MetricValue]:
    nothing = {"value": None, "low": None, "high": None, "n": 0, "source": None, "note": None, "reason": reason}
    return {name: metric.model_copy(update=nothing) for name, metric in metrics.items()}
