"""Whether the models that a plan's drafters name are what they are named for, and fit the target; nothing is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.backends.base import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.backends.checkpoints import DraftCheckpoint
    from draftmark.bench.plans.plan import Plan

_KINDS = {
    "draft-model": "language-model",
    **{kind: kind for kind in ("eagle", "eagle3", "medusa", "dflash", "dspark")},
}
"""A plan's kind of drafter to the kind of checkpoint that it names."""


def drafter_model_warnings(plan: Plan) -> Iterator[str]:
    """Yield what speaks against a drafter's model before an engine is started for it.

    Files that are not on this machine, or that tell nothing, are left to the engine.
    """
    target = None if plan.target is None else _read(plan.target)
    for index, drafter in enumerate(plan.drafters):
        name = drafter.arms()[0].options.get("model")
        wanted = _KINDS.get(drafter.kind)
        found = _read(name) if isinstance(name, str) and wanted is not None else None
        if found is None:
            continue
        for sentence in _against(found, wanted, target):
            yield f"drafters[{index}]: {drafter.kind} with model {name!r}: {sentence}"


def _against(found: DraftCheckpoint, wanted: str | None, target: DraftCheckpoint | None) -> list[str]:
    from draftmark.backends.checkpoints import problems_with

    if found.kind != wanted:
        return [f"by its files it is of kind {found.kind}"]
    return problems_with(found, target)


def _read(name: str) -> DraftCheckpoint | None:
    from draftmark.backends.checkpoints import find_checkpoint, read_checkpoint

    try:
        return read_checkpoint(find_checkpoint(name), name)
    except BackendError:
        return None
