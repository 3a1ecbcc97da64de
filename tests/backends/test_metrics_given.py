"""Which metrics each backend must give as numbers, from its own records of a real run: null everywhere is no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import draftmark

MAY_BE_NULL: dict[str, dict[str, set[str]]] = {
    "reference": {
        # on the CPU, closed load, one answer at a time: no objectives, no GPU, no schedule, no marks of thinking
        "every arm": {
            "goodput",
            "objectives_met",
            "output_tps_per_gpu",
            "ttft_from_schedule",
            "ttft_from_schedule_p50",
            "ttft_from_schedule_p90",
            "ttft_from_schedule_p99",
            "client_lateness",
            "held_back",
            "acceptance_length@thinking",
            "acceptance_length@answer",
        },
        "none": {"acceptance_rate", "acceptance_length_when_drafted", "accepted_per_draft", "drafted_per_draft"},
        "none (control)": {
            "acceptance_rate",
            "acceptance_length_when_drafted",
            "accepted_per_draft",
            "drafted_per_draft",
            "divergent_turns_control",
            "divergence_excess",
        },
        "draft-model D=2": set(),
    },
}
"""Backend kind, then arm: the metrics that may be null. All others must be numbers."""


def _reaches(name: str) -> bool:
    """Answers of eight tokens to prompts of under 256 reach the first places only."""
    return "@" not in name or name in {"acceptance_length@output[0-16)", "acceptance_length@context[0-256)"}


@pytest.fixture(scope="module")
def reference_run(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    questions = [{"question_id": f"q{i}", "category": "c", "turns": [f"Count to {i}, please."]} for i in range(8)]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    plan: dict[str, Any] = {
        "name": "given",
        "target": str(tiny_target),
        "chat_template": "none",
        "backends": [{"kind": "reference"}],
        "drafters": [{"kind": "none"}, {"kind": "draft-model", "model": str(tiny_target), "draft_length": [2]}],
        "suites": [{"kind": "jsonl", "path": str(folder / "questions.jsonl")}],
        "sampling": {"max_tokens": 8, "ignore_eos": True},
        "repeats": 2,
    }
    (folder / "plan.yaml").write_text(json.dumps(plan), encoding="utf-8")
    script = Path(sysconfig.get_path("scripts")) / "draftmark"
    command = [script, "run", folder / "plan.yaml", "--out", folder / "run"]
    ended = subprocess.run(
        command, env=os.environ | {"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return folder / "run"


@pytest.mark.parametrize("arm", [arm for arm in MAY_BE_NULL["reference"] if arm != "every arm"])
def test_the_reference_engine_gives_all_metrics_but_those_it_cannot_have(reference_run: Path, arm: str) -> None:
    (cell,) = [one for one in draftmark.load(reference_run).summary().cells if one.arm == arm and one.category is None]
    null = {name for name, metric in cell.metrics.items() if metric.value is None and _reaches(name)}
    assert null <= MAY_BE_NULL["reference"]["every arm"] | MAY_BE_NULL["reference"][arm]
    assert len(cell.metrics) - len(null) > 60


def test_a_draft_model_that_is_the_target_is_accepted_whole(reference_run: Path) -> None:
    (cell,) = [
        one
        for one in draftmark.load(reference_run).summary().cells
        if one.drafter == "draft-model" and one.category is None
    ]
    assert cell.metrics["acceptance_length_verified"].value == 3
    assert cell.metrics["coverage"].value == 1
    assert cell.metrics["acceptance_rate"].value == 1
    assert cell.metrics["divergent_turns"].value == 0
