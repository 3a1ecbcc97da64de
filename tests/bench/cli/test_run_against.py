"""`draftmark run --against`: a baseline that will not do is found before anything runs, and the gate ends the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_missing_baseline_is_found_before_the_run(
    call: Callable[..., Any], plan_file: Callable[..., Path], fake: Any, tmp_path: Path
) -> None:
    said = call("run", plan_file(), "--out", tmp_path / "run", "--against", tmp_path / "nowhere")
    assert said.code == 2
    assert "no baseline" in said.err
    assert not (tmp_path / "run").exists()
    assert not fake.REQUESTS


def test_a_baseline_of_another_plan_is_found_before_the_run(
    call: Callable[..., Any], plan_file: Callable[..., Path], fake: Any, tmp_path: Path
) -> None:
    assert call("run", plan_file(), "--out", tmp_path / "before").code == 0
    fake.REQUESTS.clear()
    other = plan_file(sampling={"max_tokens": 8})
    said = call("run", other, "--out", tmp_path / "run", "--against", tmp_path / "before")
    assert said.code == 2
    assert "max_tokens" in said.err
    assert not fake.REQUESTS


def test_the_run_ends_as_the_gate_would(
    call: Callable[..., Any], plan_file: Callable[..., Path], tmp_path: Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    assert call("run", plan_file(), "--out", before).code == 0
    said = call("run", plan_file(), "--out", after, "--against", before)
    gate = call("gate", "--baseline", before, "--candidate", after)
    assert said.code == gate.code
    assert gate.out.splitlines()[0] in said.out


def test_wrong_rules_are_told_before_anything_runs_also_without_a_baseline(
    call: Callable[..., Any], plan_file: Callable[..., Path], tmp_path: Path
) -> None:
    said = call("run", plan_file(), "--rules", tmp_path / "gate.yaml", "--out", tmp_path / "run")
    assert said.code == 2
    assert "there is no such file" in said.err
    assert not (tmp_path / "run").exists()
