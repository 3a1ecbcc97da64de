"""Event streams as bytes: what ends a line, what an event is, and that it never matters where the bytes are cut."""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.backends.http.sse import Event, SseParser, events_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def parsed(*pieces: bytes) -> list[Event]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.close()


def texts(*pieces: bytes) -> list[str]:
    return [event.data for event in parsed(*pieces)]


def bytewise(data: bytes) -> list[bytes]:
    return [data[place : place + 1] for place in range(len(data))]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_each_line_end_ends_lines_and_events(end: bytes) -> None:
    stream = end.join([b"data: one", b"", b"data: two", b"", b""])
    assert parsed(stream) == [Event("one"), Event("two")]
    assert parsed(*bytewise(stream)) == [Event("one"), Event("two")]


def test_line_ends_may_be_mixed() -> None:
    assert texts(b"data: a\r\n\ndata: b\r\rdata: c\n\r\n") == ["a", "b", "c"]


def test_a_carriage_return_and_its_line_feed_in_two_reads_are_one_line_end() -> None:
    assert texts(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == ["a\nb"]


def test_an_event_is_there_as_soon_as_its_blank_line_began() -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\r\n\r") == [Event("a")]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [Event("b")]


def test_data_needs_no_space_and_loses_only_one() -> None:
    assert texts(b"data:a\n\ndata:  b\n\ndata: \n\ndata\n\ndata:\n\n") == ["a", " b", "", "", ""]


def test_data_lines_are_joined_by_a_line_feed() -> None:
    assert texts(b'data: {"a":\r\ndata:1}\r\n\r\n') == ['{"a":\n1}']


def test_comments_unknown_fields_and_events_without_data_are_passed_over() -> None:
    stream = b": keep-alive\n\nretry: 10\n\nevent: ping\n\ndatum: x\ndata: a\n:\nother\n\n: end\n\n"
    assert parsed(stream) == [Event("a")]


def test_type_lasts_for_one_event_and_id_until_the_next() -> None:
    stream = b"event: error\nid: 7\ndata: a\n\ndata: b\n\nid: 8\0\ndata: c\n\nid\ndata: d\n\n"
    assert parsed(stream) == [Event("a", "error", "7"), Event("b", id="7"), Event("c", id="7"), Event("d")]


def test_only_the_first_byte_order_mark_is_none_of_the_text() -> None:
    mark = "\ufeff".encode()
    assert texts(*bytewise(mark + b"data: a\n\n")) == ["a"]
    assert texts(mark + b"\ndata: a\n\n") == ["a"]
    assert texts(b"data: a\n\n" + mark + b"data: b\n\n") == ["a"]
    assert texts(b"data: " + mark + b"a\n\n") == ["\ufeffa"]
    assert texts(mark + mark + b"data: a\n\n") == []


def test_characters_may_be_cut_anywhere() -> None:
    assert texts(*bytewise("data: 中文🙂é\n\n".encode())) == ["中文🙂é"]


def test_no_other_character_ends_a_line() -> None:
    inside = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    assert texts(f"data: {inside}\n\n".encode()) == [inside]


def test_what_is_no_utf8_shows_as_replaced_and_harms_no_other_event() -> None:
    assert texts(b"data: a\xff\n\ndata: b\n\n", b"data: \xe4\xb8\n\ndata: c\n\n") == ["a\ufffd", "b", "\ufffd", "c"]


@pytest.mark.parametrize(
    ("tail", "data"),
    [(b"data: b\n", "b"), (b"data: b", "b"), (b"data: b\r", "b"), (b'data: {"a', '{"a'), (b"data", "")],
)
def test_an_event_without_its_blank_line_is_delivered_as_unfinished(tail: bytes, data: str) -> None:
    parser = SseParser()
    assert parser.feed(b"data: a\n\n" + tail) == [Event("a")]
    assert parser.close() == [Event(data, unfinished=True)]


def test_nothing_is_made_of_a_tail_without_data() -> None:
    assert parsed(b"data: a\n\n: bye") == [Event("a")]
    assert parsed(b"data: a\n\nevent: x\n") == [Event("a")]
    assert parsed() == []


def test_a_megabyte_line_fed_bytewise_takes_no_longer_per_byte() -> None:
    def seconds(size: int) -> float:
        pieces = bytewise(b"data: " + b"x" * size + b"\n\n")
        began = time.process_time()
        assert texts(*pieces) == ["x" * size]
        return time.process_time() - began

    seconds(1_000)
    assert seconds(1_000_000) < 20 * seconds(200_000)  # a hundred times as long where the cost were quadratic


def test_each_event_counts_to_the_read_that_brought_the_end_of_its_data() -> None:
    reads = [b"data: a\n\ndata: b\n\n", b"data: c", b"\n", b"\ndata: d\n\n", b": note\n\n", b"data: [DONE]\n\n"]
    assert [(index, event.data) for index, event in events_of(reads)] == [
        (0, "a"),
        (0, "b"),
        (2, "c"),
        (3, "d"),
        (5, "[DONE]"),
    ]


def test_an_unfinished_event_counts_to_the_last_read_or_to_where_its_line_ended() -> None:
    assert events_of([b"data: a\n\n", b"data: ", b"b"]) == [(0, Event("a")), (2, Event("b", unfinished=True))]
    assert events_of([b"data: a\n", b": x"]) == [(0, Event("a", unfinished=True))]
    assert events_of([]) == []


def test_the_quick_way_is_not_taken_into_an_event_that_has_begun() -> None:
    assert [event.data for _, event in events_of([b"data: a\n", b"data: b\n\n"])] == ["a\nb"]
    assert [event.event for _, event in events_of([b"event: error\n", b"data: b\n\n"])] == ["error"]
    assert [event.data for _, event in events_of([b"data: a\n\ndata: b\ndata: c\n\n"])] == ["a", "b\nc"]
    assert [event.data for _, event in events_of([b"data: a\n\n\n\ndata: b\n\n"])] == ["a", "b"]
    assert [event.id for _, event in events_of([b"id: 3\n\n", b"data: a\n\n"])] == ["3"]


CHINESE = "data: 中🙂\u2028".encode()
MARK = b"\xef\xbb\xbf"
FIELDS = [b"data: a", b"data:b", CHINESE, b"data: \xff\xe4", b"data", b"event: x", b"id: 1", b": c", b"other: y"]
LINES = st.sampled_from([*FIELDS, b"", b"", MARK, MARK + b"data: m", b" data: s", b"\0"])
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]))).flatmap(
    lambda lines: st.builds(lambda tail: b"".join(a + b for a, b in lines) + tail, LINES)
)
CUTS = st.lists(st.floats(0, 1))


