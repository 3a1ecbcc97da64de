"""A table read twice, with rows of our own: what is converted when, and how rows that are many are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.suites.prompt import Prompt, SuiteError
from draftmark.suites.reading.row_faults import RowFault, named
from draftmark.suites.reading.two_readings import LeftOut, check_rows, read_again, refuse_repeats

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class Made:
    """Rows in memory, which notes the number of each that it gives out."""

    origin = "made"

    def __init__(self, rows: list[Any]) -> None:
        self.held = rows
        self.given: list[int] = []

    def rows(self, only: Collection[int] | None = None) -> Iterator[Any]:
        for number, row in enumerate(self.held):
            if only is None or number in only:
                self.given.append(number)
                yield number, f"made, row {number + 1}", row


def convert(row: dict[str, Any], number: int) -> Prompt | LeftOut:
    del number
    if row["text"] == "bad":
        raise RowFault("is bad")
    return LeftOut(row["text"]) if row["text"] == "other" else Prompt(question_id=row["id"], turns=(row["text"],))


def made(*texts: str) -> Made:
    return Made([{"id": f"q{number}", "text": text} for number, text in enumerate(texts)])


def test_what_is_left_out_is_counted_and_the_chosen_are_read_in_their_order() -> None:
    table = made("a", "other", "b", "c")
    entries, left_out = check_rows(table, convert)
    assert [(entry.number, entry.place, entry.checked.question_id) for entry in entries] == [
        (0, "made, row 1", "q0"), (2, "made, row 3", "q2"), (3, "made, row 4", "q3"),
    ]  # fmt: skip
    assert left_out == {"other": 1}
    table.given.clear()
    assert [prompt.turns for prompt in read_again(table, convert, [entries[1], entries[0]])] == [("b",), ("a",)]
    assert table.given == [0, 2]


@pytest.mark.parametrize("now", [{"id": "q1", "text": "z"}, {"id": "q9", "text": "b"}, {"id": "q1", "text": "other"},
                                 {"id": "q1", "text": "bad"}, RowFault("cut")])  # fmt: skip
def test_a_row_that_is_another_when_read_again_is_named(now: Any) -> None:
    table = made("a", "b")
    entries, _ = check_rows(table, convert)
    table.held[1] = now
    assert read_again(table, convert, entries[:1])[0].turns == ("a",)
    with pytest.raises(SuiteError, match="made, row 2 changed while it was read"):
        read_again(table, convert, entries)


def test_a_row_that_is_gone_is_told() -> None:
    table = made("a", "b")
    entries, _ = check_rows(table, convert)
    del table.held[1]
    with pytest.raises(SuiteError, match="made changed while it was read"):
        read_again(table, convert, entries)


@pytest.mark.parametrize(("bad", "stopped"), [(19, False), (20, True)])
def test_reading_stops_at_the_twentieth_bad_row(bad: int, stopped: bool) -> None:
    table = made(*["bad"] * bad, "a")
    with pytest.raises(SuiteError) as caught:
        check_rows(table, convert)
    head, *lines = str(caught.value).split("\n")
    assert head == "made has bad rows, so nothing of it was taken:"
    assert lines[:bad] == [f"  made, row {number}: is bad" for number in range(1, bad + 1)]
    assert lines[bad:] == (["  (stopped here; there may be more)"] if stopped else [])
    assert table.given == list(range(20))  # 19 bad ones and the good one, or 20 bad ones and no more


def test_rows_that_ask_the_same_are_named_with_their_places() -> None:
    entries, _ = check_rows(made("a", "b", "a", "c", "a"), convert)
    with pytest.raises(SuiteError) as caught:
        refuse_repeats(entries, "made")
    assert "made: 3 rows ask the same thing" in str(caught.value)
    assert "2 rows are real. Rows: q0 (row 1), q2 (row 3), q4 (row 5)." in str(caught.value)
    refuse_repeats(entries[1:], "made")


def test_twenty_names_are_said_and_the_rest_counted() -> None:
    assert named(map(str, range(1, 4))) == "1, 2, 3"
    twenty = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20"
    assert named(map(str, range(1, 21))) == twenty
    assert named(map(str, range(1, 1026))) == f"{twenty} and 1,005 more"
