"""Plans whose every arm is a server that Draftmark starts: twelve in one run, and nothing left, however it ends.

The servers are mocks behind the command line of vLLM's, so that what they answer is known and they start at once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from draftmark.results.run_folder.store import RunStore
from draftmark.results.summarise import summarise

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("smollm2")]

SERVER = Path(__file__).with_name("mock_vllm.py")
LENGTHS = list(range(1, 11))
DRAFTMARK = Path(sysconfig.get_path("scripts")) / "draftmark"


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Path]:
    def write(**changes: object) -> Path:
        suite = tmp_path / "suite.jsonl"
        rows = [{"question_id": f"q{n}", "category": "c", "turns": [f"say {n}"]} for n in range(2)]
        suite.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        program = tmp_path / "vllm"  # of this test alone, so that its servers can be told from any other
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {SERVER} --of {tmp_path} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        asked = {
            "name": "many",
            "target": "smollm2-135m",
            "backends": [{"kind": "vllm-server", "command": [str(program), "serve"]}],
            "drafters": [{"kind": "none"}, {"kind": "ngram", "draft_length": LENGTHS}],
            "suites": [{"kind": "jsonl", "path": str(suite), "name": "s"}],
            "sampling": {"max_tokens": 12, "ignore_eos": True},
        }
        path = tmp_path / "plan.yaml"
        path.write_text(json.dumps(asked | changes), encoding="utf-8")
        return path

    return write


def servers(of: Path) -> list[int]:
    """Processes of a test's servers."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = process.info["cmdline"] or []
        if str(SERVER) in words and str(of) in words:
            found.append(process.info["pid"])
    return found


def until(holds: Callable[[], bool], within_s: float = 60.0) -> bool:
    deadline = time.monotonic() + within_s
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def test_twelve_arms_are_started_measured_and_ended(tmp_path: Path, plan: Callable[..., Path]) -> None:
    command = [DRAFTMARK, "run", plan(), "--out", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert servers(tmp_path) == []
    store = RunStore.read(tmp_path / "run")
    assert len(store.manifest.cells) == 12  # the baseline, its control, and ten lengths
    for cell in summarise(store).cells:
        if cell.drafter == "none" or cell.category is not None:
            continue
        steps = [turn.steps for turn in store.turns(cell.cell_id)]
        assert max(max(one.drafted) for one in steps if one is not None) == cell.draft_length
        assert all(max(one.accepted) == cell.draft_length for one in steps if one is not None)
    logs = sorted((tmp_path / "run" / "logs").glob("*.log"))
    assert len(logs) >= 11


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_server_outlives_the_run(tmp_path: Path, plan: Callable[..., Path], number: signal.Signals) -> None:
    path = plan(sampling={"max_tokens": 4000, "ignore_eos": True})
    with subprocess.Popen(
        [DRAFTMARK, "run", path, "--out", tmp_path / "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        assert until(lambda: any((tmp_path / "run" / "cells").glob("*/turns.jsonl")))
        assert servers(tmp_path)
        os.kill(run.pid, number)
        if number != signal.SIGKILL:
            time.sleep(0.2)
            os.kill(run.pid, number)  # the first lets the turn in flight end
        run.wait(60)
        assert until(lambda: servers(tmp_path) == [])


def test_a_server_that_dies_ends_its_arm_and_not_the_run(tmp_path: Path, plan: Callable[..., Path]) -> None:
    """The third arm's server is killed between its turns; the others finish, and a second run completes it."""
    path = plan(drafters=[{"kind": "none"}, {"kind": "ngram", "draft_length": [3]}])
    path.write_text(path.read_text().replace('"max_tokens": 12', '"max_tokens": 2000'), encoding="utf-8")
    command = [DRAFTMARK, "run", path, "--out", tmp_path / "run"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert until(lambda: any((tmp_path / "run" / "logs").glob("ngram*.log")))
        assert until(lambda: len(_finished(tmp_path / "run", "ngram")) >= 1)
        for pid in servers(tmp_path):
            os.kill(pid, signal.SIGKILL)
        _, said = run.communicate(timeout=120)
    assert run.returncode == 1, said
    assert "given up for now" in said
    lost = [cell for cell in RunStore.read(tmp_path / "run").manifest.cells if cell.lost is not None]
    assert [cell.key.arm.label for cell in lost] == ["ngram D=3"]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert servers(tmp_path) == []


def _finished(folder: Path, drafter: str) -> list[str]:
    found: list[str] = []
    for path in (folder / "cells").glob(f"*{drafter}*/turns.jsonl"):
        found += path.read_text(encoding="utf-8").splitlines()
    return found
