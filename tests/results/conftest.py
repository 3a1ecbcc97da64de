"""Small records with every required field filled in, for tests that care about a few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.records import (
    Arm,
    CellKey,
    CellRecord,
    Environment,
    ModelIdentity,
    RunManifest,
    Session,
    StepColumns,
    SuiteIdentity,
    TurnRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ENVIRONMENT = Environment(
    draftmark="0.1.0", commit=None, python="3.11.7", platform="Linux", cpu="two cores", cores=2, memory_bytes=None
)


@pytest.fixture
def make_cell() -> Callable[..., CellRecord]:
    def build(cell_id: str = "none", arm: Arm | None = None, **changes: Any) -> CellRecord:
        key_names = CellKey.model_fields.keys()
        key: dict[str, Any] = {"backend": "reference", "target": "tiny", "suite": "coding", "suite_hash": "5" * 64}
        key |= {name: value for name, value in changes.items() if name in key_names}
        rest = {name: value for name, value in changes.items() if name not in key_names}
        arm = arm or Arm(drafter="none", draft_length=0)
        return CellRecord(**{"cell_id": cell_id, "key": CellKey(**key, arm=arm), "expected_turns": 5, **rest})

    return build


@pytest.fixture
def make_manifest(make_cell: Callable[..., CellRecord]) -> Callable[..., RunManifest]:
    def build(cells: list[CellRecord] | None = None, **changes: Any) -> RunManifest:
        fields: dict[str, Any] = {
            "run_id": "run-1",
            "name": "demo",
            "plan": {"name": "demo", "sampling": {"temperature": 0, "max_tokens": 8}, "drafters": [{"kind": "none"}]},
            "plan_hash": "a" * 64,
            "target": ModelIdentity(name="tiny", files={"model.safetensors": "b" * 64}),
            "suites": [SuiteIdentity(name="coding", hash="5" * 64, prompts=5, turns=5, selection="all prompts")],
            "cells": [make_cell()] if cells is None else cells,
            "sessions": [Session(started_at="2026-11-29T21:04:07Z", environment=ENVIRONMENT)],
        }
        return RunManifest(**(fields | changes))

    return build


@pytest.fixture
def make_steps() -> Callable[..., StepColumns]:
    """Steps from (drafted, accepted) pairs; each delivers its accepted drafts plus one, the last `cut` fewer."""

    def build(*pairs: tuple[int, int], cut: int = 0, **times: Any) -> StepColumns:
        delivered = [accepted + 1 for _, accepted in pairs]
        if delivered:
            delivered[-1] -= cut
        drafted, accepted = [list(column) for column in zip(*pairs, strict=True)] or [[], []]
        return StepColumns(drafted=drafted, accepted=accepted, delivered=delivered, **times)

    return build


@pytest.fixture
def make_turn() -> Callable[..., TurnRecord]:
    def build(question_id: str = "p1", cell_id: str = "none", **changes: Any) -> TurnRecord:
        fields: dict[str, Any] = {"cell_id": cell_id, "question_id": question_id, "prompt_hash": "c" * 64}
        return TurnRecord(**(fields | changes))

    return build
