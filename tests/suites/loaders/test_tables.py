"""Prompts of parquet files, with a mapping of columns, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from draftmark.suites.loaders.tables import ParquetSpec
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading import table_prompts
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.subset import choose

if TYPE_CHECKING:
    from pathlib import Path


def parquet(path: Path, rows: list[dict[str, Any]]) -> str:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def test_a_file_with_the_usual_columns_needs_no_mapping(tmp_path: Path) -> None:
    rows = [
        {"question_id": "a", "turns": ["one", "two"], "category": "math"},
        {"question_id": "b", "turns": ["three"], "category": None},
    ]
    suite = ParquetSpec(path=parquet(tmp_path / "mine.parquet", rows)).load(None)
    assert suite.name == "mine"
    assert [(p.question_id, p.turns, p.category) for p in suite.prompts] == [
        ("a", ("one", "two"), "math"), ("b", ("three",), None),
    ]  # fmt: skip
    assert suite.selection == "all 2 prompts"


def test_a_mapping_says_which_column_is_what_and_rows_without_an_id_are_numbered(tmp_path: Path) -> None:
    path = parquet(tmp_path / "sums.parquet", [{"q": "1 + 1", "topic": "sums", "category": 7}] * 2)
    suite = ParquetSpec(path=path, columns={"turns": "q", "category": "topic"}).load(None)
    assert [(p.question_id, p.turns, p.category) for p in suite.prompts] == [
        ("sums-1", ("1 + 1",), "sums"), ("sums-2", ("1 + 1",), "sums"),
    ]  # fmt: skip


def test_a_column_of_recorded_conversations_gives_the_users_turns(tmp_path: Path) -> None:
    talk = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "answer"},
    ]
    path = parquet(tmp_path / "talks.parquet", [{"talk": talk}])
    (prompt,) = ParquetSpec(path=path, columns={"conversation": "talk"}).load(None).prompts
    assert (prompt.system, prompt.turns, prompt.messages) == ("s", ("one", "two"), None)


def test_a_folder_is_all_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    for number in (2, 1):
        parquet(tmp_path / f"part-{number}.parquet", [{"id": number, "prompt": f"text {number}"}])
    assert [p.question_id for p in ParquetSpec(path=str(tmp_path)).load(None).prompts] == ["1", "2"]


def test_a_set_that_heads_were_trained_on_is_known_by_the_files_own_name(tmp_path: Path) -> None:
    folder = tmp_path / "sharegpt-tools"
    folder.mkdir()
    rows = [{"id": 1, "prompt": "a"}]
    assert ParquetSpec(path=parquet(folder / "mine.parquet", rows)).load(None).caution is None
    told = ParquetSpec(path=parquet(folder / "ultrachat-0.parquet", rows)).load(None).caution
    assert told is not None
    assert "trained on UltraChat-200K" in told.text


def test_bad_rows_are_named_together(tmp_path: Path) -> None:
    rows = [{"id": 1, "prompt": "a"}, {"id": 1, "prompt": "b"}, {"id": 2, "prompt": " "}]
    path = parquet(tmp_path / "bad.parquet", rows)
    with pytest.raises(SuiteError) as caught:
        ParquetSpec(path=path).load(None)
    text = str(caught.value)
    assert f"{path}, row 2: question_id '1' is already taken by {path}, row 1" in text
    assert f"{path}, row 3: prompt is an empty string" in text


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = parquet(tmp_path / "bad.parquet", [{"question": "a", "id": 1}])
    with pytest.raises(SuiteError) as caught:
        ParquetSpec(path=path, columns={"turns": "ask", "category": "topic", "question_id": "id"}).load(None)
    assert str(caught.value) == (
        "bad has no such column as in columns: {turns: ask, category: topic}; its columns are 'question', 'id'"
    )


def test_a_file_without_a_column_of_texts_is_told_once_how_columns_are_mapped(tmp_path: Path) -> None:
    path = parquet(tmp_path / "bad.parquet", [{"question": "a", "id": n} for n in range(5)])
    with pytest.raises(SuiteError) as caught:
        ParquetSpec(path=path).load(None)
    assert str(caught.value) == (
        "bad has no column turns, prompt or messages; its columns are 'question', 'id'; say which is what, as in "
        "columns: {turns: COLUMN, category: COLUMN}"
    )


def test_asked_without_messages_is_refused() -> None:
    with pytest.raises(RowFault, match="has asked without messages alone"):
        row_prompt({"id": "a", "turns": ["x", "y"], "asked": [1]})


@pytest.mark.parametrize("columns", [{"category": "c"}, {"turns": "a", "messages": "b"}])
def test_a_mapping_names_exactly_one_column_of_texts(columns: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="columns must name exactly one of turns, messages, conversation"):
        ParquetSpec(path="x.parquet", columns=columns)  # type: ignore[arg-type]


def test_stand_ins_are_refused_unless_repeats_are_allowed(tmp_path: Path) -> None:
    path = parquet(tmp_path / "same.parquet", [{"id": n, "prompt": "same" if n else "real"} for n in range(4)])
    with pytest.raises(
        SuiteError, match=r"3 rows ask the same thing.*1 rows are real. Rows: 1 \(row 2\), 2 \(row 3\), 3 \(row 4\)\."
    ):
        ParquetSpec(path=path).load(None)
    assert len(ParquetSpec(path=path, allow_repeats=True).load(None).prompts) == 4


@pytest.mark.parametrize(
    ("row", "changed"),
    [(1, {"id": 1, "prompt": "another"}), (2, {"id": 7, "prompt": "text 2"})],
    ids=["a text", "an id"],
)
def test_a_row_that_changes_between_the_passes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: int, changed: dict[str, Any]
) -> None:
    def choose_and_change(entries: Any, limit: int | None, seed: int) -> list[int]:
        parquet(tmp_path / "mine.parquet", [*rows[: row - 1], changed, *rows[row:]])
        return choose(entries, limit, seed)

    rows = [{"id": number, "prompt": f"text {number}"} for number in (1, 2)]
    path = parquet(tmp_path / "mine.parquet", rows)
    monkeypatch.setattr(table_prompts, "choose", choose_and_change)
    with pytest.raises(SuiteError, match=rf"mine\.parquet, row {row} changed while it was read"):
        ParquetSpec(path=path).load(None)


@pytest.mark.parametrize("content", [b"no parquet", b""])
def test_what_is_no_parquet_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(SuiteError, match=r"bad\.parquet"):
        ParquetSpec(path=str(path)).load(None)


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="there is no file or folder"):
        ParquetSpec(path=str(tmp_path / "none.parquet")).load(None)
    with pytest.raises(SuiteError, match="holds no file that ends in"):
        ParquetSpec(path=str(tmp_path)).load(None)
