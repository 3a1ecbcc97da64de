"""What is recorded of a machine: limits as a container sees them, commits only of Draftmark's own, never a secret."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import psutil
import pytest

from draftmark.bench.environment import (
    VARIABLES,
    checkout_commit,
    control_groups,
    cpu_model,
    environment,
    gpus,
    package_versions,
    usable_cores,
    usable_memory,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_environment_variables_come_from_a_list_so_no_secret_slips_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "OPENAI_API_KEY", "DRAFTMARK_SECRET", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "CANARY")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    found = environment()
    assert found.variables["OMP_NUM_THREADS"] == "3"
    assert set(found.variables) <= set(VARIABLES)
    assert "CANARY" not in found.model_dump_json()


def test_an_unset_variable_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert "OMP_NUM_THREADS" not in environment().variables


def test_packages_that_are_not_installed_are_left_out() -> None:
    assert set(package_versions(("pydantic", "no-such-package-at-all"))) == {"pydantic"}


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 4),
        ({"cpu.max": "max 100000"}, 4),
        ({"cpu.max": "200000 100000"}, 2),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "10000 100000"}, 1),
        ({"cpu.max": "900000 100000"}, 4),
        ({"cpu.max": "nonsense"}, 4),
        ({"cpu.cfs_quota_us": "100000", "cpu.cfs_period_us": "50000"}, 2),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, 4),
        ({"cpu.cfs_quota_us": "100000", "cpu.cfs_period_us": "0"}, 4),
    ],
)
def test_cores_are_what_the_control_group_leaves(tmp_path: Path, files: dict[str, str], cores: int) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    assert usable_cores([tmp_path]) == cores


@pytest.mark.usefixtures("four_cores")
def test_the_tightest_of_nested_groups_counts(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "cpu.max").write_text("max 100000")
    (tmp_path / "cpu.max").write_text("300000 100000")
    assert usable_cores([tmp_path / "inner", tmp_path]) == 3


def test_memory_is_what_the_control_group_leaves(tmp_path: Path) -> None:
    whole = psutil.virtual_memory().total
    assert usable_memory([]) == whole
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_memory([tmp_path]) == whole
    (tmp_path / "memory.max").write_text("1048576\n")
    assert usable_memory([tmp_path]) == 1048576
    (tmp_path / "memory.max").unlink()
    (tmp_path / "memory.limit_in_bytes").write_text("9223372036854771712\n")  # version 1 for no limit
    assert usable_memory([tmp_path]) == whole


def test_control_groups_of_both_versions_lead_up_to_the_root(tmp_path: Path) -> None:
    listing = tmp_path / "cgroup"
    listing.write_text("0::/user.slice/app.scope\n")
    assert control_groups("cpu", listing, tmp_path) == [
        tmp_path / "user.slice" / "app.scope",
        tmp_path / "user.slice",
        tmp_path,
    ]
    listing.write_text("5:cpuacct,cpu:/docker/ab\n4:memory:/elsewhere\n")
    assert control_groups("cpu", listing, tmp_path) == [
        tmp_path / "cpu" / "docker" / "ab",
        tmp_path / "cpu" / "docker",
        tmp_path / "cpu",
    ]
    assert control_groups("cpu", tmp_path / "none", tmp_path) == []


def test_the_processor_is_named_as_the_kernel_names_it(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Example CPU @ 2.00GHz\n")
    assert cpu_model(cpuinfo) == "Example CPU @ 2.00GHz"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "file").write_text("one")
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "-m", "one")
    return folder


def test_a_clean_checkout_has_a_commit_and_a_changed_one_is_dirty(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout / "untracked").write_text("does not change what runs")
    assert checkout_commit(checkout) == commit
    (checkout / "file").write_text("two")
    assert checkout_commit(checkout) == f"{commit}-dirty"


def test_a_folder_within_somebody_elses_checkout_has_no_commit(checkout: Path) -> None:
    (checkout / "site-packages").mkdir()
    assert checkout_commit(checkout / "site-packages") is None


def test_a_git_folder_of_another_repository_in_the_variables_is_ignored(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = checkout_commit(checkout)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert checkout_commit(checkout) == expected


def test_a_checkout_without_commits_or_without_git_has_no_commit(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    assert checkout_commit(empty) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout_commit(checkout) is None


def test_gpus_are_what_nvidia_smi_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert gpus() == []
    program(
        tmp_path / "bin", "nvidia-smi", "echo 'Example GPU, 81559 MiB, 580.1'; echo 'Example GPU, 81559 MiB, 580.1'"
    )
    assert gpus() == ["Example GPU, 81559 MiB, 580.1"] * 2


def test_a_failing_nvidia_smi_means_no_gpu_not_an_error_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program(tmp_path / "bin", "nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    assert gpus() == []
