"""Suites by one word, as `suites show` and `run --suite` take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.naming import builtin_names, find_suite, speed_bench_names
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("word", "entry"),
    [
        ("coding", {"kind": "builtin", "name": "coding"}),
        ("speed-bench/throughput-2k", {"kind": "speed-bench", "split": "throughput-2k"}),
        ("gsm8k", {"kind": "gsm8k"}),
        ("none/there.jsonl", {"kind": "jsonl", "path": "none/there.jsonl"}),
        ("none/there.parquet", {"kind": "parquet", "path": "none/there.parquet"}),
    ],
)
def test_a_word_names_an_entry_of_a_plan(word: str, entry: dict[str, Any]) -> None:
    assert find_suite(word, 7).model_dump(exclude_unset=True) == {**entry, "limit": 7}


def test_any_file_is_taken_for_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    path.write_text('{"id": 1, "prompt": "a"}\n')
    assert find_suite(str(path), None).kind == "jsonl"


def test_a_built_in_may_be_named_as_the_list_prints_it() -> None:
    assert find_suite("builtin/throughput-2k", 3) == find_suite("throughput-2k", 3)
    assert find_suite("builtin/mine.jsonl", None).model_dump()["path"] == "builtin/mine.jsonl"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("codng", "there is no suite 'codng'; did you mean 'coding'?"),
        ("speed-bench/agentik", "did you mean 'speed-bench/agentic'?"),
        ("zzz", "there is no suite 'zzz'; known: coding, humanities, "),
        ("hf", "suite kind 'hf' needs more than its name (dataset, split); write a plan that uses it"),
        ("spec-bench", "suite kind 'spec-bench' needs more than its name (path)"),
    ],
)
def test_a_word_that_is_not_enough_is_refused(word: str, said: str) -> None:
    with pytest.raises(SuiteError) as caught:
        find_suite(word, None)
    assert said in str(caught.value)


def test_what_an_unknown_word_is_answered_with_is_enough() -> None:
    with pytest.raises(SuiteError) as caught:
        find_suite("zzz", None)
    _, _, words = str(caught.value).partition("known: ")
    known = words.removesuffix(", or a .jsonl file").split(", ")
    kinds = {"gsm8k", "humaneval", "mbpp", "mt-bench", "random", "sharegpt"}
    assert set(known) == {*builtin_names(), *speed_bench_names(), *kinds}
    for name in known:
        find_suite(name, None)


def test_the_names_that_are_listed_are_found() -> None:
    assert {"coding", "writing", "long-sequence"} <= set(builtin_names())
    assert len(speed_bench_names()) == 7
    for name in [*builtin_names(), *speed_bench_names()]:
        assert find_suite(name, None).limit is None
