"""Strict YAML: nothing is read as something else in silence, and every problem has its line."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.bench.plans.document import (
    MOST_BYTES,
    Document,
    PlanError,
    Problem,
    dotted,
    parse_document,
    read_document,
)

if TYPE_CHECKING:
    from pathlib import Path


def told(text: str) -> list[tuple[int | None, str, str]]:
    return [(problem.line, dotted(problem.place), problem.text) for problem in parse_document(text).problems]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("true", True),
        ("010", 10),
        ("0o17", 15),
        ("1:30", "1:30"),
        ("~", None),
        ("", None),
        ('"256"', "256"),
        ("256", 256),
        ("1e3", 1000.0),
        ("1.10", 1.1),
    ],
)
def test_scalars_follow_yaml_1_2(written: str, read: Any) -> None:
    value = parse_document(f"key: {written}").value["key"]
    assert value == read
    assert type(value) is type(read)


def test_a_duplicate_key_is_named_with_both_lines() -> None:
    assert told("temperature: 0.0\ntemperature: 0.8\nmodel: demo\n") == [
        (2, "temperature", "this key is there twice (first on line 1); remove one")
    ]


def test_a_duplicate_key_in_a_list_entry_is_named_by_its_place() -> None:
    assert told("drafters:\n  - {kind: none}\n  - {kind: ngram, kind: none}\n") == [
        (3, "drafters[1].kind", "this key is there twice (first on line 3); remove one")
    ]


def test_aliases_are_refused_so_that_no_file_can_grow_in_memory() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{one}: &{one} [*{two}, *{two}]\n" for two, one in pairwise("abcdefghi"))
    lines = [line for line, _, text in told(bomb) if text.startswith("aliases")]
    assert sorted(set(lines)) == list(range(2, 10))


def test_an_alias_to_itself_ends() -> None:
    assert [text for _, _, text in told("a: &a [*a]\n")] == [
        "aliases (*name) are not allowed in a plan; write the value out"
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("!!python/object/apply:os.system ['true']", "the tag tag:yaml.org,2002:python/object/apply:os.system"),
        ("!mine x", "the tag !mine"),
        ("!!set {a, b}", "the tag tag:yaml.org,2002:set"),
        ("2026-11-29", "2026-11-29 would be read as a timestamp"),
        (".nan", ".nan is not a finite number"),
        ("-.inf", "-.inf is not a finite number"),
        ("1e999", "1e999 is not a finite number"),
        ("9223372036854775808", "9223372036854775808 is too large"),
        ("1" * 5000, "1111111111111111111111111111111111111... cannot be read"),
        ('"\\ud800"', "holds half of a surrogate pair"),
    ],
)
def test_values_that_a_plan_cannot_hold_are_refused_by_line(written: str, said: str) -> None:
    ((line, place, text),) = told(f"first: 1\nkey: {written}\n")
    assert (line, place) == (2, "key")
    assert text.startswith(said)


def test_the_largest_whole_number_is_held() -> None:
    assert parse_document("key: 9223372036854775807").value == {"key": 2**63 - 1}


@pytest.mark.parametrize("text", ["1: a", "true: a", "? [a, b]\n: c", "<<: {a: 1}", "~: a"])
def test_keys_must_be_text(text: str) -> None:
    assert told(text)[0][2].endswith("is not text; put it in quotes")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: b: c\n", 1), ("a: 1\nb: [1, 2\n", 3), ("a: 1\n---\nb: 2\n", 2), ("a:\n\t- x\n", 2), ("a: *nowhere\n", 1)],
)
def test_broken_yaml_is_told_with_its_line(text: str, line: int) -> None:
    ((found, _, words),) = told(text)
    assert found == line
    assert words.startswith("is not valid YAML: ")


def test_deep_nesting_is_a_problem_and_no_crash() -> None:
    assert [text for _, _, text in told("[" * 5000)] == ["is nested too deeply"]


def test_a_directive_that_would_change_the_rules_is_refused() -> None:
    assert told("# old\n%YAML 1.1\n---\nmodel: no\n") == [(2, "", "YAML directives (%...) are not allowed in a plan")]


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_has_no_value_and_no_problem_of_its_own(text: str) -> None:
    document = parse_document(text)
    assert (document.value, document.problems) == (None, [])


def test_a_place_without_a_line_gets_that_of_the_place_around_it() -> None:
    document = parse_document("a: 1\nload:\n  kind: closed\n")
    assert document.line(("load", "kind")) == 3
    assert document.line(("load", "concurrency", 0)) == 2
    assert document.line(("missing",)) == 1
    assert Document().line(("anything",)) is None


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_files_that_are_no_text_are_refused_with_a_sentence(tmp_path: Path) -> None:
    cases = {
        tmp_path / "missing.yaml": "there is no such file",
        tmp_path: "this is a folder",
        write(tmp_path / "latin1.yaml", b"name: a\nname2: caf\xe9\n"): "is not UTF-8 text",
        write(tmp_path / "large.yaml", b"# " + b"x" * MOST_BYTES): "more than 1,000,000 bytes",
        tmp_path / "nul\0.yaml": "cannot be read",
    }
    for path, said in cases.items():
        with pytest.raises(PlanError, match=said):
            read_document(path)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    assert read_document(write(tmp_path / "bom.yaml", b"\xef\xbb\xbfname: a\n")).value == {"name": "a"}


def test_an_error_counts_and_places_its_problems() -> None:
    problems = [Problem(("load", "concurrency", 1), "must be 1", 4), Problem((), "is nested too deeply")]
    assert str(PlanError("demo.yaml", problems)) == (
        "demo.yaml has 2 problems:\n  demo.yaml:4: load.concurrency[1]: must be 1\n  demo.yaml: is nested too deeply"
    )
    assert PlanError("demo.yaml", problems[:1]).exit_code == 2
    assert str(PlanError("demo.yaml", problems[:1])).startswith("demo.yaml has a problem:")


@given(st.text(max_size=200))
def test_no_text_crashes_the_reader(text: str) -> None:
    document = parse_document(text)
    assert document.value is None or not document.problems or all(problem.text for problem in document.problems)