def cut(stream: bytes, places: Sequence[float]) -> list[bytes]:
    edges = [0, *sorted(round(place * len(stream)) for place in places), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


@given(STREAMS, CUTS)
def test_it_never_matters_where_the_bytes_are_cut(stream: bytes, places: list[float]) -> None:
    whole = parsed(stream)
    assert parsed(*cut(stream, places)) == whole
    assert parsed(*bytewise(stream)) == whole
    assert [event for _, event in events_of(cut(stream, places))] == whole


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))), CUTS)
def test_what_was_sent_comes_back(sent: list[str], places: list[float]) -> None:
    stream = b"".join(b"data: " + text.encode() + b"\n\n" for text in sent)
    assert texts(*cut(stream, places)) == sent


@given(STREAMS, CUTS)
def test_the_index_is_that_of_the_same_event_fed_byte_by_byte(stream: bytes, places: list[float]) -> None:
    reads = cut(stream, places)
    read_of_byte = [index for index, read in enumerate(reads) for _ in read]
    by_byte = events_of(bytewise(stream))
    assert [(index, event) for index, event in events_of(reads) if not event.unfinished] == [
        (read_of_byte[place], event) for place, event in by_byte if not event.unfinished
    ]


def test_json_with_escaped_line_ends_is_one_event() -> None:
    sent = {"choices": [{"delta": {"content": "a\r\nb\u2028"}}]}
    (event,) = parsed(f"data: {json.dumps(sent, ensure_ascii=False)}\n\n".encode())
    assert json.loads(event.data) == sent
