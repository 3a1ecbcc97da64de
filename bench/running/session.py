"""One session of a run: opening or resuming its folder, and how its beginning and end are written into the manifest."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from draftmark.backends.base import ArmUnavailable, BackendError
from draftmark.bench.plans.materials import draft_models, suite_identity
from draftmark.results.errors import ResultsError
from draftmark.results.records import CellRecord, RunManifest, Session
from draftmark.results.run_folder.reader import MANIFEST
from draftmark.results.run_folder.store import RunStore
from draftmark.results.run_folder.strict_json import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from draftmark.bench.plans.cells import Group
    from draftmark.bench.plans.materials import Materials
    from draftmark.bench.plans.plan import Plan
    from draftmark.results.records import Environment, PromptRecord

Ending: TypeAlias = Literal["complete", "interrupted", "failed"]


def new_manifest(plan: Plan, materials: Materials, groups: Sequence[Group], run_id: str) -> RunManifest:
    """Return the manifest with which a run of this plan starts now; it also says what a resumed run must equal."""
    return RunManifest(
        run_id=run_id,
        name=plan.name,
        plan=plan.as_data(),
        plan_hash=plan.hash,
        chat_template_hash=materials.chat_template_hash,
        template_date=materials.template_date,
        thinking=materials.thinking.stamp,
        target=materials.identify(plan.target_name),
        models=[materials.identify(name) for name in draft_models(plan)],
        suites=[suite_identity(suite) for suite in materials.suites],
        cells=[cell for group in groups for cell in group.cells],
    )


def open_store(folder: Path, manifest: RunManifest) -> RunStore:
    """Resume the run in a folder, or start one where there is none yet.

    An arm that was left out stays left out: the others were measured without it, and a comparison needs it among them.

    Raises:
        ResultsError: the folder holds something else, or a run of another plan; the text lists what differs.
        StoreWriteError: the folder cannot be written, or another process is writing to it.
        ArmUnavailable: an arm that ran before cannot run here any more.
    """
    if not (folder / MANIFEST).exists():
        return RunStore.create(folder, manifest)
    store = RunStore.resume(folder, manifest)
    before = {cell.cell_id: cell for cell in store.manifest.cells}
    gone = [cell for cell in manifest.cells if cell.left_out and before[cell.cell_id].left_out is None]
    if gone:
        store.close()
        raise ArmUnavailable(
            f"{folder} was started with {gone[0].key.arm.label}, which cannot run here now: {gone[0].left_out}"
        )
    return store


def refuse_other_prompts(store: RunStore, prompts: Sequence[PromptRecord]) -> None:
    """Raise `ResultsError` where a run that goes on would ask other token ids than it began with.

    Its turns would be paired and pooled with those before, and the list of its prompts would be untrue of them.
    """
    before = {_place(prompt): prompt.prompt_ids for prompt in store.prompts()}
    changed = [
        prompt
        for prompt in prompts
        if before.get(_place(prompt)) is not None and before[_place(prompt)] != prompt.prompt_ids
    ]
    if changed:
        raise ResultsError(
            f"{store.path}: {len(changed)} of {len(prompts)} prompts are rendered otherwise now than when the run "
            f"began ({changed[0].suite}, question {changed[0].question_id!r}, is one), as another version of "
            "Draftmark or of transformers may do; go on with what began it, or start a new run"
        )


def _place(prompt: PromptRecord) -> tuple[str, str, int]:
    return prompt.suite, prompt.question_id, prompt.turn_index


def begin(store: RunStore, environment: Environment, warmup_turns: int) -> int:
    """Write a new session into the manifest and return its index."""
    started = Session(started_at=_now(), environment=environment, warmup_turns=warmup_turns)
    sessions = [*store.manifest.sessions, started]
    store.update_manifest(store.manifest.model_copy(update={"status": "running", "sessions": sessions}))
    return len(sessions) - 1


def end(store: RunStore, status: Ending, elapsed_s: float) -> None:
    """Write how the last session ended."""
    *earlier, last = store.manifest.sessions
    ended = last.model_copy(update={"ended_at": _now(), "elapsed_s": elapsed_s})
    store.update_manifest(store.manifest.model_copy(update={"status": status, "sessions": [*earlier, ended]}))


def write_resolved(store: RunStore, resolved: dict[str, dict[str, Any]]) -> None:
    """Write what the engine says each cell really runs with; `resolved` maps cell ids to settings.

    Raises `BackendError` where an earlier session of this run had others: its turns cannot be pooled with new ones.
    """
    plain = {cell_id: decode(encode(settings), "resolved settings") for cell_id, settings in resolved.items()}
    cells = [_resolved(cell, plain.get(cell.cell_id)) for cell in store.manifest.cells]
    store.update_manifest(store.manifest.model_copy(update={"cells": cells}))


FOUND_ANEW = frozenset({"kv_cache_tokens", "largest_concurrency"})
"""What an engine finds out at each start, from the memory that is free then; it may differ between launches."""


def _resolved(cell: CellRecord, now: dict[str, Any] | None) -> CellRecord:
    if now is None:
        return cell
    settled = {name: value for name, value in cell.resolved.items() if name not in FOUND_ANEW}
    changed = [name for name, before in settled.items() if name in now and now[name] != before]
    if changed:
        listed = "; ".join(f"{name}: {cell.resolved[name]} -> {now[name]}" for name in changed)
        raise BackendError(
            f"{cell.key.arm.label} would run with other settings than in the earlier session of this run ({listed}); "
            "restore them, or start a new run"
        )
    return cell.model_copy(update={"resolved": cell.resolved | now, "lost": None})


def write_lost(store: RunStore, lost: Mapping[str, str]) -> None:
    """Write how engines were lost before their cells were finished; `lost` maps cell ids to the engine's last words."""
    cells = [
        cell.model_copy(update={"lost": lost[cell.cell_id]}) if cell.cell_id in lost else cell
        for cell in store.manifest.cells
    ]
    store.update_manifest(store.manifest.model_copy(update={"cells": cells}))


def refresh_models(store: RunStore, materials: Materials) -> None:
    """Write again which weights answer, once the engine has them; a hub model may have been fetched only then."""
    manifest = store.manifest
    target = materials.identify(manifest.target.name)
    models = [materials.identify(model.name) for model in manifest.models]
    if (target, models) != (manifest.target, manifest.models):
        store.update_manifest(manifest.model_copy(update={"target": target, "models": models}))


def next_launch(store: RunStore, cells: Iterable[CellRecord]) -> int:
    """Return the number of the engine start to come, counted over the whole run."""
    known = [turn.launch for cell in cells for turn in store.turns(cell.cell_id, phase=None)]
    return max(known, default=-1) + 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
