from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from draftmark.suites.builtin import BuiltinSpec, long_sequence
from draftmark.suites.builtin import spec as builtin_spec
from draftmark.suites.prompt import Suite, SuiteError


def spec(**settings: Any) -> BuiltinSpec:
    return BuiltinSpec.model_validate({"kind": "builtin", **settings})


@pytest.mark.parametrize("name", builtin_spec.SHIPPED)
def test_shipped_suites_load_without_a_tokenizer_and_keep_their_own_category(name: str) -> None:
    suite = spec(name=name).load(None)
    assert suite.name == name
    assert {prompt.category for prompt in suite.prompts} == {name}
    assert suite.licence == "Apache-2.0"
    assert suite.selection == f"all {len(suite.prompts)} prompts"


def test_the_prompts_are_the_same_on_every_machine() -> None:
    """A change here makes another suite of it, with which nothing from before can be compared."""
    assert {name: spec(name=name).load(None).hash[:12] for name in builtin_spec.SHIPPED} == {
        "coding": "7c928383b26d",
        "humanities": "a229b2b8b367",
        "math": "e826206c4bcc",
        "multilingual": "cd68605b1ce4",
        "qa": "dfde4dbb9bde",
        "rag": "bac4b0c57651",
        "reasoning": "dba562b07b77",
        "roleplay": "9ff84b5dc4e6",
        "stem": "ea8ed46091cd",
        "summarization": "62bbbd13e10e",
        "writing": "4ee8bc6d0a5d",
    }


def test_qualitative_is_all_eleven_categories_and_a_limit_is_shared_out_over_them() -> None:
    whole, part = spec(name="qualitative").load(None), spec(name="qualitative", limit=22).load(None)
    assert whole.prompts == tuple(
        prompt for name in builtin_spec.SHIPPED for prompt in spec(name=name).load(None).prompts
    )
    counts = Counter(prompt.category for prompt in part.prompts)
    assert (set(counts), sum(counts.values())) == (set(builtin_spec.SHIPPED), 22)
    assert f"22 of {len(whole.prompts)} prompts, stratified by category" in part.selection


@pytest.mark.parametrize("name", builtin_spec.SHIPPED)
def test_a_subset_of_a_shipped_suite_covers_its_sub_categories(name: str) -> None:
    whole, part = spec(name=name).load(None), spec(name=name, limit=12).load(None)
    assert len(part.prompts) == 12
    kinds = {prompt.sub_category for prompt in whole.prompts}
    assert len({prompt.sub_category for prompt in part.prompts}) == min(12, len(kinds))
    assert part.hash != whole.hash


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"name": "poetry"}, "coding"),
        ({"name": "coding", "prompt_tokens": 500}, "prompt_tokens belongs to the builtin suite long-sequence"),
        (
            {"name": "qualitative", "entropy": ["low"]},
            "entropy belongs to the builtin suites long-sequence, throughput-1k, ",
        ),
        ({"name": "summarization", "entropy": ["low"]}, "throughput-16k, throughput-32k, not to summarization"),
        ({"name": "long-sequence", "entropy": []}, "at least 1 item"),
        ({"name": "long-sequence", "entropy": ["low", "low"]}, "names a level twice"),
        ({"name": "long-sequence", "entropy": ["medium"]}, "mixed"),
        ({"name": "long-sequence", "prompt_tokens": 0}, "greater than 0"),
        ({"name": "throughput-2k", "prompt_tokens": 2000}, "throughput-2k has 2,000"),
        ({"name": "throughput-4k"}, "throughput-8k"),
        ({"name": "coding", "limits": 3}, "limits"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        spec(**settings)


def test_entropy_may_be_one_word() -> None:
    assert spec(name="long-sequence", entropy="low").entropy == ["low"]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "long-sequence"),
        ({"prompt_tokens": 1000, "entropy": ["high", "low", "mixed"]}, "long-sequence"),
        ({"prompt_tokens": 4000}, "long-sequence-4000"),
        ({"entropy": ["high", "low"], "prompt_tokens": 500}, "long-sequence-500-low-high"),
    ],
)
def test_suites_of_other_length_or_levels_have_other_names(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], name: str
) -> None:
    monkeypatch.setattr(long_sequence, "build", lambda renderer, **_: ((), "none"))
    suite: Suite = spec(name="long-sequence", **settings).load(None)
    assert suite.name == name


def test_a_throughput_suite_is_named_after_its_levels_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(long_sequence, "build", lambda renderer, **settings: (asked.update(settings), ((), "none"))[1])
    assert spec(name="throughput-16k", entropy="low").load(None).name == "throughput-16k-low"
    assert (asked["prompt_tokens"], asked["entropies"]) == (16_000, ["low"])


def test_a_suite_missing_from_the_installation_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(builtin_spec, "files", lambda package: tmp_path)
    with pytest.raises(SuiteError, match=r"coding\.jsonl"):
        spec(name="coding").load(None)
