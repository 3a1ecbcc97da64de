"""The plan's schema: typed, complete, and wrong in one message with line, key, what is wrong and what was meant."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from draftmark.backends.registry import BACKENDS, DRAFTERS
from draftmark.bench.plans.document import Problem
from draftmark.bench.plans.load import LOADS
from draftmark.bench.plans.plan import PlanError, PlanSettings, load_plan, refuse
from draftmark.results.records import Sampling
from draftmark.suites.registry import SUITES

if TYPE_CHECKING:
    from collections.abc import Callable

    WritePlan = Callable[..., Path]

CONTRACT = """\
name: accounting
target: smollm2-135m
backends: [{kind: reference, device: cpu, dtype: float32}]
drafters:
  - {kind: none}
  - {kind: ngram, draft_length: [2, 4]}
  - {kind: draft-model, model: smollm2-135m, draft_length: [3]}
suites: [{kind: builtin, name: coding, limit: 8}]
load: {kind: closed, concurrency: [1]}
sampling: {temperature: 0, max_tokens: 64, seed: 0}
repeats: 2
"""


@pytest.fixture
def problems(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return the lines of the error that a plan's text gives, each from its line number on."""

    def of(text: str, environment: dict[str, str] | None = None) -> list[str]:
        path = tmp_path / "p.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(PlanError) as caught:
            load_plan(path, environment or {})
        heading, *lines = str(caught.value).split("\n")
        assert re.fullmatch(rf"{re.escape(str(path))} has (a problem|\d+ problems):", heading)
        return [line.strip().removeprefix(f"{path}").removeprefix(":").strip() for line in lines]

    return of


def edited(old: str, new: str) -> str:
    assert CONTRACT.count(old) == 1
    return CONTRACT.replace(old, new)


