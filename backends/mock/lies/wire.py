"""Lies of the wire: the events are right, and their bytes come in ways that trip careless parsers."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from draftmark.backends.mock.events import Write, joined
from draftmark.backends.mock.lies.lie import Lie
from draftmark.backends.mock.lies.payloads import with_text

if TYPE_CHECKING:
    from draftmark.backends.mock.generating import Answer
    from draftmark.backends.mock.lies.lie import Events, Writes

SLOW_BYTES, SLOW_S = 12, 0.2
"""How many bytes of the first chunk come in time, and how long the rest takes, seconds."""


def _bytewise(writes: Writes, given: Answer) -> Writes:
    """Spread the bytes of a write over half a step; its tokens are there with the last."""
    found = []
    for write in writes:
        gap = given.step_s / 2 / len(write.data)
        found += [Write(write.at_s + index * gap, write.data[index : index + 1]) for index in range(len(write.data))]
        found[-1] = replace(found[-1], tokens=write.tokens, steps=write.steps)
    return found


def _multibyte(events: Events, given: Answer) -> Events:
    return [with_text(event, lambda text: text + "中文🙂é") for event in events]


def _split_characters(writes: Writes, given: Answer) -> Writes:
    """Cut each write inside its last character of several bytes; the rest comes a quarter of a step later."""
    found: list[Write] = []
    for write in writes:
        inside = max((index for index, byte in enumerate(write.data) if 0x80 <= byte < 0xC0), default=0)
        if not inside:
            found.append(write)
            continue
        found.append(Write(write.at_s, write.data[:inside]))
        found.append(replace(write, at_s=write.at_s + given.step_s / 4, data=write.data[inside:]))
    return found


def _coalesced(writes: Writes, given: Answer) -> Writes:
    return [reduce(joined, writes)]


def _slow_first(writes: Writes, given: Answer) -> Writes:
    """Send a few bytes of the first chunk in time, and the rest of it, and all that is due by then, later."""
    first = writes[0]
    due = first.at_s + SLOW_S
    late = [write for write in writes[1:] if write.at_s < due]
    rest = reduce(joined, late, replace(first, data=first.data[SLOW_BYTES:]))
    return [Write(first.at_s, first.data[:SLOW_BYTES]), replace(rest, at_s=due), *writes[1 + len(late) :]]


WIRE = (
    Lie(
        "bytewise",
        "Every byte comes by itself, those of a chunk spread over half a step.",
        "The same text and tokens; a token is there when its event is complete.",
        writes=_bytewise,
    ),
    Lie(
        "split-utf8",
        "Texts have characters of several bytes, and each write is cut inside one.",
        "The same text, without a replacement character.",
        events=_multibyte,
        writes=_split_characters,
    ),
    Lie(
        "coalesced",
        "The whole stream comes in one write, when its last token is there.",
        "All tokens, and no gap between them measured; not a gap of 0.",
        writes=_coalesced,
    ),
    Lie(
        "crlf",
        "Lines end with CR and LF.",
        "The same text and tokens.",
        style=lambda style: replace(style, newline="\r\n"),
    ),
    Lie(
        "cr",
        "Lines end with CR alone.",
        "The same text and tokens.",
        style=lambda style: replace(style, newline="\r"),
    ),
    Lie(
        "no-space",
        "`data:` is followed by no space.",
        "The same text and tokens.",
        style=lambda style: replace(style, space=""),
    ),
    Lie(
        "bom",
        "The stream begins with a byte order mark.",
        "The mark is dropped; the first event counts.",
        style=lambda style: replace(style, bom=True),
    ),
    Lie(
        "comments",
        "A comment comes before each event.",
        "Comments are no events and no tokens.",
        style=lambda style: replace(style, comments=True),
    ),
    Lie(
        "data-lines",
        "The JSON of each event is spread over several `data` lines.",
        "The lines of an event are joined by a newline before they are read.",
        style=lambda style: replace(style, lines=2),
    ),
    Lie(
        "no-final-newline",
        "The last event ends without a newline.",
        "The last event counts: a stream that ends as HTTP says has lost nothing.",
        style=lambda style: replace(style, final_newlines=False),
    ),
    Lie(
        "slow-first-bytes",
        f"The first {SLOW_BYTES} bytes of the first chunk come in time, its rest {SLOW_S} s later.",
        "The first token is there when its event is complete, not at the first byte.",
        writes=_slow_first,
    ),
)
