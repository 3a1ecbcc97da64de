from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.loaders.jsonl import JsonlSpec
from draftmark.suites.prompt import Prompt, Suite, SuiteError
from draftmark.suites.reading import lines, table_prompts
from draftmark.suites.reading.row_faults import MOST_NAMED
from draftmark.suites.subset import choose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

THREE_ROWS = [
    {"id": "one", "prompt": "Say one."},
    {"id": "two", "prompt": "Sag zwei - ü."},
    {"id": "three", "prompt": "三 please"},
]


def text_of(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def load(folder: Path, content: bytes | str, **settings: Any) -> Suite:
    path = folder / "mine.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return JsonlSpec(path=str(path), **settings).load(None)


def fault(folder: Path, content: bytes | str, **settings: Any) -> str:
    with pytest.raises(SuiteError) as caught:
        load(folder, content, **settings)
    return str(caught.value)


def row(turns: object = "Hello.", **fields: object) -> bytes:
    return json.dumps({"question_id": "q", "turns": turns, **fields}).encode()


# What a file may look like


@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(lambda text: text.encode(), id="plain"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text.encode(), id="byte order mark"),
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(
            lambda text: ("\n\n  \n\t\r\n" + text.replace("\n", "\n\n \n") + "\n\n").encode(), id="blank lines"
        ),
        pytest.param(lambda text: text.rstrip("\n").encode(), id="no final newline"),
    ],
)
def test_the_same_rows_are_read_from_every_usual_form_of_the_file(tmp_path: Path, encode: Any) -> None:
    suite = load(tmp_path, encode(text_of(THREE_ROWS)))
    assert [(p.question_id, p.turns) for p in suite.prompts] == [
        ("one", ("Say one.",)),
        ("two", ("Sag zwei - ü.",)),
        ("three", ("三 please",)),
    ]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_line_separators_of_unicode_belong_to_the_text(tmp_path: Path, separator: str) -> None:
    turn = f"before{separator}after"
    content = json.dumps({"id": "x", "prompt": turn}, ensure_ascii=ord(separator) < 0x80) + "\n" + text_of(THREE_ROWS)
    suite = load(tmp_path, content)
    assert len(suite.prompts) == 4
    assert suite.prompts[0].turns == (turn,)


def test_a_line_of_a_mebibyte_is_read(tmp_path: Path) -> None:
    big = "w " * 2**19
    suite = load(tmp_path, text_of([THREE_ROWS[0], {"id": "big", "prompt": big}, THREE_ROWS[2]]))
    assert suite.prompts[1].turns == (big,)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST_LINE_BYTES", 2**20)
    assert "line 2 is longer than 1 MiB" in fault(tmp_path, row() + b"\n" + b"x" * (2**20 + 1))


# What a row may hold


def test_turns_as_lists_and_strings_with_and_without_a_category(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        text_of(
            [
                {"question_id": 1, "category": "math", "turns": ["add two and two", "now double it"]},
                {"question_id": 2, "category": "math", "turns": "thirteen char"},
                {"question_id": 3, "turns": ["no category here"]},
                {"question_id": 5, "category": None, "turns": ["a null category"]},
            ]
        ),
    )
    assert [len(p.turns) for p in suite.prompts] == [2, 1, 1, 1]
    assert suite.turns == 5
    assert [p.category for p in suite.prompts] == ["math", "math", None, None]
    assert [p.question_id for p in suite.prompts] == ["1", "2", "3", "5"]


def test_empty_object_and_blank_turns_are_rejected_with_their_lines(tmp_path: Path) -> None:
    text = fault(
        tmp_path,
        text_of(
            [
                {"question_id": 1, "turns": ["fine"]},
                {"question_id": 4, "turns": []},
                {"question_id": 6, "turns": [{"role": "user", "content": "an object"}]},
                {"question_id": 7, "turns": ["fine", ""]},
            ]
        ),
    )
    assert "mine.jsonl" in text
    assert "line 2: turns is empty" in text
    assert "line 3: turns[0] is an object" in text
    assert "line 4: turns[1] is an empty string" in text
    assert "line 1:" not in text


