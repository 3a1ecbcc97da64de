from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.conversation import messages
from draftmark.suites.loaders.speed_bench import SpeedBenchSpec, spec
from draftmark.suites.prompt import Suite, SuiteError
from draftmark.suites.subset import choose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Rows = list[dict[str, Any]]
    Write = Callable[..., Path]

STAND_IN = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"


def load(path: Path, split: Any = "qualitative", **settings: Any) -> Suite:
    return SpeedBenchSpec(split=split, path=str(path), **settings).load(None)


def fault(path: Path, split: Any = "qualitative", **settings: Any) -> str:
    with pytest.raises(SuiteError) as caught:
        load(path, split, **settings)
    return str(caught.value)


# Whole splits


def test_the_whole_split_of_a_prepared_folder_arrives(prepared: Write, rows: Rows) -> None:
    suite = load(prepared(rows))
    assert suite.name == "speed-bench/qualitative"
    assert len(suite.prompts) == 880
    assert suite.turns == 1138
    assert set(Counter(p.category for p in suite.prompts).values()) == {80}
    assert max(len(p.turns) for p in suite.prompts) == 5
    assert suite.licence == "NVIDIA Evaluation Dataset License"
    assert suite.selection == "all 880 prompts"
    first = suite.prompts[0]
    assert (first.question_id, first.sub_category, first.src_id, first.difficulty) == (
        "coding-00", "coding-a", "made_0", "hard",
    )  # fmt: skip


def test_parquet_and_json_lines_of_the_same_rows_are_the_same_prompts(
    prepared: Write, lines: Write, rows: Rows
) -> None:
    assert load(prepared(rows)).hash == load(lines(rows)).hash


def test_every_usual_place_of_prepared_files_is_found(
    prepared: Write, lines: Write, rows: Rows, tmp_path: Path
) -> None:
    speed = prepared(rows)
    places = (speed, speed.parent, speed.parent.parent, speed / "qualitative", speed / "qualitative" / "test.parquet")
    assert len({load(place).hash for place in places}) == 1
    assert load(lines(rows).parent).hash == load(speed).hash


def test_rows_with_messages_of_other_preparers_are_the_same_prompts(lines: Write, rows: Rows) -> None:
    whole = load(lines(rows)).hash
    others = [
        {k: v for k, v in row.items() if k != "turns"}
        | {"messages": [{"role": "user", "content": turn} for turn in row["turns"]]}
        for row in rows
    ]
    assert load(lines(others)).hash == whole


