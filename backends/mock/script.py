"""A stream before it begins: every write to the socket with its moment, and how the stream ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from draftmark.backends.mock.events import ID, Ending, Style, Write, written
from draftmark.backends.mock.generating import Answer, answer
from draftmark.backends.mock.lies import LIES
from draftmark.backends.mock.lies.payloads import finish_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.backends.mock.asking import Ask
    from draftmark.backends.mock.dialects.openai import OpenaiDialect

MOST_KEPT = 1024
"""Scripts that are kept for requests like them."""


@dataclass(frozen=True, slots=True)
class Script:
    """What will be written."""

    given: Answer
    writes: tuple[Write, ...]
    """In HTTP's chunked framing, in order of time; their ids still to be put in."""
    ending: Ending
    finish_reason: str | None
    """As it is told."""


class Scripts:
    """The scripts of a server; requests that ask the same share one."""

    def __init__(self, dialect: OpenaiDialect) -> None:
        self._dialect = dialect
        self._kept: dict[Ask, Script] = {}

    def answer(self, ask: Ask) -> Answer:
        """Return the answer to a request, as its lies have it."""
        lies = [LIES[name] for name in ask.lies]
        for lie in lies:
            ask = lie.ask(ask) if lie.ask is not None else ask
        given = answer(ask, self._dialect.state.settings)
        for lie in lies:
            given = lie.answer(given) if lie.answer is not None else given
        return given

    def script(self, ask: Ask, id_: str) -> Script:
        """Return the script of a stream; `id_` is the request's."""
        key = replace(ask, prompt_tokens=0) if _alike_but_for_the_end(ask) else ask
        kept = self._kept.get(key)
        if kept is not None:
            return self._with_end(kept, ask)
        script = self._written(self.answer(ask), id_)
        if not any(LIES[name].writes for name in ask.lies):
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = script
        return script

    def whole(self, given: Answer) -> dict[str, Any]:
        """Return an answer that is no stream, its id still to be put in."""
        payload = self._dialect.whole(given)
        for name in given.ask.lies:
            hook = LIES[name].whole
            payload = hook(payload) if hook is not None else payload
        return payload

    def _with_end(self, kept: Script, ask: Ask) -> Script:
        """Return the script of a request that differs from a kept one's by the length of its prompt at most."""
        if kept.given.ask.prompt_tokens == ask.prompt_tokens or ask.lies:
            return kept
        given = replace(kept.given, ask=ask)
        if (
            len(given.pieces) == 1 or given.pieces[-2].at_s == given.end_s
        ):  # the end shares its write with what is before
            return self._written(given, "")
        (end,) = _framed(written(self._dialect.closing(given), Style()))
        return replace(kept, given=given, writes=(*kept.writes[:-1], end))

    def _written(self, given: Answer, id_: str) -> Script:
        lies = [LIES[name] for name in given.ask.lies]
        events: Any = self._dialect.events(given)
        style = Style()
        for lie in lies:
            events = lie.events(events, given) if lie.events is not None else events
            style = lie.style(style) if lie.style is not None else style
        writes: Any = written(events, style)
        if any(lie.writes for lie in lies):  # what takes events to pieces would take the id to pieces, too
            writes = [replace(write, data=write.data.replace(ID.encode(), id_.encode())) for write in writes]
        for lie in lies:
            writes = lie.writes(writes, given) if lie.writes is not None else writes
        reasons = [reason for event in events if (reason := finish_of(event)) is not None]
        return Script(given, tuple(_framed(writes)), _ending(given.ask), reasons[-1] if reasons else None)


def _alike_but_for_the_end(ask: Ask) -> bool:
    """Whether the length of the prompt is told at the end of a stream alone."""
    return not (ask.lies or ask.usage_in_every_chunk or ask.timings_per_token or ask.endpoint == "generate")


def _framed(writes: Iterable[Write]) -> list[Write]:
    return [replace(write, data=b"%x\r\n%b\r\n" % (len(write.data), write.data)) for write in writes]


def _ending(ask: Ask) -> Ending:
    for name in ask.lies:
        if LIES[name].ending != "complete":
            return LIES[name].ending
    return "complete"