def test_all_columns_of_speed_bench_arrive(tmp_path: Path) -> None:
    suite = load(
        tmp_path,
        row(
            ["a", "b"],
            category="qa",
            sub_category="history",
            source="somewhere",
            src_id=17,
            difficulty="hard",
            multiturn=True,
            system="Be brief.",
            reference=["anything"],
            notes="an own column",
        ),
    )
    assert suite.prompts == (
        Prompt(
            question_id="q",
            category="qa",
            sub_category="history",
            turns=("a", "b"),
            system="Be brief.",
            source="somewhere",
            src_id="17",
            difficulty="hard",
        ),
    )


@pytest.mark.parametrize("category", ["", "  ", None])
def test_a_blank_category_is_uncategorised(tmp_path: Path, category: str | None) -> None:
    assert load(tmp_path, row(category=category)).prompts[0].category is None


# What is wrong with a row, in a sentence that names it


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"question_id": "q", "turns": ["open', "is not JSON: Unterminated string starting at column 32"),
        (b'{"question_id": "q", "turns": ["a"]} {}', "is not JSON: Extra data at column 38"),
        (b"[1, 2]", "is a list; each line holds one object"),
        (b'"text"', "is a string"),
        (b"null", "is null"),
        (b"3", "is a number"),
        (b"true", "is true or false"),
        (b"{}", "has no question_id (or id)"),
        (b'{"turns": ["a"]}', "has no question_id (or id)"),
        (b'{"question_id": "q"}', "has neither turns nor prompt"),
        (b'{"question_id": "q", "turns": ["a"], "prompt": "b"}', "has both turns and prompt"),
        (b'{"question_id": "q", "turns": ["a"], "turns": ["b"]}', "has the key 'turns' twice"),
        (b'{"question_id": "q", "turns": {"a": 1}}', "turns is an object; it must be a list"),
        (b'{"question_id": "q", "turns": 3}', "turns is a number"),
        (b'{"question_id": "q", "turns": ["a", null]}', "turns[1] is null"),
        (b'{"question_id": "q", "turns": " \\n"}', "turns is an empty string"),
        (b'{"question_id": "q", "prompt": ["a"]}', "prompt is a list; it must be a string"),
        (b'{"question_id": true, "turns": ["a"]}', "question_id is true or false"),
        (b'{"question_id": 1.5, "turns": ["a"]}', "question_id is a number; it must be a string or a whole number"),
        (b'{"question_id": " ", "turns": ["a"]}', "question_id ' ' is blank"),
        (b'{"question_id": "a\\nb", "turns": ["a"]}', "cannot be printed"),
        (b'{"question_id": "' + b"i" * 201 + b'", "turns": ["a"]}', "question_id has 201 characters; the most is 200"),
        (b'{"question_id": ' + b"7" * 5000 + b', "turns": ["a"]}', "whole number of 5,000 digits"),
        (b'{"question_id": "q", "turns": ["a"], "category": 4}', "category is a number; it must be a string or null"),
        (b'{"question_id": "q", "turns": ["a"], "system": []}', "system is a list"),
        (b'{"question_id": "q", "turns": ["a"], "src_id": 1.5}', "src_id is a number"),
        (b'{"question_id": "q", "turns": ["a"], "score": NaN}', "NaN is no JSON value"),
        (b'{"question_id": "q", "turns": ["a"], "score": -Infinity}', "-Infinity is no JSON value"),
        (b'{"question_id": "q", "turns": ["\\ud83d"]}', "turns[0] holds half of a surrogate pair (\\ud83d)"),
        (b'{"question_id": "\\udc00", "turns": ["a"]}', "question_id holds half of a surrogate pair"),
        (b'{"question_id": "q", "turns": ["a\\u0000b"]}', "turns[0] holds a NUL"),
        (b'{"question_id": "q", "turns": ["a\x00b"]}', "is not JSON"),
        (b'{"question_id": "q", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"question_id": "q", "turns": ["caf\xe9"]}', "is not UTF-8 (0xe9 at byte 36 of the line)"),
        (b'\xff\xfe{\x00"\x00', "looks like UTF-16"),
        (b"\x1f\x8b\x08\x00", "looks like gzip"),
        (b'\xef\xbb\xbf{"question_id": "q", "turns": ["a"]}', "is not JSON: Unexpected UTF-8 BOM"),
        (b'{"question_id": "q", "turns": ["a"], "categroy": "qa"}', "has no key 'category' but one called 'categroy'"),
        (b'{"question-id": "q", "turns": ["a"]}', "did you mean 'question_id'"),
        (b'{"question_id": "q", "Turns": ["a"]}', "did you mean 'turns'"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path, line: bytes, says: str) -> None:
    good = row().replace(b'"q"', b'"first"')
    text = fault(tmp_path, good + b"\n" + line + b"\n" + good.replace(b"first", b"last"))
    assert "mine.jsonl" in text
    assert "line 2: " in text
    assert says in text


def test_text_that_is_not_utf8_on_the_first_line_is_named(tmp_path: Path) -> None:
    assert "line 1: is not UTF-8" in fault(tmp_path, '{"id": "q", "prompt": "Käse"}'.encode("latin-1"))


def test_an_emoji_written_as_a_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    assert load(tmp_path, b'{"id": "q", "prompt": "\\ud83d\\ude42"}').prompts[0].turns == ("🙂",)


def test_a_number_and_a_string_that_read_alike_are_one_id(tmp_path: Path) -> None:
    text = fault(tmp_path, text_of([{"id": 1, "prompt": "a"}, {"id": "2", "prompt": "b"}, {"id": "1", "prompt": "c"}]))
    path = tmp_path / "mine.jsonl"
    assert f"{path}, line 3: question_id '1' is already taken by {path}, line 1" in text


def test_all_bad_lines_are_reported_up_to_a_bound(tmp_path: Path) -> None:
    text = fault(tmp_path, b"oops\n" * 3 + row() + b"\noops\n")
    assert [f"line {n}:" in text for n in (1, 2, 3, 4, 5)] == [True, True, True, False, True]
    many = fault(tmp_path, b"oops\n" * 1000)
    assert f"line {MOST_NAMED}:" in many
    assert f"line {MOST_NAMED + 1}:" not in many
    assert "there may be more" in many


# Stand-ins


def test_speed_bench_placeholders_are_refused_by_name(tmp_path: Path) -> None:
    text = fault(tmp_path, row("FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING ITS SCRIPT"))
    assert "line 1: turns is SPEED-Bench's stand-in" in text
    assert "run `draftmark suites fetch speed-bench`" in text


def test_rows_that_all_ask_the_same_are_refused_unless_allowed(tmp_path: Path) -> None:
    content = text_of(
        [
            {"id": "k1", "prompt": "Reverse a list."},
            *({"id": f"k{n}", "prompt": "[text withheld, fetch it]"} for n in (2, 3, 4)),
            {"id": "k5", "prompt": "6*8?"},
        ]
    )
    text = fault(tmp_path, content)
    assert "3 rows ask the same thing" in text
    assert "Rows: k2 (line 2), k3 (line 3), k4 (line 4)." in text
    assert "2 rows are real" in text
    assert len(load(tmp_path, content, allow_repeats=True).prompts) == 5


def test_the_same_question_under_another_system_message_is_another_question(tmp_path: Path) -> None:
    suite = load(tmp_path, text_of([{"id": n, "prompt": "Hello.", "system": f"Be {n}."} for n in range(4)]))
    assert len(suite.prompts) == 4


# Files that cannot be read


@pytest.mark.parametrize("content", [b"", b"\n \n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_without_rows_is_an_error(tmp_path: Path, content: bytes) -> None:
    assert "has no rows" in fault(tmp_path, content)


def test_lines_are_lines_whatever_the_file_is_called(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(row() + b"\n[1]\n")
    with pytest.raises(SuiteError, match=r"mine\.parquet, line 2: is a list; each line holds one object"):
        JsonlSpec(path=str(path)).load(None)


def test_a_missing_file_a_folder_and_a_pipe_are_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, says in (
        (tmp_path / "gone.jsonl", "there is no file"),
        (tmp_path, "a folder"),
        (tmp_path / "pipe", "a pipe"),
    ):
        with pytest.raises(SuiteError, match=says):
            JsonlSpec(path=str(path)).load(None)
    with pytest.raises(SuiteError, match="cannot be read"):
        JsonlSpec(path="a\0b").load(None)


# Sets that drafters were trained on


def test_a_copy_of_a_set_that_heads_were_trained_on_is_known_by_the_files_own_name(tmp_path: Path) -> None:
    folder = tmp_path / "ShareGPT-tools"
    folder.mkdir()
    cautions = {}
    for name in ("mine.jsonl", "my-ShareGPT-90k.jsonl"):
        (folder / name).write_bytes(row())
        cautions[name] = JsonlSpec(path=str(folder / name), name="sharegpt").load(None).caution
    assert cautions["mine.jsonl"] is None
    told = cautions["my-ShareGPT-90k.jsonl"]
    assert told is not None
    assert "trained on ShareGPT" in told.text


# Subsets


def test_a_limit_keeps_the_files_order_and_says_so(tmp_path: Path) -> None:
    rows = [{"id": f"{c}{n}", "category": c, "prompt": f"{c} {n}"} for n in range(10) for c in ("x", "y")]
    suite = load(tmp_path, text_of(rows), limit=6, subset_seed=1)
    places = [[r["id"] for r in rows].index(p.question_id) for p in suite.prompts]
    assert places == sorted(places)
    assert sorted(p.category or "" for p in suite.prompts) == ["x"] * 3 + ["y"] * 3
    assert "6 of 20 prompts" in suite.selection
    assert "seed 1" in suite.selection
    assert all(p.turns == (f"{p.category} {p.question_id[1:]}",) for p in suite.prompts)


def test_a_limit_does_not_hold_the_texts_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pass keeps no text: whatever it holds of a row is far smaller than the row."""
    held: list[Any] = []

    def choose_and_keep(rows: Any, limit: int | None, seed: int) -> list[int]:
        held.extend(rows)
        return choose(rows, limit, seed)

    monkeypatch.setattr(table_prompts, "choose", choose_and_keep)
    load(tmp_path, text_of([{"id": n, "prompt": f"{n} " * 10_000} for n in range(5)]), limit=1)
    assert len(held) == 5
    assert all(len(repr(entry)) < 200 for entry in held)


def test_bad_rows_that_the_limit_would_leave_out_are_still_reported(tmp_path: Path) -> None:
    assert "line 3:" in fault(tmp_path, text_of(THREE_ROWS[:2]) + "oops\n", limit=1)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda text: text.replace("Say one.", "Say six."), 1),
        (lambda text: text.replace('"id": "two"', '"id": "too"'), 2),
        (lambda text: text.replace("please", "again!"), 3),
        (lambda text: text[: text.index("please")], 3),
    ],
    ids=["a text of the same length", "an id", "a text in the last line", "an end that is cut off"],
)
def test_a_row_that_changes_between_the_passes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str], line: int
) -> None:
    def choose_and_change(rows: Any, limit: int | None, seed: int) -> list[int]:
        (tmp_path / "mine.jsonl").write_text(change(text_of(THREE_ROWS)), "utf-8")
        return choose(rows, limit, seed)

    monkeypatch.setattr(table_prompts, "choose", choose_and_change)
    assert f"mine.jsonl, line {line} changed while it was read" in fault(tmp_path, text_of(THREE_ROWS))


def test_the_suite_is_named_after_the_file_or_as_told(tmp_path: Path) -> None:
    assert load(tmp_path, row()).name == "mine"
    assert load(tmp_path, row(), name="questions").name == "questions"


def test_the_hash_depends_on_the_texts_and_not_on_the_form_of_the_file(tmp_path: Path) -> None:
    plain = load(tmp_path, text_of(THREE_ROWS)).hash
    assert load(tmp_path, b"\xef\xbb\xbf" + text_of(THREE_ROWS).replace("\n", "\r\n").encode()).hash == plain
    assert load(tmp_path, text_of(THREE_ROWS[:2])).hash != plain
