"""What a lie is: its name, what the server does, how to read it right, and where it takes hold of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.asking import Ask
    from draftmark.backends.mock.counters import Counters
    from draftmark.backends.mock.events import Ending, Event, Style, Write
    from draftmark.backends.mock.generating import Answer

    Events: TypeAlias = Sequence[Event]
    Writes: TypeAlias = Sequence[Write]
    Families: TypeAlias = Sequence[Metric]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is an error from the beginning."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Lie:
    """One way to mislead a client; each hook is null where the lie leaves that place alone."""

    name: str
    what: str
    """What the server does, a sentence."""
    right: str
    """The right reading, a sentence."""
    refusal: Callable[[Ask, str | None], Refusal] | None = None
    """Given the request and its `Authorization` header."""
    ask: Callable[[Ask], Ask] | None = None
    answer: Callable[[Answer], Answer] | None = None
    events: Callable[[Events, Answer], Events] | None = None
    style: Callable[[Style], Style] | None = None
    writes: Callable[[Writes, Answer], Writes] | None = None
    ending: Ending = "complete"
    whole: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Of an answer that is no stream."""
    counted: Callable[[Counters, Answer], None] | None = None
    """Called before the request is counted."""
    families: Callable[[Families], Families] | None = None
    """Of a page of counters; takes hold only where the whole server lies."""
