"""Where an event's text, usage and finish reason are, in each endpoint's shape."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from draftmark.backends.mock.events import DONE, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def choice_of(payload: dict[str, Any] | str) -> dict[str, Any] | None:
    """Return the choice of an event; null where it has none."""
    choices = payload.get("choices") if isinstance(payload, dict) else None
    return choices[0] if choices else None


def edited(event: Event, edit: Callable[[dict[str, Any]], None]) -> Event:
    """Return an event whose payload was edited; the old one stays as it is."""
    if isinstance(event.payload, str):
        return event
    payload = deepcopy(event.payload)
    edit(payload)
    return replace(event, payload=payload)


def finish_of(event: Event) -> str | None:
    """Return the finish reason that an event tells."""
    if isinstance(event.payload, str):
        return None
    choice = choice_of(event.payload)
    reason = choice.get("finish_reason") if choice else event.payload.get("meta_info", {}).get("finish_reason")
    return reason["type"] if isinstance(reason, dict) else reason


def with_text(event: Event, change: Callable[[str], str]) -> Event:
    """Return an event with its visible text changed."""

    def edit(payload: dict[str, Any]) -> None:
        choice = choice_of(payload)
        place = payload if choice is None else choice.get("delta", choice)
        for key in ("content", "text"):
            if isinstance(place.get(key), str) and place[key]:
                place[key] = change(place[key])

    return edited(event, edit)


def first_with_tokens(events: Sequence[Event]) -> int:
    """Return the index of the first event that holds tokens."""
    return next(index for index, event in enumerate(events) if event.tokens)


def before_middle(events: Sequence[Event]) -> list[Event]:
    """Return the events up to half of those with tokens, one at least, told as unfinished."""
    places = [index for index, event in enumerate(events) if event.tokens]
    last = places[max(0, len(places) // 2 - 1)]

    def unfinish(payload: dict[str, Any]) -> None:
        choice = choice_of(payload)
        if choice is not None:
            choice["finish_reason"] = None
        elif "meta_info" in payload:
            payload["meta_info"]["finish_reason"] = None

    return [edited(event, unfinish) for event in events[: last + 1]]


def done_after(events: Sequence[Event]) -> Event:
    """Return the end mark of a stream, at the moment of its last event."""
    return Event(events[-1].at_s, DONE)
