"""Traces of arrivals: both formats, times from the first row, and every bad line by its number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.bench.plans.document import PlanError
from draftmark.bench.plans.trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {
    "a.jsonl": b'{"time_s": 100.5, "question_id": "q1"}\n\n{"time_s": 101}\n{"time_s": 101, "question_id": 7}\n',
    "bom.jsonl": b'\xef\xbb\xbf{"time_s": 100.5, "question_id": "q1"}\r\n{"time_s": 101}\r\n'
    b'{"time_s": 101, "question_id": "7"}',
    "a.csv": b"time_s,question_id\n100.5,q1\n101,\n101,7\n",
    "bom.CSV": b'\xef\xbb\xbfquestion_id,time_s\r\n"q1",100.5\r\n,101\r\n7,101\r\n',
}


@pytest.mark.parametrize("name", GOOD)
def test_both_formats_say_the_same(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(GOOD[name])
    found = read_trace(tmp_path / name)
    assert [(row.at_s, row.question_id) for row in found.rows] == [(0, "q1"), (0.5, None), (0.5, "7")]
    assert found.span_s == 0.5
    assert len(found.hash) == 64


BAD = {
    ("a.jsonl", b'{"time_s": 1}\nnonsense\n{"time_s": 2}\n{"time_s": "3"}\n'): [
        "2: invalid JSON", "4: time_s: must be a number"
    ],
    ("a.jsonl", b'{"time_s": NaN}\n'): ["1: time_s: "],
    ("a.jsonl", b'{"time_s": 2}\n{"time_s": 1}\n'): [
        "2: time_s: is earlier than in the row before; sort the rows by time"
    ],
    ("a.jsonl", b'{"time": 2}\n'): ["1: time_s: is missing", "1: time: unknown key; did you mean 'time_s'?"],
    ("a.jsonl", b"[1]\n"): ["1: "],
    ("a.jsonl", b"\xff\xfe\n"): ["1: "],
    ("a.jsonl", b"\n \n"): ["has no rows"],
    ("a.csv", b"time_s\n1\nx\n"): ['3: time_s: must be a number, not the text "x"'],
    ("a.csv", b"time_s\n1,2\n"): ["2: (fields beyond the header): unknown key"],
    ("a.csv", b"timestamp\n1\n"): ["2: time_s: is missing", "2: timestamp: unknown key"],
    ("a.csv", b"time_s\n1\n\xff\n"): ["3: is not UTF-8 text"],
    ("a.csv", b"time_s\ninf\n"): ["2: time_s: "],
    ("a.csv", b"time_s\n"): ["has no rows"],
    ("a.csv", b""): ["has no rows"],
    ("a.csv", b"time_s,question_id,time_s\n1,a,2\n"): ["1: time_s: is there twice; remove one"],
    ("a.jsonl", b'{"time_s": 1}\n{"time_s": 2, "question_id": "a", "time_s": 3}\n'): [
        "2: time_s: is there twice; remove one"
    ],
    ("a.csv", b"time_s\n5\n1000005.5\n"): ["time_s: spans 1e+06 seconds from the first row to the last"],
    ("a.csv", b"time_s\n-1e308\n1e308\n"): ["time_s: spans inf seconds"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "data"), BAD)
def test_bad_lines_are_named(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(PlanError) as caught:
        read_trace(path)
    _, *lines = str(caught.value).split("\n")
    said = [line.strip().removeprefix(str(path)).removeprefix(":").strip() for line in lines]
    assert len(said) == len(BAD[name, data])
    for line, part in zip(said, BAD[name, data], strict=True):
        assert line.lower().startswith(part.lower())


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "none.csv", "there is no such file"), (tmp_path, "is no regular file")):
        with pytest.raises(PlanError, match=said):
            read_trace(path)


def test_the_longest_trace_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"time_s\n5\n1000005\n")
    assert read_trace(tmp_path / "a.csv").span_s == 1_000_000


def test_many_bad_lines_are_not_all_listed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{}\n" * 1000)
    with pytest.raises(PlanError, match="stopped here") as caught:
        read_trace(tmp_path / "a.jsonl")
    assert str(caught.value).count("\n") < 25