def test_the_hash_of_made_rows_is_the_same_on_every_machine(lines: Write, rows: Rows) -> None:
    """sha256 over the canonical JSON of the prompts, written here without the suite's own code."""
    import hashlib

    keys = ("question_id", "category", "sub_category", "turns", "source", "src_id", "difficulty")
    plain = [{key: row[key] for key in keys} | {"system": None, "prompt_tokens": None} for row in rows]
    text = json.dumps(plain, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    whole = load(lines(rows)).hash
    assert whole == hashlib.sha256(text.encode()).hexdigest()
    assert whole == "4cee7f78c3c103b5c8522ed189b48aad7c75d583019f1b3c699552aff69822cf"
    assert (
        load(lines(rows), limit=88, subset_seed=3).hash
        == "df4edcf3232a0173066cc441b78e8a8972382cd97a8fd14e7747ad274dbd39b1"
    )


def test_a_throughput_split_has_three_entropies(prepared: Write, throughput: Rows) -> None:
    suite = load(prepared(throughput, "throughput_2k"), "throughput-2k")
    assert len(suite.prompts) == suite.turns == 1536
    assert Counter(p.category for p in suite.prompts) == {"low_entropy": 512, "mixed": 512, "high_entropy": 512}
    assert "2,000 tokens of o200k_base before the chat template" in suite.selection


# Subsets and categories


def test_a_subset_is_stratified_and_never_a_prefix(lines: Write, rows: Rows) -> None:
    suite = load(lines(rows), limit=88)
    assert set(Counter(p.category for p in suite.prompts).values()) == {8}
    assert set(Counter(p.sub_category for p in suite.prompts).values()) == {4}
    assert [p.question_id for p in suite.prompts] != [row["question_id"] for row in rows[:88]]
    assert "88 of 880 prompts, stratified by category and sub-category, drawn with seed 0" in suite.selection
    assert load(lines(rows), limit=88, subset_seed=1).hash != suite.hash


def test_categories_are_kept_and_named(lines: Write, rows: Rows) -> None:
    suite = load(lines(rows), category=("math", "qa"), limit=8)
    assert Counter(p.category for p in suite.prompts) == {"math": 4, "qa": 4}
    assert suite.name == "speed-bench/qualitative/math+qa"
    assert "8 of 160 prompts" in suite.selection
    assert "of the categories math, qa" in suite.selection
    assert suite.warnings == ()


@pytest.mark.parametrize("category", [("maths",), (), ("qa", "qa")])
def test_categories_that_are_not_published_are_refused(lines: Write, rows: Rows, category: Any) -> None:
    text = fault(lines(rows), category=category)
    assert "it takes each once of coding, humanities, math" in text


def test_the_first_pass_keeps_no_text(lines: Write, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Any] = []

    def keep(entries: Any, limit: int | None, seed: int) -> list[int]:
        held.extend(entries)
        return choose(entries, limit, seed)

    monkeypatch.setattr(spec, "choose", keep)
    load(lines([{**row, "turns": [f"{row['question_id']} " * 5000], "multiturn": False} for row in rows]), limit=11)
    assert len(held) == 880
    assert all(len(repr(entry)) < 1000 for entry in held)


def test_a_file_that_changes_between_the_passes_is_noticed(
    lines: Write, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(entries: Any, limit: int | None, seed: int) -> list[int]:
        lines([rows[0] | {"turns": ["another text"] * len(rows[0]["turns"])}, *rows[1:]])
        return choose(entries, limit, seed)

    path = lines(rows)
    monkeypatch.setattr(spec, "choose", change)
    assert "changed while it was read" in fault(path)


# Held against what was published


def test_a_file_that_lacks_rows_says_so(lines: Write, rows: Rows) -> None:
    suite = load(lines([row for row in rows if row["category"] != "qa"][:-10]))
    lacks = "the file has 790 of the 880 published rows (qa 0 of 80, writing 70 of 80)"
    assert suite.warnings == (lacks,)
    assert suite.selection == f"all 790 prompts; {lacks}"


def test_other_turns_than_published_are_told(lines: Write, rows: Rows) -> None:
    changed = [
        {**row, "turns": row["turns"][:1], "multiturn": False} if row["category"] == "rag" else row for row in rows
    ]
    (lacks,) = load(lines(changed)).warnings
    assert "where 1,138 were published" in lacks


def test_more_rows_than_published_are_an_error(lines: Write, rows: Rows) -> None:
    assert "holds 81 rows of qa, where SPEED-Bench's qualitative has 80" in fault(
        lines([*rows, {**rows[330], "question_id": "new"}])
    )


def test_rows_of_another_split_are_refused(prepared: Write, rows: Rows, throughput: Rows) -> None:
    folder = prepared(throughput, "throughput_2k")
    assert "holds no rows of qualitative" in fault(folder)
    assert "named like the split throughput-2k" in fault(folder / "throughput_2k" / "test.parquet")
    text = fault(prepared(throughput, "qualitative"))
    assert "row 1: category 'low_entropy' is none of qualitative's" in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"turns": None}, "has no column 'turns'"),
        ({"question_id": None}, "has no column 'question_id'"),
        ({"category": None}, "has no column 'category'"),
        ({"category": " "}, "category is empty"),
        ({"turns": "one string"}, "turns is no list"),
        ({"turns": []}, "turns is empty"),
        ({"turns": ["a", 7]}, "turns[1] is a number"),
        ({"multiturn": True}, "multiturn is true, but the row has 1 turn"),
        ({"multiturn": "yes"}, "multiturn is 'yes'; it must be true or false"),
        ({"sub_category": 5}, "sub_category is a number"),
        ({"turns": None, "messages": [{"role": "assistant", "content": "x"}]}, "roles assistant"),
    ],
)
def test_columns_are_checked_by_row_and_name(lines: Write, rows: Rows, change: Any, says: str) -> None:
    text = fault(lines([*rows[:330], {**rows[330], **change}, *rows[331:]]))
    assert "qualitative.jsonl, line 331: " in text
    assert says in text


def test_a_line_that_is_no_json_and_an_id_that_is_there_twice_are_named(lines: Write, rows: Rows) -> None:
    assert "line 3: is not JSON" in fault(lines([*rows[:2], "oops", *rows[3:]]))
    assert "line 2: question_id 'coding-00' is already taken by" in fault(lines([rows[0], rows[0]]))


