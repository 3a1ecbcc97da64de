"""The command line called in this process, on the fake engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


class Said(NamedTuple):
    """How a call ended and what it wrote."""

    code: int
    out: str
    err: str


@pytest.fixture
def call(fake: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Call the command line; suites and tokenizer are the fake ones."""
    import fake_draftmark

    monkeypatch.setattr("draftmark.bench.plans.prepared.gather", fake_draftmark.materials)
    return caller(capsys)


@pytest.fixture
def plain_call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Call the command line as it is."""
    return caller(capsys)


def caller(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    from draftmark.bench.cli import main

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        code = ending.value.code
        return Said(code if isinstance(code, int) else 0, written.out, written.err)

    return run


@pytest.fixture
def plan_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a small plan on the fake engine, which sleeps on the real clock; keys are changed by name."""

    def write(*, step_s: float = 0.0, **changes: Any) -> Path:
        plan: dict[str, Any] = {
            "name": "small",
            "target": "tiny",
            "backends": [{"kind": "fake", "real_step_s": step_s}],
            "drafters": [{"kind": "none"}, {"kind": "ngram", "draft_length": [3]}],
            "suites": [{"kind": "humaneval"}],
            "sampling": {"max_tokens": 9},
        }
        path = tmp_path / "plan.yaml"
        path.write_text(json.dumps(plan | changes), encoding="utf-8")
        return path

    return write


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Start the command line with the fake engine in a process of its own."""
    script = Path(__file__).parent.parent / "fake_draftmark.py"

    def begin(*arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(script), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )

    return begin
