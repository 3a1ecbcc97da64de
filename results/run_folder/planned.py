"""What must be equal for one run to go on as another: plan, models, suites and cells, compared key by key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.records import RunManifest

_ABSENT = object()


def plan_differences(old: RunManifest, new: RunManifest) -> list[str]:
    """Return one line `dotted.path: old -> new` per difference that matters; empty if the run may go on.

    Sessions, status and what only a started engine knows (a cell's resolved settings, an arm left out) may differ.
    Where the plans differ, what follows from them (hash, cells) is not listed as well.
    """
    plan = [_line(f"plan.{path}", *pair) for path, *pair in _differences(old.plan, new.plan)]
    rest = [_line(path, *pair) for path, *pair in _differences(*_facts(old, new))]
    return plan or rest


def _facts(old: RunManifest, new: RunManifest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is compared of each, without facts of a model that are unknown on one side.

    What a hub model weighs is known only once it was fetched.
    """
    before, after = _kept(old), _kept(new)
    pairs = [(before["target"], after["target"]), *zip(before["models"], after["models"], strict=False)]
    for one, other in pairs:
        for name in [name for name in one if one[name] in (None, {}) or other[name] in (None, {})]:
            del one[name], other[name]
    return before, after


def _kept(manifest: RunManifest) -> dict[str, Any]:
    cells = {cell.cell_id: cell.model_dump(mode="json", include={"key", "expected_turns"}) for cell in manifest.cells}
    kept = manifest.model_dump(mode="json", include={"plan_hash", "chat_template_hash", "target", "models", "suites"})
    return {**kept, "cells": cells}


def _differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), inner)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else _ABSENT
            after = new[index] if index < len(new) else _ABSENT
            yield from _differences(before, after, f"{path}[{index}]")
    elif old != new:
        yield path, old, new


def _line(path: str, old: Any, new: Any) -> str:
    return f"{path}: {_shown(old)} -> {_shown(new)}"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "(absent)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
