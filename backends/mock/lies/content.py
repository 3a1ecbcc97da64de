"""Lies about what an answer holds: where its text is, how much a chunk carries, what its usage says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from draftmark.backends.mock.events import DONE, Event
from draftmark.backends.mock.generating import Piece, retimed
from draftmark.backends.mock.lies.lie import Lie
from draftmark.backends.mock.lies.payloads import choice_of, edited, finish_of, first_with_tokens, with_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.backends.mock.asking import Ask
    from draftmark.backends.mock.generating import Answer
    from draftmark.backends.mock.lies.lie import Events

LONG_LINE = 200_000
"""Characters of one token's text."""
CHUNKS_MERGED = 3
CACHED_SHARE, CACHED_TTFT = 0.9, 0.1
"""How much of a prompt a prefix cache holds, and what is left of the time to the first token."""
PROMPT_LIMIT, ANSWER_LIMIT, LOOP = 24, 8, 5
"""Tokens of a prompt and of an answer beyond which they are cut, and those that a loop goes over."""


def _many_tokens(given: Answer) -> Answer:
    """Merge every three chunks, the first included."""
    merged = []
    for start in range(0, len(given.pieces), CHUNKS_MERGED):
        group = given.pieces[start : start + CHUNKS_MERGED]
        last = group[-1]
        merged.append(Piece(last.at_s, group[0].first, sum(piece.tokens for piece in group), last.steps))
    return replace(given, pieces=tuple(merged))


def _before_tokens(edit: Callable[[dict[str, Any]], None], share: float) -> Callable[[Events, Answer], Events]:
    """Return a lie that sends an early event: the first with tokens, edited, after a share of the TTFT."""

    def lie(events: Events, given: Answer) -> Events:
        model = events[first_with_tokens(events)]
        early = replace(edited(model, edit), at_s=share * given.ttft_s, tokens=0, steps=0)
        return [early, *events]

    return lie