def test_the_contract_form_reads_with_its_defaults(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(CONTRACT, encoding="utf-8")
    plan = load_plan(path, {})
    assert (plan.name, plan.target, plan.repeats, plan.warmup) == ("accounting", "smollm2-135m", 2, 1)
    assert plan.sampling == Sampling(temperature=0.0, max_tokens=64, seed=0)
    assert plan.load.concurrency == [1]
    assert [arm.label for drafter in plan.drafters for arm in drafter.arms()] == [
        "none",
        "ngram D=2",
        "ngram D=4",
        "draft-model D=3",
    ]
    data = plan.as_data()
    assert data["drafters"][1] == {
        "kind": "ngram",
        "optional": False,
        "draft_length": [2, 4],
        "min_match": 1,
        "max_match": 3,
        "on": "cpu",
        "draft_length_by_batch": None,
    }
    assert data["suites"][0]["limit"] == 8


def test_the_hash_is_of_what_is_meant_and_not_of_how_it_is_written(tmp_path: Path) -> None:
    texts = [
        CONTRACT,
        "# words\n" + edited("temperature: 0,", "temperature: 0.0, top_p: 1,"),
        edited("limit: 8", "limit: 9"),
    ]
    hashes = []
    for text in texts:
        (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
        hashes.append(load_plan(tmp_path / "p.yaml", {}).hash)
    assert hashes[0] == hashes[1] != hashes[2]


def test_all_misspelt_keys_are_named_at_once_with_the_key_that_was_meant(problems: Any) -> None:
    text = CONTRACT + "temperture: 0.0\nconcurency: 8\n"
    text = text.replace("{kind: ngram, draft_length: [2, 4]}", "{kind: ngram, draft_length: [2, 4], max_mach: 2}")
    assert problems(text) == [
        "6: drafters[1].max_mach: unknown key; did you mean 'max_match'?",
        "12: temperture: unknown key; did you mean 'sampling.temperature'?",
        "13: concurency: unknown key; did you mean 'load.concurrency'?",
    ]


def test_a_key_like_no_other_gets_the_list_of_those_that_exist(problems: Any) -> None:
    (line,) = problems(edited("kind: closed,", "kind: closed, zzz: 1,"))
    assert line == "9: load.zzz: unknown key; known here: concurrency, kind"


def test_a_duplicate_key_is_an_error_that_names_it(problems: Any) -> None:
    assert problems(CONTRACT + "repeats: 3\n") == [
        "12: repeats: this key is there twice (first on line 11); remove one"
    ]


WRONG_NUMBERS = {
    'max_tokens: "256"': 'sampling.max_tokens: must be a whole number, not the text "256"; take the quotes away',
    "max_tokens: 64.0": "sampling.max_tokens: must be a whole number, not the number 64.0",
    "max_tokens: true": "sampling.max_tokens: must be a whole number, not true",
    "max_tokens: 0": "sampling.max_tokens: must be above 0, not the number 0",
    "max_tokens: [1]": "sampling.max_tokens: must be a whole number, not a list",
    "temperature: -1": "sampling.temperature: must be at least 0.0, not the number -1",
    "temperature: .nan": "sampling.temperature: .nan is not a finite number",
    "seed: 1e400": "sampling.seed: 1e400 is not a finite number",
    "seed: 9223372036854775808": "sampling.seed: 9223372036854775808 is too large; at most 9223372036854775807",
}


@pytest.mark.parametrize(("entry", "said"), WRONG_NUMBERS.items())
def test_wrong_numbers_are_told_in_words(problems: Any, entry: str, said: str) -> None:
    text = edited("{temperature: 0, max_tokens: 64, seed: 0}", f"{{{entry}}}")
    assert problems(text) == [f"10: {said}"]


def test_a_number_that_is_not_finite_is_all_that_is_told(problems: Any) -> None:
    lines = [
        "name: a",
        "target: tiny",
        "backends: [{kind: openai, base_url: 'http://127.0.0.1:9', model: m, stall_timeout_s: .inf}]",
        "drafters: [{kind: as-served}]",
        "baseline: false",
        "suites: [{kind: humaneval}]",
    ]
    assert problems("\n".join(lines)) == ["3: backends[0].stall_timeout_s: .inf is not a finite number"]


def specs() -> dict[str, Any]:
    """Every kind of every table, every load and the plan's own settings, by name."""
    tables = {"backend": BACKENDS, "drafter": DRAFTERS, "suite": SUITES}
    found = {f"{noun} {kind}": table.resolve(kind) for noun, table in tables.items() for kind in table.builtin}
    return found | {f"load {kind}": model for kind, model in LOADS.items()} | {"plan": PlanSettings}


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_no_spec_takes_a_number_that_is_not_finite(value: float) -> None:
    tried = set()
    for name, model in specs().items():
        numbers = {key: field for key, field in model.model_fields.items() if re.search(r"\bfloat\b", repr(field))}
        for key, field in numbers.items():
            told, written = field.alias or key, [value] if "list[" in repr(field) else value
            with pytest.raises(ValidationError) as caught:
                model.model_validate_json(json.dumps({told: written}))
            assert any(error["type"] == "finite_number" for error in caught.value.errors() if error["loc"][0] == told)
            tried.add(f"{name}: {key}")
    assert {"backend openai: stall_timeout_s", "drafter suffix: max_spec_factor", "load ramp: to_rate"} <= tried


KINDS = "none, ngram, suffix, draft-model, eagle, eagle3, mtp, dflash, dspark, medusa, custom, synthetic, as-served"
WRONG_ENTRIES = {
    "backends: [{kind: referense}]": "backends[0].kind: unknown backend kind 'referense'; did you mean 'reference'?",
    "drafters: [none]": 'drafters[0]: must be a mapping such as {kind: none}, not the text "none"',
    "drafters: [{kind: nnoe}]": "drafters[0].kind: unknown drafter kind 'nnoe'; did you mean 'none'?",
    "drafters: [{optional: true}]": f"drafters[0].kind: is missing; known: {KINDS}",
    "drafters: [{kind: 5}]": f"drafters[0].kind: must be text, not the number 5; known: {KINDS}",
    "drafters: [{kind: none}, {kind: none}]": "drafters[1]: asks for none again, as drafters[0]; remove one",
    "drafters: [{kind: none}, {kind: ngram, draft_length: [2, 2]}]": "drafters[1]: asks for ngram D=2 again, "
    "as drafters[1]; remove one",
    "drafters: [{kind: none}, {kind: ngram, draft_length: [2, '4']}]": "drafters[1].draft_length[1]: must be a whole "
    'number, not the text "4"; take the quotes away',
    "drafters: [{kind: none}, {kind: ngram, draft_length: []}]": "drafters[1].draft_length: must not be empty",
    "drafters: [{kind: none}, {kind: ngram, draft_length: 2, min_match: 5}]": "drafters[1]: min_match 5 is above "
    "max_match 3; swap them",
    "suites: []": "suites: must not be empty; write [{kind: builtin}]",
    "suites: coding": 'suites: must be a list, not the text "coding"; write [{kind: builtin}]',
    "suites: [{kind: builtin, name: codding}]": "suites[0].name: must be 'coding', 'humanities', 'math', "
    "'multilingual', 'qa', 'rag', 'reasoning', 'roleplay', 'stem', 'summarization', 'writing', 'qualitative', "
    "'long-sequence', 'throughput-1k', 'throughput-2k', 'throughput-8k', 'throughput-16k' or 'throughput-32k', "
    'not the text "codding"',
    "suites: [{kind: humaneval}, {kind: humaneval}]": "suites[1]: is the same as suites[0]; remove one",
    "load: {kind: open}": "load.kind: must be 'closed', 'poisson', 'constant', 'ramp' or 'trace', "
    'not the text "open"',
    "load: {concurrency: [1, 4]}": "load.concurrency[1]: must be at most 1 for the backend reference, "
    "which answers one turn at a time",
    "load: {concurrency: [1, 1]}": "load.concurrency[1]: 1 is there twice; remove one",
    "load: [1]": "load: must be a mapping of keys to values, not a list",
    "repeats: 0": "repeats: must be at least 1, not the number 0",
    "warmup: -1": "warmup: must be at least 0, not the number -1",
    "name: 5": "name: must be text, not the number 5; put it in quotes",
    "name: ''": "name: must not be empty",
    "name:": "name: must be text, not nothing",
}


@pytest.mark.parametrize(("entry", "said"), WRONG_ENTRIES.items())
def test_wrong_entries_are_told_in_words(problems: Any, entry: str, said: str) -> None:
    key = entry.split(":", maxsplit=1)[0]
    small = {
        "name": "name: small",
        "target": "target: tiny",
        "backends": "backends: [{kind: reference}]",
        "drafters": "drafters: [{kind: none}]",
        "suites": "suites: [{kind: humaneval}]",
    }
    lines = [*(line for name, line in small.items() if name != key), entry]
    assert problems("\n".join(lines)) == [f"{len(lines)}: {said}"]


def test_missing_keys_are_all_named(problems: Any) -> None:
    assert problems("repeats: 1\n") == [
        "1: backends: is missing; list at least one, such as [{kind: reference}]",
        "1: drafters: is missing; list at least one, such as [{kind: none}]",
        "1: suites: is missing; list at least one, such as [{kind: builtin}]",
        "1: name: is missing",
    ]


def test_an_engine_that_takes_token_ids_needs_a_target(problems: Any) -> None:
    lines = ["name: small", "backends: [{kind: reference}]", "drafters: [{kind: none}]", "suites: [{kind: humaneval}]"]
    assert problems("\n".join(lines)) == [
        "2: backends[0]: the backend reference needs a target; add target: and the model that answers"
    ]
    assert problems("\n".join([*lines, "target:"]))[-1] == (
        "5: target: must be text, not nothing; name the model that answers"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the plan is empty"),
        ("- a\n", "is a mapping"),
        ("hello\n", "is a mapping"),
        ("a: [\n", "is not valid YAML"),
    ],
)
def test_files_that_are_no_plan_say_what_one_is(problems: Any, text: str, said: str) -> None:
    (line,) = problems(text)
    assert said in line


def test_the_word_no_is_text(problems: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(edited("model: smollm2-135m", "model: no"), encoding="utf-8")
    assert load_plan(path, {}).drafters[2].arms()[0].options["model"] == "no"


def test_a_plan_without_the_baseline_is_refused_unless_it_says_so(problems: Any, tmp_path: Path) -> None:
    text = edited("  - {kind: none}\n", "")
    assert problems(text) == [
        "4: drafters: has no {kind: none}, so there is nothing to compare with; add it, or set baseline: false"
    ]
    (tmp_path / "ok.yaml").write_text(text + "baseline: false\n", encoding="utf-8")
    assert load_plan(tmp_path / "ok.yaml", {}).baseline is False


def test_a_plan_cannot_both_have_a_baseline_and_deny_it(problems: Any) -> None:
    assert problems(CONTRACT + "baseline: false\n") == [
        "12: baseline: is false, but drafters holds {kind: none}; take one of them away"
    ]


def test_arms_that_differ_in_an_option_are_two_arms(tmp_path: Path) -> None:
    text = edited(
        "{kind: ngram, draft_length: [2, 4]}",
        "{kind: ngram, draft_length: 2}\n  - {kind: ngram, draft_length: 2, max_match: 5}",
    )
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert len(load_plan(tmp_path / "p.yaml", {}).drafters) == 4


def test_unknown_variables_of_draftmark_are_reported_without_their_values(problems: Any) -> None:
    lines = problems(CONTRACT, {"DRAFTMARK_CACH": "secret-value", "PATH": "/bin", "DRAFTMARK_CACHE": "x"})
    assert lines == [
        "unknown environment variable DRAFTMARK_CACH, which changes nothing; did you mean DRAFTMARK_CACHE?"
    ]


def test_the_process_environment_is_what_is_looked_at(
    write_plan: WritePlan, monkeypatch: pytest.MonkeyPatch, fake: Any
) -> None:
    monkeypatch.setattr(os, "environ", {"DRAFTMARK_ZZZ": "1"})
    with pytest.raises(PlanError, match="DRAFTMARK_ZZZ"):
        load_plan(write_plan())


def test_a_kind_of_another_package_is_read_by_its_own_class(write_plan: WritePlan, fake: Any) -> None:
    plan = load_plan(write_plan(backends=[{"kind": "fake", "threads": 3}]), {})
    assert isinstance(plan.backends[0], fake.FakeSpec)
    assert plan.as_data()["backends"][0]["threads"] == 3


def test_problems_found_later_get_the_lines_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(CONTRACT, encoding="utf-8")
    refuse(path, [])
    with pytest.raises(PlanError, match=r"p\.yaml:7: drafters\[2\]: cannot run here"):
        refuse(path, [Problem(("drafters", 2), "cannot run here")])


@pytest.mark.parametrize("name", ["demo", "accounting", "demo-short"])
def test_the_examples_are_plans(name: str) -> None:
    plan = load_plan(Path(__file__).parents[3] / "examples" / f"{name}.yaml", {})
    assert plan.name == name
