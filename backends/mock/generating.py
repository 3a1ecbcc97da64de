"""The answer to a request, known before it begins: every step's draft, every token's word, every chunk's moment.

The first token comes from reading the prompt, after `ttft_s`. Each step after it takes `step_s` and gives its accepted
tokens and one more. An engine knows the token limit and drafts no further; it does not know where an answer ends by
itself, so of the last step's accepted tokens only those in the answer count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.backends.mock.asking import Ask
    from draftmark.backends.mock.settings import MockSettings

FIRST_TOKEN_ID = 1000
"""Token k of an answer has this id plus k."""


def word(index: int) -> str:
    """Return the text of one output token; the text of an answer is these joined."""
    return f"tok{index}" if index == 0 else f" tok{index}"


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step after the first token; counts of tokens."""

    drafted: int
    """0 where the step had no draft."""
    accepted: int
    """Of the draft, and in the answer."""
    tokens: int
    """Given to the answer."""
    counted_drafted: int
    """What the engine's counters and statistics say; `drafted` unless it lies."""
    counted_accepted: int
    whole_drafted: int
    """What would have been drafted had the engine not known the token limit."""
    whole_accepted: int
    """What would have been accepted had the answer not ended."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The tokens of one chunk."""

    at_s: float
    """After the request was received, seconds."""
    first: int
    """Index of its first token."""
    tokens: int
    steps: int
    """How many steps were done when it was sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """All that one request will be given."""

    ask: Ask
    draft_length: int
    ttft_s: float
    step_s: float
    tokens: int
    steps: tuple[Step, ...]
    pieces: tuple[Piece, ...]
    finish_reason: str
    """`length` or `stop`."""
    stopped_by: str | None
    """The stop string that ended it."""
    visible: int
    """Characters of the text before the stop string."""
    reasoning_tokens: int
    loop: int | None = None
    """Tokens after which its text begins anew; null where it goes on."""

    @property
    def end_s(self) -> float:
        """When its last token is there, seconds after the request was received."""
        return self.pieces[-1].at_s

    def text(self, first: int = 0, tokens: int | None = None) -> str:
        """Return the text of some tokens, from index `first` on; nothing of a stop string."""
        last = self.tokens if tokens is None else first + tokens
        before = sum(len(word(self._place(index))) for index in range(first)) if self.stopped_by else 0
        text = "".join(word(self._place(index)) for index in range(first, last))
        return text[: max(0, self.visible - before)] if self.stopped_by else text

    def token_ids(self, first: int = 0, tokens: int | None = None) -> list[int]:
        """Return the ids of some tokens."""
        last = self.tokens if tokens is None else first + tokens
        return [FIRST_TOKEN_ID + self._place(index) for index in range(first, last)]

    def _place(self, index: int) -> int:
        """Return which token of the text stands at an index."""
        return index if self.loop is None else index % self.loop


def answer(ask: Ask, settings: MockSettings) -> Answer:
    """Return the answer to a request."""
    natural = None if ask.ignore_eos else settings.output_tokens
    total = min(ask.limit, natural or ask.limit)
    finish_reason = "stop" if natural is not None and natural <= ask.limit else "length"
    stopped_by, tokens, visible = _stopped(ask.stops, total)
    steps = tuple(_steps(ask, settings, tokens))
    return Answer(
        ask=ask,
        draft_length=settings.draft_length,
        ttft_s=settings.ttft_s,
        step_s=settings.step_s,
        tokens=tokens,
        steps=steps,
        pieces=pieces(steps, settings.ttft_s, settings.step_s, settings.tokens_per_chunk),
        finish_reason="stop" if stopped_by else finish_reason,
        stopped_by=stopped_by,
        visible=visible,
        reasoning_tokens=min(settings.reasoning_tokens, tokens) if ask.endpoint == "chat" else 0,
    )


def pieces(steps: tuple[Step, ...], ttft_s: float, step_s: float, tokens_per_chunk: int) -> tuple[Piece, ...]:
    """Return the chunks of an answer: the first token by itself, then each step that makes a chunk full."""
    found = [Piece(ttft_s, 0, 1, 0)]
    first, pending = 1, 0
    for index, step in enumerate(steps):
        pending += step.tokens
        if pending >= tokens_per_chunk or index == len(steps) - 1:
            found.append(Piece(ttft_s + (index + 1) * step_s, first, pending, index + 1))
            first, pending = first + pending, 0
    return tuple(found)


def retimed(given: Answer, ttft_s: float) -> Answer:
    """Return an answer with another time to the first token, all its chunks moved."""
    by = ttft_s - given.ttft_s
    return replace(given, ttft_s=ttft_s, pieces=tuple(replace(piece, at_s=piece.at_s + by) for piece in given.pieces))


def _stopped(stops: tuple[str, ...], total: int) -> tuple[str | None, int, int]:
    """Return the stop string that comes first, the tokens up to its end, and the characters before it."""
    if not stops:
        return None, total, 0
    text, ends = "", []
    for index in range(total):
        text += word(index)
        ends.append(len(text))
    found = sorted((place + len(stop), place, stop) for stop in stops if (place := text.find(stop)) >= 0)
    if not found:
        return None, total, 0
    end, place, stop = found[0]
    return stop, next(index for index, reached in enumerate(ends) if reached >= end) + 1, place


def _steps(ask: Ask, settings: MockSettings, total: int) -> Iterator[Step]:
    accepts = _accepted(ask, settings)
    produced, number = 1, 0
    while produced < total:
        idle = int((number + 1) * settings.no_draft_share) > int(number * settings.no_draft_share)
        whole_drafted = 0 if idle else settings.draft_length
        whole_accepted = next(accepts) if whole_drafted else 0
        drafted = min(whole_drafted, ask.limit - produced - 1)
        left = total - produced
        accepted = min(whole_accepted, drafted, left)
        tokens = min(min(whole_accepted, drafted) + 1, left)
        yield Step(drafted, accepted, tokens, drafted, accepted, whole_drafted, whole_accepted)
        produced, number = produced + tokens, number + 1


def _accepted(ask: Ask, settings: MockSettings) -> Iterator[int]:
    """Yield how many tokens one draft after the other has accepted, were there no end."""
    if settings.accepted_cycle:
        while True:
            yield from settings.accepted_cycle
    draws = Random(f"{settings.seed} {ask.prompt_hash}")  # noqa: S311 - a mock's acceptance, no secret
    while True:
        draw = draws.random()
        yield sum(draw < rate for rate in settings.accept)
