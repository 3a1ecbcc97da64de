"""From one HTTP exchange to what the server answered: pieces with their stamps, text, tokens, how it ended.

Read after the stream has ended, so that it costs no time of any other. Nothing is guessed: text is never counted as
tokens, and a piece of text is not one token.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.backends.http import shapes
from draftmark.backends.http.answer import Answer, Chunk
from draftmark.backends.http.failures import complaint, compressed, failure_of_status, kind_of, quoted
from draftmark.backends.http.shapes import Misshapen, choice_of, count_of, decoded, ids_of, object_of, shown, text_of
from draftmark.backends.http.sse import events_of
from draftmark.backends.http.thinking import thinking_tokens
from draftmark.backends.redaction import plain_text
from draftmark.results.records import TurnFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.http.exchange import Exchange
    from draftmark.backends.http.sse import Event

DONE = "[DONE]"
_ABORTED = ("abort", "aborted", "cancelled", "canceled", "error", "timeout", "content_filter")
"""Ends that leave an answer incomplete: the engine gave up on it, or a filter cut it."""
_ID_KEYS = ("token_ids", "response_token_ids")
"""Where servers put the ids of the tokens of a piece; the second is SGLang's."""
_TOOLS = ("tool_calls", "function_call")
_KIND_OF_ENDING = {"refused": "connection", "cut": "connection", "timeout": "timeout", "protocol": "protocol"}


def read_answer(
    exchange: Exchange, *, chat: bool, streamed: bool = True, secrets: Sequence[str] = (), stops: bool = False
) -> Answer:
    """Understand one exchange.

    Args:
        exchange: As the client recorded it.
        chat: The request went to `/v1/chat/completions`; else to `/v1/completions`.
        streamed: The request asked for a stream.
        secrets: Values that must not be repeated from what the server says, such as the key.
        stops: The request named stop strings, which are cut off the text, so that nothing may be left of it.
    """
    reader = _Reader(exchange, chat=chat, secrets=secrets, stops=stops)
    coding = compressed(exchange.headers)
    if exchange.status is None:
        if exchange.ending == "complete":
            reader.fail("connection", "the server closed the connection without an answer")
    elif not 200 <= exchange.status < 300:
        reader.fail_by_status(exchange.status)
    elif coding is not None:
        reader.fail("protocol", coding)
    elif streamed and not _is_json(exchange.reads):
        reader.read_stream()
    else:
        reader.read_whole(asked_to_stream=streamed)
    reader.close()
    return reader.answer


def _is_json(reads: Sequence[bytes]) -> bool:
    """Say whether a body is one JSON object whatever its header says; an event stream never opens with a brace."""
    start = next((stripped for read in reads if (stripped := read.lstrip())), b"")
    return start.startswith(b"{")


@dataclass(slots=True)
class _Piece:
    """Output of one event."""

    read: int
    text: str
    reasoning: str
    ids: tuple[int, ...] | None
    answers: bool
    """It holds text of the answer, or a call."""
    counted: int | None
    """The server's own running count of output tokens, where every event has it."""


