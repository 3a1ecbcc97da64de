from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def plan_of(tiny_target: Path, tmp_path: Path, write_plan: Callable[..., Path], fake: Any) -> Callable[..., Path]:
    """A plan for the tiny model and one conversation of two turns, with a chat template of its own; null for none."""
    (tmp_path / "talk.jsonl").write_text(json.dumps({"question_id": "q", "turns": ["one", "two"]}), encoding="utf-8")

    def write(template: str | None, **keys: Any) -> Path:
        if template is not None:
            (tmp_path / "template.jinja").write_text(template, encoding="utf-8")
            keys = {"chat_template": str(tmp_path / "template.jinja"), **keys}
        suites = [{"kind": "jsonl", "path": str(tmp_path / "talk.jsonl")}]
        return write_plan(**{"target": str(tiny_target), "suites": suites} | keys)

    return write
