"""Items of a JSON array and of JSON lines, one at a time, and what is wrong with them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading import json_arrays
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.tables import FileTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def json_items(path: Path) -> Iterator[tuple[str, Any]]:
    return ((place, row) for _, place, row in FileTable(path).rows())


def items(path: Path, text: str) -> list[Any]:
    path.write_text(text, encoding="utf-8")
    return [row for _, row in json_items(path)]


@pytest.mark.parametrize("indent", [None, 2])
def test_elements_of_an_array_whatever_its_layout_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None
) -> None:
    monkeypatch.setattr(json_arrays, "_READ_BYTES", 7)
    rows = [{"id": n, "text": "x, ] \u2028 ü" * n, "more": [{"a": 1}, []]} for n in range(5)]
    assert items(tmp_path / "a.json", "\ufeff " + json.dumps(rows, indent=indent)) == rows


@pytest.mark.parametrize("array", ["[]", '[{"a": 1}]'])
@pytest.mark.parametrize("read_at_once", [1, 2**20])
def test_what_follows_an_array_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: str, read_at_once: int
) -> None:
    monkeypatch.setattr(json_arrays, "_READ_BYTES", read_at_once)
    path = tmp_path / "a.json"
    path.write_text(f"{array} \r\n\t")
    assert len(list(json_items(path))) == array.count("a")
    path.write_text(f'{array} \n [{{"a": 2}}]')
    with pytest.raises(SuiteError, match=r"a\.json, after its array, holds '\[.*'; a file holds one array"):
        list(json_items(path))


def test_an_empty_array_has_no_elements(tmp_path: Path) -> None:
    assert items(tmp_path / "a.json", " [ ] ") == []


def test_lines_are_named_by_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"a": \n')
    (_, first), (place, second) = json_items(path)
    assert first == {"a": 1}
    assert place == f"{path}, line 3"
    assert isinstance(second, RowFault)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, {"a": ', "element 2 is not JSON, or the file was cut there"),
        ('[{"a": 1}', "element 1 is not JSON, or the file was cut there"),
        ('[{"a": 1} {"a": 2}]', "element 1 is followed by '{' where a comma or ] belongs"),
        ('[{"a": 1},]', "element 2 is not JSON"),
    ],
)
def test_a_broken_array_is_named_at_its_element(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SuiteError, match=said):
        items(tmp_path / "a.json", text)


def test_an_element_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_arrays, "LONGEST_LINE_BYTES", 2**20)
    monkeypatch.setattr(json_arrays, "_READ_BYTES", 2**10)
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1}, {"a": "' + "x" * 2**23)
    with pytest.raises(SuiteError, match=r"a\.json, element 2 is not JSON, or is longer than 1 MiB"):
        list(json_items(path))


def test_an_element_that_is_no_object_is_a_fault_of_that_element(tmp_path: Path) -> None:
    first, second = items(tmp_path / "a.json", '[12, {"a": 1}]')
    assert isinstance(first, RowFault)
    assert str(first) == "is a number; each element is one object"
    assert second == {"a": 1}


NOT_STRICT = [
    ('{"a": 1, "a": 2}', "has the key 'a' twice"),
    ('{"b": [{"a": 1, "a": 2}]}', "has the key 'a' twice"),
    ('{"a": NaN}', "is not JSON: NaN is no JSON value; use null"),
    ('{"a": -Infinity}', "is not JSON: -Infinity is no JSON value; use null"),
    ('{"a": ' + "7" * 5000 + "}", "holds a whole number of 5,000 digits; write it as a string"),
    ("7" * 5000, "holds a whole number of 5,000 digits; write it as a string"),
]


@pytest.mark.parametrize(("element", "said"), NOT_STRICT, ids=["key", "key within", "NaN", "-Infinity", "int", "alone"])
@pytest.mark.parametrize("read_at_once", [1, 300, 2**20])
def test_an_array_is_read_as_strictly_as_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, element: str, said: str, read_at_once: int
) -> None:
    """Whatever part of the number was read when it was first looked at, and with what follows still read."""
    monkeypatch.setattr(json_arrays, "_READ_BYTES", read_at_once)
    path = tmp_path / "a.json"
    path.write_text(f'[{{"c": 1}}, {element}, {{"c": 2}}]')
    first, (place, fault), last = json_items(path)
    assert (first[1], last[1]) == ({"c": 1}, {"c": 2})
    assert place == f"{path}, element 2"
    assert isinstance(fault, RowFault)
    assert str(fault) == said
    path.write_text(f'{{"c": 1}}\n{{"x": {element}}}\n')
    _, (place, fault) = json_items(path)
    assert place == f"{path}, line 2"
    assert str(fault) == said


def test_many_digits_of_a_number_that_is_not_whole_are_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_arrays, "_READ_BYTES", 250)
    assert items(tmp_path / "a.json", '[{"a": ' + "1" * 300 + ".5}]") == [{"a": float("1" * 300)}]


@pytest.mark.parametrize("read_at_once", [1, 3, 2**20])
def test_a_byte_of_an_array_that_is_no_utf8_is_named_by_element_and_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_at_once: int
) -> None:
    """With the elements before it still read, and no matter where a character was cut by the reading."""
    monkeypatch.setattr(json_arrays, "_READ_BYTES", read_at_once)
    path = tmp_path / "a.json"
    path.write_bytes('[{"a": "\U0001f600ü"},\n {"a": "'.encode() + b"\xe9t" + b'"}]')
    found: list[Any] = []
    with pytest.raises(SuiteError) as caught:
        found.extend(row for _, row in json_items(path))
    # 8 bytes before the text, 6 of it, 4 to the line's end, 8 more to the text of the second element
    assert str(caught.value) == f"{path}, element 2 is not UTF-8 (0xe9 at byte 27 of the file); save the file as UTF-8"


def test_elements_before_a_bad_byte_are_given(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a": 1}, {"a": "\xff"}]')
    reading = json_items(path)
    assert next(reading) == (f"{path}, element 1", {"a": 1})
    with pytest.raises(SuiteError, match="element 2 is not UTF-8"):
        next(reading)


def test_an_array_that_ends_within_a_character_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a": "\xc3')
    with pytest.raises(SuiteError, match=r"element 1 is not UTF-8 \(0xc3 at byte 9 of the file\)"):
        list(json_items(path))


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b'{"a": 1}\n{"a": "caf\xe9"}\n', 2, "is not UTF-8 (0xe9 at byte 11 of the line); save the file as UTF-8"),
        (b"\xef\xbb\xbf \n\xff", 2, "is not UTF-8 (0xff at byte 1 of the line); save the file as UTF-8"),
        (gzip.compress(b'{"a": 1}\n'), 1, "is not UTF-8 but looks like gzip; unpack the file first"),
        ('{"a": 1}'.encode("utf-16"), 1, "is not UTF-8 but looks like UTF-16; save the file as UTF-8"),
    ],
    ids=["one byte", "after a mark", "gzip", "UTF-16"],
)
def test_what_is_no_text_is_named_by_its_line(tmp_path: Path, content: bytes, line: int, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    place, fault = next((place, row) for place, row in json_items(path) if isinstance(row, RowFault))
    assert (place, str(fault)) == (f"{path}, line {line}", said)
