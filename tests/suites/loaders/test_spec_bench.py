"""Spec-Bench in six tasks, and MT-Bench from the same file; questions of our own in their form."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.loaders.spec_bench import MtBenchSpec, SpecBenchSpec
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from pathlib import Path

EIGHT = ["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"]
FIVE = ["translation", "summarization", "qa", "math_reasoning", "rag"]


def question_file(path: Path, *more: dict[str, Any]) -> str:
    """480 questions: 10 of each of the eight, of two turns, and 80 of each of the five, of one."""
    rows: list[dict[str, Any]] = []
    for category in EIGHT:
        rows += [{"category": category, "turns": [f"{category} {n}", f"and {n}?"]} for n in range(10)]
    for category in FIVE:
        rows += [{"category": category, "turns": [f"{category} {n}"]} for n in range(80)]
    numbered = [{"question_id": 81 + n, **row} for n, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*numbered, *more]))
    return str(path)


def test_the_thirteen_categories_are_six_tasks_of_eighty(tmp_path: Path) -> None:
    suite = SpecBenchSpec(path=question_file(tmp_path / "question.jsonl")).load(None)
    assert len(suite.prompts) == 480
    assert suite.turns == 560
    assert Counter(p.category for p in suite.prompts) == dict.fromkeys(["mt_bench", *FIVE], 80)
    assert {p.sub_category for p in suite.prompts if p.category == "mt_bench"} == set(EIGHT)
    assert suite.prompts[0].question_id == "81"
    assert suite.selection == "all 480 prompts"
    assert suite.warnings == ()


def test_a_subset_takes_of_every_task(tmp_path: Path) -> None:
    suite = SpecBenchSpec(path=question_file(tmp_path / "question.jsonl"), limit=48).load(None)
    assert Counter(p.category for p in suite.prompts) == dict.fromkeys(["mt_bench", *FIVE], 8)


def test_uncategorised_rows_are_kept_and_numbers_that_are_not_the_published_ones_said(tmp_path: Path) -> None:
    extra = {"question_id": 900, "turns": "no category"}
    suite = SpecBenchSpec(path=question_file(tmp_path / "question.jsonl", extra)).load(None)
    assert suite.prompts[-1].category is None
    assert suite.warnings == ("not the published numbers of rows (uncategorised 1 of 0)",)
    assert suite.selection == f"all 481 prompts; {suite.warnings[0]}"


def test_a_category_of_neither_is_named_by_its_line(tmp_path: Path) -> None:
    path = question_file(tmp_path / "question.jsonl", {"question_id": 900, "turns": "x", "category": "poems"})
    with pytest.raises(SuiteError, match="line 481: category 'poems' is none of Spec-Bench's"):
        SpecBenchSpec(path=path).load(None)
    with pytest.raises(SuiteError, match="line 481: category 'poems' is none of MT-Bench's"):
        MtBenchSpec(path=path).load(None)


def test_mt_bench_is_its_eighty_rows_of_that_file(tmp_path: Path) -> None:
    suite = MtBenchSpec(path=question_file(tmp_path / "question.jsonl")).load(None)
    assert len(suite.prompts) == 80
    assert suite.turns == 160
    assert Counter(p.category for p in suite.prompts) == dict.fromkeys(EIGHT, 10)
    assert suite.selection == "all 80 prompts"
