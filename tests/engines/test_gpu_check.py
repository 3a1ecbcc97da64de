"""The GPU check, exercised in small on the CPU; on a GPU it is the same script with a larger shape."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import draftmark

ROOT = Path(__file__).parents[2]


@pytest.mark.engines
@pytest.mark.timeout(1000)
def test_the_gpu_check_runs_on_a_cpu_and_finds_it_equal_to_itself(tmp_path: Path) -> None:
    settings = {"DEVICE": "cpu", "SHAPE": "tiny", "TOKENS": "4", "PYTHON": sys.executable, "LIMIT_S": "900"}
    out = tmp_path / "check"
    ended = subprocess.run(
        [ROOT / "scripts" / "gpu_check.sh", out],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = re.search(r"(\d+) of (\d+) answers are the same tokens as on the CPU", ended.stdout)
    assert found is not None
    assert found[1] == found[2] != "0"
    assert re.search(r"^  draft-model D=3 +\d+\.\d", ended.stdout, flags=re.MULTILINE)
    for name in ("small-cpu", "small-device", "random-weights"):
        assert draftmark.load(out / name).summary().manifest.status == "complete"