def test_missing_empty_and_foreign_files_are_named(lines: Write, tmp_path: Path) -> None:
    assert "has no rows" in fault(lines([]))
    assert "no file or folder" in fault(tmp_path / "gone")
    (tmp_path / "qualitative.csv").write_text("a,b")
    assert "neither .parquet nor .jsonl" in fault(tmp_path / "qualitative.csv")
    (tmp_path / "qualitative.parquet").write_text("not parquet")
    assert "is no parquet file that can be read" in fault(tmp_path / "qualitative.parquet")


def test_a_revision_says_nothing_of_a_path(lines: Write, rows: Rows) -> None:
    assert "says nothing of path" in fault(lines(rows), revision="abc123")


# Stand-ins


def test_unresolved_rows_are_refused_by_name(prepared: Write, rows: Rows) -> None:
    for row in rows[:2]:
        row |= {"turns": [STAND_IN] * len(row["turns"]), "source": "cais/hle"}
    rows[2] |= {
        "turns": [f"{STAND_IN}\n\nSummarise {{article}}", *rows[2]["turns"][1:]],
        "source": "abisee/cnn_dailymail",
    }
    text = fault(prepared(rows))
    assert "3 of 880 rows are stand-ins" in text
    assert "877 rows are real" in text
    assert "Rows: coding-00, coding-01, coding-02." in text
    assert "Sources: cais/hle: 2; abisee/cnn_dailymail: 1." in text
    assert "draftmark suites fetch speed-bench --split qualitative" in text


def test_categories_without_unresolved_rows_can_be_asked(lines: Write, rows: Rows) -> None:
    rows[0] |= {"turns": [STAND_IN] * len(rows[0]["turns"])}
    assert len(load(lines(rows), category=("qa",)).prompts) == 80


def test_stand_ins_in_other_words_are_refused_unless_allowed(lines: Write, rows: Rows) -> None:
    for place in (330, 331, 332):
        rows[place] |= {"turns": ["[prompt withheld, run the prepare step]"], "multiturn": False}
    text = fault(lines(rows))
    assert "3 rows ask the same thing" in text
    assert "877 rows are real" in text
    assert "Rows: qa-10 (line 331), qa-11 (line 332), qa-12 (line 333)." in text
    assert len(load(lines(rows), allow_repeats=True).prompts) == 880


# Agentic


def test_an_agentic_row_is_one_conversation_asked_at_each_step_with_its_tools(lines: Write) -> None:
    suite = load(lines([conversation()], "agentic.jsonl"), "agentic")
    (prompt,) = suite.prompts
    assert (prompt.question_id, prompt.category, prompt.asked) == ("a", "tools", (1, 3))
    assert prompt.turns == ("Is the door shut?", "shut")
    first, second = messages(prompt, []), messages(prompt, ["its own answer"])
    assert [one["role"] for one in first] == ["user"]
    assert [one["role"] for one in second] == ["user", "assistant", "tool"]
    assert second[1]["tool_calls"][0]["function"]["arguments"] == '{"at": "door"}'
    assert prompt.tools == ({"type": "function", "function": {"name": "look"}},)


def test_an_answer_that_follows_an_answer_is_no_step_and_counted(lines: Write) -> None:
    row = conversation()
    row["messages"] += [{"role": "assistant", "content": "Still shut."}]
    suite = load(lines([row], "agentic.jsonl"), "agentic")
    assert suite.turns == 2
    assert "1 answers of the file are no steps" in suite.selection


def test_agentic_rows_of_other_categories_are_left_and_unknown_ones_named(lines: Write) -> None:
    path = lines([conversation(), conversation() | {"question_id": "b", "category": "web"}], "agentic.jsonl")
    assert [one.question_id for one in load(path, "agentic", category=("web",)).prompts] == ["b"]
    assert "has no rows of the categories maps" in fault(path, "agentic", category=("maps",))


def test_agentic_rows_without_messages_are_named(lines: Write) -> None:
    text = fault(
        lines([conversation(), {"question_id": "b", "category": "x", "turns": ["plain"]}], "agentic.jsonl"), "agentic"
    )
    assert "line 2: has no messages" in text


def test_extras_nested_without_end_are_named(lines: Write) -> None:
    deep = {**conversation(), "extras": '{"tools": ' + "[" * 3000 + "]" * 3000 + "}"}
    assert "line 1: extras is nested more than 100 deep" in fault(lines([deep], "agentic.jsonl"), "agentic")


def conversation() -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "door"}'}}
    return {
        "question_id": "a",
        "category": "tools",
        "messages": [
            {"role": "user", "content": "Is the door shut?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "shut", "tool_call_id": "c1"},
            {"role": "assistant", "content": "Yes."},
        ],
        "extras": json.dumps({"tools": json.dumps([{"type": "function", "function": {"name": "look"}}])}),
    }
