"""Prompts of an exact length on a real model: the same on every machine, and as long as the engine counts them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from draftmark.backends.models import locate
from draftmark.bench.cli import main
from draftmark.results.run_folder.store import RunStore
from draftmark.suites.naming import find_suite
from draftmark.suites.rendering import Renderer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("smollm2")]


def test_two_thousand_tokens_of_smollm2_are_the_same_on_every_machine() -> None:
    """A change here makes another suite of it, with which nothing from before can be compared."""
    path, options = locate("smollm2-135m").pretrained()
    suite = find_suite("throughput-2k", None).load(Renderer.load(path, **options))
    assert suite.hash[:16] == "8837aa4aa9386567"


def test_the_engine_counts_what_was_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {
        "name": "throughput",
        "target": "smollm2-135m",
        "backends": [{"kind": "reference"}],
        "drafters": [{"kind": "none"}],
        "suites": [{"kind": "builtin", "name": "throughput-2k", "limit": 3}],
        "sampling": {"max_tokens": 2},
        "warmup": 0,
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["draftmark", "run", str(tmp_path / "plan.json"), "--out", str(tmp_path / "run")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    run = RunStore.read(tmp_path / "run")
    turns = [turn for cell in run.manifest.cells for turn in run.turns(cell.cell_id)]
    assert len(turns) >= 3
    assert {(turn.prompt_tokens, turn.output_tokens) for turn in turns} == {(2000, 2)}
