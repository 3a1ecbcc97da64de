"""GSM8K and MBPP from files in their published form, with problems of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.loaders.gsm8k import Gsm8kSpec
from draftmark.suites.loaders.mbpp import MbppSpec
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from pathlib import Path


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_word_problem_is_asked_with_its_steps(tmp_path: Path) -> None:
    rows = [{"question": f" Ann has {n} figs. ", "answer": "#### 1"} for n in (3, 4)]
    suite = Gsm8kSpec(path=lines(tmp_path / "test.jsonl", rows)).load(None)
    assert [p.question_id for p in suite.prompts] == ["gsm8k-1", "gsm8k-2"]
    assert suite.prompts[1].turns[0].endswith("\n\nAnn has 4 figs.")
    assert {(p.category, p.sub_category) for p in suite.prompts} == {("math", "gsm8k")}
    assert suite.warnings == ("not the published numbers of rows (math 2 of 1319)",)
    assert suite.selection == "all 2 prompts; not the published numbers of rows (math 2 of 1319)"
    assert suite.model_copy(update={"warnings": ()}).hash == suite.hash


def test_a_row_without_a_question_is_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="line 1: has no column question with text"):
        Gsm8kSpec(path=lines(tmp_path / "test.jsonl", [{"answer": "#### 1"}])).load(None)


def test_a_task_is_asked_with_its_tests_and_other_splits_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"task_id": task, "text": f"add {task}.", "code": "secret", "test_list": ["assert f(1) == 2", "assert f(0)"]}
        for task in (10, 11, 510, 511)
    ]
    suite = MbppSpec(path=lines(tmp_path / "mbpp.jsonl", rows)).load(None)
    assert [p.question_id for p in suite.prompts] == ["mbpp-11", "mbpp-510"]
    assert suite.prompts[0].turns == (
        "Write a Python function: add 11.\n\nIt must pass these tests. Answer with the function in one code block.\n\n"
        "```python\nassert f(1) == 2\nassert f(0)\n```",
    )
    assert "2 rows left out: they belong to MBPP's other splits" in suite.selection
    assert "secret" not in suite.prompts[0].turns[0]


def test_the_sanitized_version_is_an_array_with_a_column_prompt(tmp_path: Path) -> None:
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([{"task_id": 12, "prompt": "sort.", "test_list": ["assert g([])"]}]))
    suite = MbppSpec(path=str(path), version="sanitized").load(None)
    assert suite.name == "mbpp-sanitized"
    assert suite.prompts[0].turns[0].startswith("Write a Python function: sort.")
    assert suite.warnings == ("not the published numbers of rows (coding 1 of 257)",)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"text": "a", "test_list": ["x"]}, "has no task_id"),
        ({"task_id": 11, "test_list": ["x"]}, "has no column text"),
        ({"task_id": 11, "text": "a", "test_list": []}, "test_list is no list of tests"),
    ],
)
def test_what_a_task_lacks_is_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(SuiteError, match=f"line 1: {said}"):
        MbppSpec(path=lines(tmp_path / "mbpp.jsonl", [row])).load(None)


def test_a_byte_that_is_no_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mbpp.jsonl"
    row = json.dumps({"task_id": 11, "text": "a", "test_list": ["x"]}).encode()
    path.write_bytes(row + b"\n" + row.replace(b'"a"', b'"\xe9"') + b"\n")
    with pytest.raises(SuiteError, match=r"mbpp\.jsonl, line 2: is not UTF-8 \(0xe9 at byte 26 of the line\)"):
        MbppSpec(path=str(path)).load(None)
