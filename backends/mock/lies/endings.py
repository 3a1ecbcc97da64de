"""Lies of streams that do not end well, though their status is 200."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.backends.mock.events import Event, Write
from draftmark.backends.mock.lies.lie import Lie
from draftmark.backends.mock.lies.payloads import before_middle, choice_of, done_after, edited

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.backends.mock.generating import Answer
    from draftmark.backends.mock.lies.lie import Events, Writes

SERVER_ERROR: dict[str, Any] = {"error": {"message": "generation failed", "type": "server_error", "code": 500}}
TOO_LONG: dict[str, Any] = {
    "error": {"message": "the prompt is longer than the model's context", "type": "InternalServerError", "code": 500}
}
_BYTES_OF_EVENT = 20
"""How much of an event comes before the connection is gone."""


def _failed_at_once(error: dict[str, Any]) -> Callable[[Events, Answer], Events]:
    def lie(events: Events, given: Answer) -> Events:
        failed = Event(given.ttft_s, error)
        return [failed, done_after([failed])]

    return lie


def _failed_midway(error: dict[str, Any]) -> Callable[[Events, Answer], Events]:
    def lie(events: Events, given: Answer) -> Events:
        kept = before_middle(events)
        failed = Event(kept[-1].at_s + given.step_s, error)
        return [*kept, failed, done_after([failed])]

    return lie


def _half(events: Events, given: Answer) -> Events:
    return before_middle(events)


def _aborted(events: Events, given: Answer) -> Events:
    kept = before_middle(events)
    at_s = kept[-1].at_s + given.step_s

    def abort(payload: dict[str, Any]) -> None:
        choice = choice_of(payload)
        if choice is None:
            payload["meta_info"]["finish_reason"] = {"type": "abort"}
        else:
            choice["finish_reason"] = "abort"
            choice.pop("token_ids", None)
            place: dict[str, Any] = {"delta": {}} if "delta" in choice else {"text": ""}
            choice.update(place)

    last = edited(Event(at_s, kept[-1].payload), abort)
    return [*kept, last, done_after([last])]


def _inside_event(writes: Writes, given: Answer) -> Writes:
    """Begin one event more than are kept, and stop inside it."""
    last = writes[-1]
    more = Write(last.at_s + given.step_s, last.data[:_BYTES_OF_EVENT])
    return [*writes, more]


ENDINGS = (
    Lie(
        "error-first",
        "The stream holds an error and nothing else, then `[DONE]`.",
        "Failed, the server's message kept.",
        events=_failed_at_once(SERVER_ERROR),
    ),
    Lie(
        "error-mid",
        "After half of the chunks the stream holds an error, then `[DONE]`.",
        "Failed, the message and the tokens so far kept, out of throughput and percentiles.",
        events=_failed_midway(SERVER_ERROR),
    ),
    Lie(
        "error-string",
        "After half of the chunks comes an error whose value is a text.",
        "Failed, the message and the tokens so far kept.",
        events=_failed_midway({"error": "out of memory"}),
    ),
    Lie(
        "overflow-stream",
        "A prompt beyond the context is answered by a stream that holds an error 500.",
        "Failed or left out as too long, and said so; never an empty success.",
        events=_failed_at_once(TOO_LONG),
    ),
    Lie(
        "eof",
        "The stream ends as HTTP says, after half of the chunks: no finish reason, no usage, no `[DONE]`.",
        "Failed: it was not finished.",
        events=_half,
    ),
    Lie(
        "abort",
        "After half of the chunks the finish reason is `abort`, then `[DONE]`.",
        "Failed, the reason kept.",
        events=_aborted,
    ),
    Lie(
        "cut",
        "The connection is closed after half of the chunks, without the end that HTTP wants.",
        "Failed: cut.",
        events=_half,
        ending="close",
    ),
    Lie(
        "reset",
        "The connection is reset inside an event, after half of the chunks.",
        "Failed: cut; what came of the event is dropped.",
        events=_half,
        writes=_inside_event,
        ending="reset",
    ),
    Lie(
        "stall",
        "After half of the chunks nothing comes any more, and the connection stays.",
        "Failed by a time limit on the next byte; no hang.",
        events=_half,
        ending="stall",
    ),
)