class _Reader:
    """Reads one exchange into one answer."""

    def __init__(self, exchange: Exchange, *, chat: bool, secrets: Sequence[str], stops: bool) -> None:
        self.answer = Answer()
        self._exchange = exchange
        self._chat = chat
        self._secrets = secrets
        self._stops = stops
        self._pieces: list[_Piece] = []
        self._finish: str | None = None
        self._stop: tuple[str, Any] | None = None
        self._done = False
        self._whole = False
        self._usage: dict[str, Any] | None = None

    def fail(self, kind: str, message: str) -> None:
        """Record why the turn failed; the first reason stays."""
        if self.answer.failure is None:
            self.answer.failure = TurnFailure(kind=kind, message=quoted(message, self._secrets))

    def fail_by_status(self, status: int) -> None:
        """Read an answer whose status says that there is none."""
        self.answer.failure = failure_of_status(status, self._exchange.body, self._secrets, self._exchange.headers)

    def read_stream(self) -> None:
        """Read server-sent events up to the first error."""
        for read, event in events_of(self._exchange.reads):
            if self._done:
                self.answer.notes.append("the server went on after [DONE]")
                break
            data = event.data.strip()
            if not data:
                continue
            if data == DONE:
                self._done = True
            elif not self._take(read, event):
                break
        if self.answer.failure is None:
            self._judge_ending()

    def _take(self, read: int, event: Event) -> bool:
        """Take one event; say whether to go on."""
        try:
            said = json.loads(event.data)
        except (ValueError, RecursionError):
            if event.unfinished:
                self._fail_midway()
            elif event.event == "error":
                self.fail(kind_of(None, event.data), event.data)
            else:
                self.fail("protocol", f"an event of the stream is no JSON: {event.data[:100]}")
            return False
        if event.event == "error" and complaint(said) is None:
            said = {"error": said}
        if not isinstance(said, dict):
            self.fail("protocol", f"an event of the stream is no JSON object: {event.data[:100]}")
            return False
        self.answer.raw.append(said)
        found = complaint(said)
        if found is not None:
            self.fail(kind_of(found[1], found[0]), found[0])
            return False
        return self._take_decoded(read, said)

    def _take_decoded(self, read: int, event: dict[str, Any]) -> bool:
        """Take one decoded event; say whether to go on."""
        self._take_usage(event.get("usage"))
        try:
            self._take_prompt_ids(event)
            choice = choice_of(event)
            if choice is not None:
                self._take_choice(read, choice, event.get("usage"))
        except Misshapen as fault:
            self.fail("protocol", str(fault))
            return False
        return True

    def _take_usage(self, usage: object) -> None:
        """Keep the last usage; a running count cannot fall, so one that counts less is passed over."""
        if usage is None:
            return
        if not isinstance(usage, dict):
            self._note("the server's usage is no JSON object, so that it counts nothing")
            return
        before, now = (_count(one, "completion_tokens") for one in (self._usage, usage))
        if before is None or (now is not None and now >= before):
            self._usage = usage
        elif now is not None:
            self._note(f"the server counted {before} output tokens and later {now}: the larger count is kept")

    def _take_choice(self, read: int, choice: dict[str, Any], usage: object) -> None:
        """Take the output of one choice; raises `Misshapen`."""
        self._take_prompt_ids(choice)
        inner = (object_of(choice, "delta") or object_of(choice, "message")) if self._chat else choice
        text = text_of(inner, "content" if self._chat else "text") + shapes.calls_of(inner)
        reasoning = text_of(inner, "reasoning_content") or text_of(inner, "reasoning")
        ids = next((found for key in _ID_KEYS if (found := ids_of(key, choice.get(key))) is not None), None)
        answers = bool(text or any(map(inner.get, _TOOLS)))
        if answers or reasoning or ids:
            counted = _count(usage, "completion_tokens")
            self._pieces.append(_Piece(read, text, reasoning, ids, answers, counted))
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
            key = next((name for name in ("stop_reason", "matched_stop") if name in choice), None)
            self._stop = None if key is None else (key, choice[key])

    def _take_prompt_ids(self, holder: dict[str, Any]) -> None:
        try:
            found = ids_of("prompt_token_ids", holder.get("prompt_token_ids"))
        except Misshapen as fault:
            self._note(str(fault))  # no number is made of them
        else:
            self.answer.prompt_ids = self.answer.prompt_ids if found is None else found

    def read_whole(self, *, asked_to_stream: bool) -> None:
        """Read an answer that is one JSON object."""
        body = self._exchange.body
        if self._exchange.ending != "complete":
            return
        whole = decoded(body)
        if not isinstance(whole, dict):
            said = body[:100].decode("utf-8", "replace")
            self.fail("protocol", f"the answer is no JSON object: {said}" if said else "the answer is empty")
            return
        self.answer.raw.append(whole)
        found = complaint(whole)
        if found is not None:
            self.fail(kind_of(found[1], found[0]), found[0])
            return
        if asked_to_stream:
            self._note("asked for a stream, the server answered in one piece")
        self._done = self._whole = True
        if self._take_decoded(len(self._exchange.reads) - 1, whole):
            self._judge_ending()

    def _judge_ending(self) -> None:
        ending, finish = self._exchange.ending, self._finish
        if ending != "complete" and not self._done:
            return  # `close` says how it ended
        if finish is None:
            more = "" if self._done else " or [DONE]"
            self.fail("protocol", f"the stream ended without finish_reason{more}")
        elif finish in _ABORTED:
            self.fail("engine-error", f"the server ended the answer with finish_reason {finish}")
        elif not self._done:
            self._note("the stream ended without [DONE]")
        elif ending != "complete":
            self._note("the connection broke after [DONE]")

    def _fail_midway(self) -> None:
        ending = self._exchange.ending
        how = "the stream ended" if ending == "complete" else _broken(self._exchange)
        self.fail(_KIND_OF_ENDING.get(ending, "connection"), f"{how} in the middle of an event")

    def close(self) -> None:
        """Put together what was read."""
        if self._exchange.ending != "complete" and not self._done:
            self.fail(_KIND_OF_ENDING[self._exchange.ending], _broken(self._exchange))
        self._add_up_pieces()
        self._count_tokens()
        self._count_thinking()
        self._name_finish()
        self._judge_emptiness()
        answer = self.answer
        if answer.failure is not None and answer.chunks:
            held = len(answer.chunks)
            self._note(f"{held} {'piece' if held == 1 else 'pieces'} of output came before it failed")

    def _add_up_pieces(self) -> None:
        answer, stamps = self.answer, self._exchange.read_s
        answer.text = plain_text("".join(piece.text for piece in self._pieces), self._secrets)
        answer.reasoning = plain_text("".join(piece.reasoning for piece in self._pieces), self._secrets)
        first = next((piece for piece in self._pieces if piece.text), None)
        answer.first_answer_s = None if first is None else stamps[first.read]
        tokens = _tokens_per_piece(self._pieces)
        by_read: dict[int, list[tuple[_Piece, int | None]]] = {}
        for piece, count in zip(self._pieces, tokens, strict=True):
            by_read.setdefault(piece.read, []).append((piece, count))
        for read, held in by_read.items():
            counts = [count for _, count in held if count is not None]
            given = [piece.ids for piece, _ in held if piece.ids is not None]
            answer.chunks.append(
                Chunk(
                    at_s=stamps[read],
                    text="".join(piece.text for piece, _ in held),
                    reasoning="".join(piece.reasoning for piece, _ in held),
                    tokens=sum(counts) if len(counts) == len(held) else None,
                    ids=tuple(one for ids in given for one in ids) if len(given) == len(held) else None,
                )
            )

    def _count_tokens(self) -> None:
        answer, usage = self.answer, self._usage
        answer.prompt_tokens = self._told(usage, "prompt_tokens")
        answer.output_tokens = self._told(usage, "completion_tokens")
        answer.token_source = None if answer.output_tokens is None else "usage"
        inside = (usage or {}).get("completion_tokens_details")
        answer.reasoning_tokens = self._told(inside, "reasoning_tokens")
        if answer.reasoning_tokens is None:
            answer.reasoning_tokens = self._told(usage, "reasoning_tokens")  # SGLang's place
        answer.cached_prompt_tokens = self._told((usage or {}).get("prompt_tokens_details"), "cached_tokens")
        if answer.chunks and all(chunk.ids is not None for chunk in answer.chunks):
            self._count_ids(tuple(one for chunk in answer.chunks for one in chunk.ids or ()))
        if answer.output_tokens is None and answer.failure is None:
            self._note("the server counted no output tokens")
        self._compare("reasoning tokens", answer.reasoning_tokens, "output tokens", answer.output_tokens)
        self._compare("cached prompt tokens", answer.cached_prompt_tokens, "prompt tokens", answer.prompt_tokens)
        if answer.prompt_ids is not None and answer.prompt_tokens not in (None, len(answer.prompt_ids)):
            self._note(f"the server gave {len(answer.prompt_ids)} ids of the prompt and counted {answer.prompt_tokens}")

    def _count_thinking(self) -> None:
        answer, tokens = self.answer, _tokens_per_piece(self._pieces)
        pieces = [(bool(one.reasoning), one.answers, count) for one, count in zip(self._pieces, tokens, strict=True)]
        told, total = answer.reasoning_tokens, answer.output_tokens
        answer.thinking_tokens = thinking_tokens(pieces, told=told, total=total, whole=self._whole)

    def _count_ids(self, ids: tuple[int, ...]) -> None:
        """Count the ids, which came with every piece: they are the tokens, whatever the usage says."""
        answer = self.answer
        if answer.output_tokens not in (None, len(ids)):
            answer.counted_tokens = answer.output_tokens
            self._note(f"the server gave {len(ids)} token ids and counted {answer.output_tokens}: the ids are kept")
        answer.ids, answer.output_tokens, answer.token_source = ids, len(ids), "ids"

    def _told(self, holder: object, key: str) -> int | None:
        """Return a count of the usage; say what stands in its place where that is none."""
        found = _count(holder, key)
        value = holder.get(key) if isinstance(holder, dict) else None
        if found is None and value is not None:
            said = quoted(shown(value), self._secrets)
            self._note(f"{key} of the usage is {said}, no whole number from 0 that can be a count")
        return found

    def _compare(self, part: str, some: int | None, whole: str, all_: int | None) -> None:
        if some is not None and all_ is not None and some > all_:
            self._note(f"{some} {part} exceed {all_} {whole}")

    def _judge_emptiness(self) -> None:
        """Fail an answer without any output that says it has some; one that the model ended at once is an answer.

        The end token alone is an answer of one token without text. A stop string that comes first leaves no text of
        however many tokens it takes.
        """
        answer, tokens = self.answer, self.answer.output_tokens
        if answer.failure is not None or answer.chunks:
            return
        if self._finish == "stop" and ((self._stops and answer.finish_reason == "stop") or (tokens or 0) <= 1):
            unread = None if self._usage is None else self._usage.get("completion_tokens")
            if tokens is None and unread is not None:
                said = shown(unread)
                self.fail("protocol", f"the server sent no text, and what it says of its tokens is no count: {said}")
        elif tokens is None:
            self.fail("protocol", f"the answer ended by {self._finish}, without any text or count of tokens")
        elif tokens > 0:
            self.fail("protocol", f"the server counted {tokens} token{'' if tokens == 1 else 's'} and sent no text")

    def _name_finish(self) -> None:
        finish = self._finish
        if finish is None:
            return
        if finish == "stop":
            self.answer.finish_reason = "eos" if self._stopped_by_end() else "stop"
        elif finish == "length":
            self.answer.finish_reason = "length"
        elif finish in _TOOLS:
            self.answer.finish_reason = "eos"
        elif finish in _ABORTED:
            self.answer.finish_reason = "abort"
        else:
            self._note(f"finish_reason {quoted(finish, self._secrets)} is the server's own")

    def _stopped_by_end(self) -> bool:
        """Say whether the server tells that the model's end token ended the answer, and no stop string.

        vLLM and TensorRT-LLM name what stopped an answer in `stop_reason`, null for the end token; SGLang in
        `matched_stop`, which holds the end token's id.
        """
        if self._stop is None:
            return False
        key, value = self._stop
        return not isinstance(value, str) and (key == "stop_reason" or value is not None)

    def _note(self, text: str) -> None:
        if text not in self.answer.notes:
            self.answer.notes.append(text)


def _tokens_per_piece(pieces: list[_Piece]) -> list[int | None]:
    """Return how many tokens each piece brought, by its ids or by how the server's running count rose.

    The count is of use only where every piece has it; tokens that came without text belong to the next piece.
    """
    if all(piece.ids is not None for piece in pieces):
        return [len(piece.ids or ()) for piece in pieces]
    counted = [piece.counted for piece in pieces]
    if any(count is None for count in counted):
        return [None if piece.ids is None else len(piece.ids) for piece in pieces]
    rises = [(now or 0) - (before or 0) for before, now in zip([0, *counted[:-1]], counted, strict=True)]
    return [*rises] if all(rise >= 0 for rise in rises) else [None] * len(pieces)


def _count(holder: object, key: str) -> int | None:
    return count_of(holder.get(key)) if isinstance(holder, dict) else None


def _broken(exchange: Exchange) -> str:
    words = {
        "refused": "no connection could be made",
        "cut": "the connection was lost",
        "timeout": "nothing came for too long",
        "protocol": "the answer is no HTTP",
    }[exchange.ending]
    return words if exchange.problem is None else f"{words}: {exchange.problem}"