def _only(delta: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Return an edit that leaves nothing but a delta; where there are no deltas, its content is the text."""

    def edit(payload: dict[str, Any]) -> None:
        choice = choice_of(payload)
        if choice is None:
            payload["text"] = ""
            payload["meta_info"]["completion_tokens"] = 0
        elif "delta" in choice:
            choice["delta"] = dict(delta)
        else:
            choice["text"] = delta.get("content", "")
        for place in (payload, choice or {}):
            place.pop("usage", None)
            place.pop("token_ids", None)
        if choice is not None:
            choice["finish_reason"] = None

    return edit


def _thinking(key: str, share: float) -> Callable[[Events, Answer], Events]:
    """Return a lie that moves the text of a share of a chat's tokens to another key of the delta."""

    def lie(events: Events, given: Answer) -> Events:
        left = share * given.tokens
        found = []
        for event in events:
            found.append(edited(event, _move(key)) if left > 0 and event.tokens else event)
            left -= event.tokens
        return found

    return lie


def _move(key: str) -> Callable[[dict[str, Any]], None]:
    def edit(payload: dict[str, Any]) -> None:
        delta = (choice_of(payload) or {}).get("delta")
        if delta and "content" in delta:
            delta[key] = delta.pop("content")

    return edit


def _ends_while_thinking(events: Events, given: Answer) -> Events:
    thought = _thinking("reasoning_content", 1.0)(events, given)
    return [_with_finish(event, "length") for event in thought]


def _with_finish(event: Event, reason: str) -> Event:
    if finish_of(event) is None:
        return event

    def edit(payload: dict[str, Any]) -> None:
        choice = choice_of(payload)
        if choice is not None:
            choice["finish_reason"] = reason
        else:
            payload["meta_info"]["finish_reason"] = {"type": reason}

    return edited(event, edit)


def _finish_odd(events: Events, given: Answer) -> Events:
    return [_with_finish(event, "repetition") for event in events]


def _long_line(events: Events, given: Answer) -> Events:
    place = first_with_tokens(events)
    return [
        with_text(event, lambda text: "x" * LONG_LINE) if index == place else event
        for index, event in enumerate(events)
    ]


def _line_separators(events: Events, given: Answer) -> Events:
    return [with_text(event, lambda text: text + "\u2028\u0085") for event in events]


def _without_usage(payload: dict[str, Any]) -> None:
    for name in ("usage", "metrics", "timings"):
        payload.pop(name, None)


def _usage_missing(events: Events, given: Answer) -> Events:
    kept = [event for event in events if not (isinstance(event.payload, dict) and event.payload.get("choices") == [])]
    return [edited(event, _without_usage) for event in kept]


def _usage_every_chunk(events: Events, given: Answer) -> Events:
    found, so_far, prompt = [], 0, given.ask.prompt_tokens
    for event in events:
        so_far += event.tokens
        usage = {"prompt_tokens": prompt, "completion_tokens": so_far, "total_tokens": prompt + so_far}
        chunk = isinstance(event.payload, dict) and event.payload.get("choices")
        found.append(edited(event, lambda payload, usage=usage: payload.update(usage=usage)) if chunk else event)  # type: ignore[misc]
    return found


def _inflate(payload: dict[str, Any]) -> None:
    usage = payload.get("usage")
    if usage:
        usage["completion_tokens"] *= 2
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


def _usage_wrong(events: Events, given: Answer) -> Events:
    return [edited(event, _inflate) for event in events]


def _whole_inflated(payload: dict[str, Any]) -> dict[str, Any]:
    _inflate(payload)
    return payload


def _whole_without_usage(payload: dict[str, Any]) -> dict[str, Any]:
    _without_usage(payload)
    return payload


def _no_done(events: Events, given: Answer) -> Events:
    return [event for event in events if event.payload != DONE]


def _prefix_ask(ask: Ask) -> Ask:
    return replace(ask, cached_tokens=int(ask.prompt_tokens * CACHED_SHARE))


def _cut_prompt(ask: Ask) -> Ask:
    return replace(ask, prompt_tokens=min(ask.prompt_tokens, PROMPT_LIMIT))


def _at_most(tokens: int) -> Callable[[Ask], Ask]:
    return lambda ask: replace(ask, limit=min(ask.limit, tokens))


CONTENT = (
    Lie(
        "many-tokens",
        "Chunks hold the tokens of three, the first chunk too.",
        "Tokens come from the usage, not from counting chunks; gaps are those of chunks.",
        answer=_many_tokens,
    ),
    Lie(
        "role-first",
        "A chunk with the role alone comes after a tenth of the time to the first token.",
        "The first token is the first chunk with text.",
        events=_before_tokens(_only({"role": "assistant", "content": ""}), 0.1),
    ),
    Lie(
        "empty-first",
        "A chunk with an empty text comes after a fifth of the time to the first token.",
        "The first token is the first chunk with text.",
        events=_before_tokens(_only({"content": ""}), 0.2),
    ),
    Lie(
        "null-first",
        "A chunk whose content is null comes after a fifth of the time to the first token.",
        "The first token is the first chunk with text.",
        events=_before_tokens(_only({"content": None}), 0.2),
    ),
    Lie(
        "reasoning-content",
        "The first half of a chat's answer comes as `reasoning_content`.",
        "Thinking is output: the first token is the first of it; the first of the answer comes later.",
        events=_thinking("reasoning_content", 0.5),
    ),
    Lie(
        "reasoning",
        "The first half of a chat's answer comes as `reasoning`.",
        "Thinking is output: the first token is the first of it; the first of the answer comes later.",
        events=_thinking("reasoning", 0.5),
    ),
    Lie(
        "ends-while-thinking",
        "All of a chat's answer comes as `reasoning_content`, and ends by length.",
        "A truncated answer with every token counted, and no first token of the answer itself; no failure.",
        events=_ends_while_thinking,
    ),
    Lie(
        "finish-odd",
        "The finish reason is `repetition`, which no client knows.",
        "A finished answer whose reason is kept as it is.",
        events=_finish_odd,
    ),
    Lie(
        "long-line",
        f"The first token's text is {LONG_LINE:,} characters in one line.",
        "One token, its text whole.",
        events=_long_line,
    ),
    Lie(
        "line-separators",
        "Each text ends with U+2028 and U+0085, as they are.",
        "They belong to the text; a line ends only at CR or LF.",
        events=_line_separators,
    ),
    Lie(
        "usage-missing",
        "No usage is sent, and nothing that rides on it.",
        "Tokens unknown with a reason, or counted from token ids where those were asked for; never the chunks.",
        events=_usage_missing,
        whole=_whole_without_usage,
    ),
    Lie(
        "usage-every-chunk",
        "Each chunk has the usage so far.",
        "The last usage is the count; they are not added up.",
        events=_usage_every_chunk,
    ),
    Lie(
        "usage-wrong",
        "The usage counts twice the completion tokens.",
        "Where every chunk has token ids, they are the tokens, and the server's count is kept beside them. Without ids "
        "the engine's steps or counters show the mismatch; usage alone shows nothing.",
        events=_usage_wrong,
        whole=_whole_inflated,
    ),
    Lie(
        "no-done",
        "The stream ends well, without `[DONE]`.",
        "A complete answer: its finish reason came and HTTP ended as it should.",
        events=_no_done,
    ),
    Lie(
        "prefix-hits",
        f"A prefix cache holds {CACHED_SHARE:.0%} of every prompt; the first token comes in a tenth of the time.",
        "The share of cached tokens is shown beside the time to the first token.",
        ask=_prefix_ask,
        answer=lambda given: retimed(given, CACHED_TTFT * given.ttft_s),
    ),
    Lie(
        "bos-doubled",
        "The prompt counts one token more than was sent, as when its first token is doubled.",
        "A prompt of other length than was sent is an error or a loud warning.",
        ask=lambda ask: replace(ask, prompt_tokens=ask.prompt_tokens + 1),
    ),
    Lie(
        "prompt-cut",
        f"Of a prompt the last {PROMPT_LIMIT} tokens are read and counted.",
        "A prompt of other length than was sent is an error or a loud warning that names the length.",
        ask=_cut_prompt,
    ),
    Lie(
        "answer-cut",
        f"An answer ends by length after {ANSWER_LIMIT} tokens, however many were asked for.",
        "Cut by the server and not by max_tokens, and said so.",
        ask=_at_most(ANSWER_LIMIT),
    ),
    Lie(
        "one-token",
        "An answer ends by itself after its first token.",
        "No decode step: acceptance and time per token are null, and a run of such answers is void.",
        ask=_at_most(1),
        answer=lambda given: replace(given, finish_reason="stop"),
    ),
    Lie(
        "loops",
        f"An answer says its first {LOOP} tokens over and over.",
        "The share of repeated text is shown: drafters that copy are flattered by it.",
        answer=lambda given: replace(given, loop=LOOP),
    ),
)
