"""A run with a template that has a switch, by the command: thinking counted in the reference engine's own tokens."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import draftmark
from draftmark.results.run_folder.store import RunStore

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{{ '<think></think>' if enable_thinking is defined and not enable_thinking else '<think>' }}"
)
"""A target that never ends its thinking thinks all along, or not at all."""


def test_thinking_that_the_prompt_opens_or_closes_is_all_of_the_answer_or_none(
    tiny_target: Path, tmp_path: Path
) -> None:
    (tmp_path / "template.jinja").write_text(TEMPLATE, encoding="utf-8")
    (tmp_path / "talk.jsonl").write_text(json.dumps({"question_id": "q", "turns": ["one", "two"]}), encoding="utf-8")
    for said in (None, "on", "off"):
        plan: dict[str, Any] = {
            "name": "thinking",
            "target": str(tiny_target),
            "chat_template": str(tmp_path / "template.jinja"),
            "backends": [{"kind": "reference"}],
            "drafters": [{"kind": "none"}, {"kind": "ngram", "draft_length": [2]}],
            "suites": [{"kind": "jsonl", "path": str(tmp_path / "talk.jsonl")}],
            "sampling": {"max_tokens": 8, "ignore_eos": True},
        }
        (tmp_path / "plan.yaml").write_text(json.dumps(plan | ({} if said is None else {"thinking": said})), "utf-8")
        folder = tmp_path / f"run-{said}"
        command = [Path(sysconfig.get_path("scripts")) / "draftmark", "run", tmp_path / "plan.yaml", "--out", folder]
        environment = os.environ | {"HF_HUB_OFFLINE": "1"}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if said is None:
            assert ended.returncode == 2
            assert "thinking: is missing" in ended.stderr
            assert not folder.exists()
            continue
        assert ended.returncode == 0, ended.stderr
        store = RunStore.read(folder)
        turns = [turn for cell in store.manifest.cells for turn in store.turns(cell.cell_id)]
        assert {turn.thinking_tokens for turn in turns} == ({8} if said == "on" else {0})
        # asked again with an empty answer, or with all of it
        lengths = {turn.prompt_tokens for turn in turns if turn.turn_index == 1}
        asked = len("user: one\nassistant: \nuser: two\n<think>")
        assert lengths == {asked} if said == "on" else min(lengths) > asked
        parts = {"on": ("thinking", "answer"), "off": ("answer", "thinking")}[said]
        for cell in draftmark.load(folder).summary().cells:
            found = [cell.metrics[f"acceptance_length@{part}"].value for part in parts]
            assert found == [cell.metrics["acceptance_length"].value, None]
