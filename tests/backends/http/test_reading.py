"""What an exchange says: streams made by hand, in which every number is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.http.exchange import Ending, Exchange
from draftmark.backends.http.reading import read_answer

if TYPE_CHECKING:
    from draftmark.backends.http.answer import Answer

DONE = b"data: [DONE]\n\n"


def event(**keys: Any) -> bytes:
    text = json.dumps(keys, ensure_ascii=False)
    halves = any("\ud800" <= one <= "\udfff" for one in text)
    return b"data: " + (json.dumps(keys) if halves else text).encode() + b"\n\n"


def delta(finish: str | None = None, **keys: Any) -> bytes:
    """One chunk of a chat stream."""
    return event(choices=[{"index": 0, "delta": keys, "finish_reason": finish}])


def piece(text: str, finish: str | None = None, **keys: Any) -> bytes:
    """One chunk of a completion stream."""
    return event(choices=[{"index": 0, "text": text, "finish_reason": finish, **keys}])


def usage(prompt: int, output: int, **keys: Any) -> bytes:
    return event(choices=[], usage={"prompt_tokens": prompt, "completion_tokens": output, **keys})


def exchange(
    *reads: bytes, status: int | None = 200, ending: Ending = "complete", problem: str | None = None
) -> Exchange:
    """Reads that came at 1 s, 2 s, ... after the request was sent at 0 s."""
    stamps = [float(index) for index in range(1, len(reads) + 1)]
    found = Exchange(sent_s=0.0, status=status, ending=ending, problem=problem)
    found.read_s, found.reads, found.done_s = stamps, list(reads), stamps[-1] if stamps else None
    return found


def chat(*reads: bytes, **keys: Any) -> Answer:
    return read_answer(exchange(*reads, **keys), chat=True)


def complete(*reads: bytes, **keys: Any) -> Answer:
    return read_answer(exchange(*reads, **keys), chat=False)


def failed(answer: Answer) -> tuple[str, str]:
    assert answer.failure is not None
    return answer.failure.kind, answer.failure.message


ROLE = delta(role="assistant", content="")


def test_pieces_tokens_and_end_of_a_plain_stream() -> None:
    answer = chat(ROLE, delta(content="Hel"), delta(content="lo"), delta("length"), usage(7, 3), DONE)
    assert answer.failure is None
    assert (answer.text, answer.finish_reason) == ("Hello", "length")
    assert [(chunk.at_s, chunk.text) for chunk in answer.chunks] == [(2.0, "Hel"), (3.0, "lo")]
    assert (answer.prompt_tokens, answer.output_tokens, answer.token_source) == (7, 3, "usage")
    assert answer.notes == []


def test_a_piece_of_text_is_not_one_token() -> None:
    answer = chat(delta(content="ten tokens at once"), delta("stop"), usage(1, 10), DONE)
    assert [chunk.tokens for chunk in answer.chunks] == [None]
    assert answer.output_tokens == 10


@pytest.mark.parametrize(
    "empty",
    [
        ROLE,
        delta(content=None),
        delta(),
        delta(reasoning_content=None, content=""),
        delta(tool_calls=None),
        event(choices=[]),
        event(choices=[{"index": 0, "delta": None, "finish_reason": None}]),
        b": still here\n\n",
        b"data:\n\n",
    ],
    ids=["role", "null", "nothing", "null reasoning", "null tools", "no choice", "null delta", "comment", "no data"],
)
def test_what_holds_no_output_is_no_first_token(empty: bytes) -> None:
    answer = chat(empty, delta(content="x"), delta("stop"), usage(1, 1), DONE)
    assert [chunk.at_s for chunk in answer.chunks] == [2.0]
    assert answer.failure is None


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thinking_is_output_and_no_answer(key: str) -> None:
    counted = usage(3, 5, completion_tokens_details={"reasoning_tokens": 3})
    answer = chat(ROLE, delta(**{key: "hm"}), delta(**{key: "m"}), delta(content="Yes"), delta("stop"), counted, DONE)
    assert (answer.reasoning, answer.text, answer.reasoning_tokens) == ("hmm", "Yes", 3)
    assert answer.chunks[0].at_s == 2.0
    assert answer.first_answer_s == 4.0


def test_an_answer_that_ends_while_thinking_is_truncated_and_not_failed() -> None:
    answer = chat(delta(reasoning="a"), delta(reasoning="b"), delta("length"), usage(3, 2), DONE)
    assert answer.failure is None
    assert (answer.finish_reason, answer.text, answer.first_answer_s) == ("length", "", None)
    assert len(answer.chunks) == 2


def test_the_same_thoughts_under_both_names_are_read_once() -> None:
    answer = chat(delta(reasoning="a", reasoning_content="a"), delta("stop"), DONE)
    assert answer.reasoning == "a"


def test_calls_of_tools_are_output_and_end_by_the_models_own_end() -> None:
    call = [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]
    answer = chat(delta(tool_calls=call), delta("tool_calls"), usage(1, 9), DONE)
    assert len(answer.chunks) == 1
    assert answer.finish_reason == "eos"
    assert answer.text == "\nf\n{}"


def test_the_text_of_a_call_is_put_together_from_its_pieces() -> None:
    pieces = [{"id": "c", "function": {"name": "look", "arguments": ""}}, {"function": {"arguments": '{"at": '}}]
    pieces += [{"function": {"arguments": '"door"}'}}]
    parts = [delta(tool_calls=[{"index": 0, **piece}]) for piece in pieces]
    answer = chat(*parts, delta("tool_calls"), usage(1, 9), DONE)
    assert answer.text == '\nlook\n{"at": "door"}'
    assert len(answer.chunks) == 3


def test_calls_that_are_no_objects_fail_the_turn() -> None:
    answer = chat(delta(tool_calls=["f"]), delta("tool_calls"), usage(1, 9), DONE)
    assert answer.failure is not None
    assert 'tool_calls of a choice is ["f"], no list of objects' in answer.failure.message


def test_events_in_one_read_are_one_piece_without_a_gap() -> None:
    stream = ROLE + piece("a", token_ids=[1]) + piece("b", token_ids=[2, 3]) + piece("", "length", token_ids=[4])
    answer = complete(stream + usage(1, 4) + DONE)
    assert [(chunk.at_s, chunk.text, chunk.tokens, chunk.ids) for chunk in answer.chunks] == [
        (1.0, "ab", 4, (1, 2, 3, 4))
    ]


@pytest.mark.parametrize("size", [1, 2, 5, 10_000])
def test_reads_may_cut_anywhere(size: int) -> None:
    stream = ROLE + delta(content="中文") + delta(content="🙂\u2028é") + delta("stop") + usage(2, 4) + DONE
    answer = chat(*(stream[start : start + size] for start in range(0, len(stream), size)))
    assert (answer.text, answer.output_tokens, answer.failure) == ("中文🙂\u2028é", 4, None)


def test_events_may_end_by_cr_lf_and_go_without_the_space() -> None:
    stream = (delta(content="Hi") + delta("stop") + DONE).replace(b"data: ", b"data:").replace(b"\n", b"\r\n")
    assert chat(stream).text == "Hi"


def test_token_ids_count_pieces_and_the_whole() -> None:
    answer = complete(
        piece("a", token_ids=[5], prompt_token_ids=[1, 2]),
        piece("bcd", token_ids=[6, 7, 8]),
        piece("", "stop", token_ids=[9], stop_reason=None),
        usage(2, 5),
        DONE,
    )
    assert answer.ids == (5, 6, 7, 8, 9)
    assert answer.prompt_ids == (1, 2)
    assert [chunk.tokens for chunk in answer.chunks] == [1, 3, 1]
    assert (answer.output_tokens, answer.token_source, answer.finish_reason) == (5, "ids", "eos")


def test_text_held_back_still_has_its_token_counted() -> None:
    answer = complete(piece("", token_ids=[5]), piece("é", token_ids=[6]), piece("", "length"), usage(2, 2), DONE)
    assert [(chunk.at_s, chunk.tokens) for chunk in answer.chunks] == [(1.0, 1), (2.0, 1)]


def test_a_running_count_tells_the_tokens_of_each_piece() -> None:
    def counted(total: int, **keys: Any) -> bytes:
        choice = {"index": 0, "delta": keys, "finish_reason": None}
        return event(choices=[choice], usage={"prompt_tokens": 4, "completion_tokens": total})

    # The third token comes without text; it is counted with the next piece.
    stream = [counted(0, role="assistant"), counted(2, content="ab"), counted(3), counted(5, content="de")]
    answer = chat(*stream, delta("length"), usage(4, 5), DONE)
    assert [chunk.tokens for chunk in answer.chunks] == [2, 3]


def test_a_running_count_on_some_pieces_alone_tells_nothing() -> None:
    first = event(choices=[{"index": 0, "delta": {"content": "a"}}], usage={"completion_tokens": 1})
    answer = chat(first, delta(content="b"), delta("stop"), usage(1, 2), DONE)
    assert [chunk.tokens for chunk in answer.chunks] == [None, None]


def test_the_last_usage_is_taken() -> None:
    first = event(choices=[{"index": 0, "delta": {"content": "a"}}], usage={"completion_tokens": 1})
    assert chat(first, delta("stop"), usage(1, 8), DONE).output_tokens == 8


def test_without_ids_or_usage_nothing_is_counted() -> None:
    answer = chat(*(delta(content=" ") for _ in range(15)), delta("stop"), event(choices=[], usage=None), DONE)
    assert (answer.output_tokens, answer.token_source) == (None, None)
    assert answer.notes == ["the server counted no output tokens"]


def test_ids_of_every_piece_are_the_tokens_whatever_the_usage_counts() -> None:
    answer = complete(piece("a", token_ids=[1, 2]), piece("", "stop"), usage(1, 17), DONE)
    assert (answer.output_tokens, answer.ids, answer.token_source) == (2, (1, 2), "ids")
    assert answer.counted_tokens == 17
    assert answer.notes == ["the server gave 2 token ids and counted 17: the ids are kept"]


def test_ids_of_some_pieces_alone_do_not_contradict_the_usage() -> None:
    answer = complete(piece("a", token_ids=[1, 2]), piece("b"), piece("", "stop"), usage(1, 3), DONE)
    assert (answer.output_tokens, answer.ids, answer.token_source) == (3, None, "usage")
    assert (answer.counted_tokens, answer.notes) == (None, [])


def test_prompt_ids_that_contradict_the_count_are_noted() -> None:
    answer = complete(piece("a", "stop", token_ids=[1], prompt_token_ids=[5, 6]), usage(3, 1), DONE)
    assert answer.notes == ["the server gave 2 ids of the prompt and counted 3"]


def test_more_thinking_than_output_is_noted() -> None:
    counted = usage(1, 8, completion_tokens_details={"reasoning_tokens": 9})
    answer = chat(delta(content="a"), delta("stop"), counted, DONE)
    assert answer.notes == ["9 reasoning tokens exceed 8 output tokens"]


def test_more_cached_than_prompt_tokens_are_noted() -> None:
    answer = chat(delta(content="a"), delta("stop"), usage(5, 1, prompt_tokens_details={"cached_tokens": 6}), DONE)
    assert answer.notes == ["6 cached prompt tokens exceed 5 prompt tokens"]


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        ("-1", "-1"),
        ('"5"', '"5"'),
        ("2.5", "2.5"),
        ("true", "true"),
        ("[4]", "[4]"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e308", "1e+308"),
        (str(2**31), "2147483648"),
        ("1" + "0" * 400, "1" + "0" * 39 + "..."),
    ],
)
@pytest.mark.parametrize("key", ["prompt_tokens", "completion_tokens"])
def test_a_count_that_is_no_whole_number_is_none_and_said(wrong: str, shown: str, key: str) -> None:
    other = {"prompt_tokens", "completion_tokens"}.difference([key]).pop()
    counted = f'data: {{"choices": [], "usage": {{"{key}": {wrong}, "{other}": 7}}}}\n\n'.encode()
    answer = chat(delta(content="a"), delta("stop"), counted, DONE)
    assert answer.failure is None
    told = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.output_tokens}
    assert told == {key: None, other: 7}
    assert f"{key} of the usage is {shown}, no whole number from 0 that can be a count" in answer.notes


@pytest.mark.parametrize(("written", "count"), [("4.0", 4), ("4e0", 4), ("0.0", 0), (str(2**31 - 1), 2**31 - 1)])
def test_a_whole_number_counts_however_it_is_written(written: str, count: int) -> None:
    counted = f'data: {{"choices": [], "usage": {{"completion_tokens": {written}}}}}\n\n'.encode()
    answer = chat(delta(content="a"), delta("stop"), counted, DONE)
    assert (answer.output_tokens, type(answer.output_tokens), answer.notes) == (count, int, [])


@pytest.mark.parametrize("wrong", [[1, 2], "four", 4])
def test_a_usage_that_is_no_object_counts_nothing_and_is_said(wrong: Any) -> None:
    answer = chat(delta(content="a"), delta("stop"), event(choices=[], usage=wrong), DONE)
    assert (answer.failure, answer.output_tokens) == (None, None)
    assert "the server's usage is no JSON object, so that it counts nothing" in answer.notes


@pytest.mark.parametrize("later", [0, 3])
def test_a_count_that_falls_does_not_replace_the_larger_one(later: int) -> None:
    answer = chat(delta(content="a"), delta("stop"), usage(9, 4), usage(9, later), DONE)
    assert answer.output_tokens == 4
    assert answer.notes == [f"the server counted 4 output tokens and later {later}: the larger count is kept"]


def test_a_later_usage_without_a_count_takes_none_away() -> None:
    assert chat(delta(content="a"), delta("stop"), usage(9, 4), event(choices=[], usage={}), DONE).output_tokens == 4


def test_prompt_tokens_from_a_cache_are_told() -> None:
    counted = usage(100, 2, prompt_tokens_details={"cached_tokens": 93})
    assert chat(delta(content="a"), delta("stop"), counted, DONE).cached_prompt_tokens == 93


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, "stop"),
        ({"stop_reason": None}, "eos"),
        ({"stop_reason": 2}, "eos"),
        ({"stop_reason": "\n\n"}, "stop"),
        ({"matched_stop": 151645}, "eos"),
        ({"matched_stop": "END"}, "stop"),
        ({"matched_stop": None}, "stop"),
    ],
    ids=["untold", "vllm eos", "vllm stop token", "vllm stop string", "sglang eos", "sglang string", "sglang untold"],
)
def test_the_models_end_is_told_from_a_stop_string(keys: dict[str, Any], expected: str) -> None:
    assert complete(piece("a"), piece("", "stop", **keys), DONE).finish_reason == expected


def test_a_reason_of_the_servers_own_is_noted() -> None:
    answer = complete(piece("a"), piece("", "repetition"), usage(1, 1), DONE)
    assert (answer.failure, answer.finish_reason) == (None, None)
    assert answer.notes == ["finish_reason repetition is the server's own"]


@pytest.mark.parametrize("reason", ["abort", "error", "cancelled", "content_filter"])
def test_an_answer_given_up_is_failed_whatever_follows(reason: str) -> None:
    answer = chat(delta(content="half"), delta(reason), usage(1, 1), DONE)
    assert failed(answer) == ("engine-error", f"the server ended the answer with finish_reason {reason}")
    assert answer.notes == ["1 piece of output came before it failed"]


def test_a_stream_that_just_ends_is_failed() -> None:
    answer = chat(ROLE, delta(content="cut"), delta(content=" off"))
    assert failed(answer) == ("protocol", "the stream ended without finish_reason or [DONE]")
    assert answer.notes == ["2 pieces of output came before it failed"]


def test_done_without_a_finish_reason_is_failed() -> None:
    assert failed(chat(delta(content="cut"), DONE)) == ("protocol", "the stream ended without finish_reason")


def test_a_finish_reason_without_done_is_an_answer() -> None:
    answer = chat(delta(content="all"), delta("stop"), usage(1, 1))
    assert answer.failure is None
    assert answer.notes == ["the stream ended without [DONE]"]


def test_a_connection_lost_in_the_middle_of_an_event_is_failed() -> None:
    answer = chat(delta(content="first"), b'data: {"id":"x","', ending="cut")
    assert failed(answer) == ("connection", "the connection was lost in the middle of an event")
    assert answer.text == "first"


def test_a_stream_that_ends_in_the_middle_of_an_event_is_failed() -> None:
    answer = chat(delta(content="first"), b'data: {"id":"x","')
    assert failed(answer) == ("connection", "the stream ended in the middle of an event")


def test_a_last_event_without_its_blank_line_counts() -> None:
    answer = chat(delta(content="all"), delta("stop"), usage(1, 4).rstrip())
    assert (answer.failure, answer.output_tokens) == (None, 4)


@pytest.mark.parametrize(("ending", "kind"), [("cut", "connection"), ("timeout", "timeout"), ("protocol", "protocol")])
def test_a_broken_exchange_is_failed_even_after_a_finish_reason(ending: Ending, kind: str) -> None:
    answer = chat(delta(content="a"), delta("stop"), ending=ending, problem="told why")
    assert failed(answer)[0] == kind
    assert failed(answer)[1].endswith(": told why")


def test_a_connection_that_breaks_after_done_did_no_harm() -> None:
    answer = chat(delta(content="a"), delta("stop"), usage(1, 1), DONE, ending="cut")
    assert answer.failure is None
    assert answer.notes == ["the connection broke after [DONE]"]


@pytest.mark.parametrize(
    ("ending", "kind"),
    [("refused", "connection"), ("timeout", "timeout"), ("protocol", "protocol"), ("complete", "connection")],
)
def test_no_answer_at_all_is_failed(ending: Ending, kind: str) -> None:
    assert failed(chat(status=None, ending=ending))[0] == kind


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"message": "generation failed: x", "type": "server_error", "code": 500}, "engine-error", "server_error"),
        ("out of memory", "engine-error", "out of memory"),
        ({"message": "wait", "code": 503}, "overloaded", "wait"),
        ({"message": "This model's maximum context length is 128 tokens.", "code": 500}, "context-limit", "128"),
        ({"detail": "odd"}, "engine-error", "odd"),
    ],
)
@pytest.mark.parametrize("before", [(), (ROLE, delta(content="par"), delta(content="tial"))], ids=["first", "midway"])
def test_an_error_inside_a_stream_of_status_200_fails_the_turn(
    before: tuple[bytes, ...], error: Any, kind: str, words: str
) -> None:
    answer = chat(*before, event(error=error), DONE)
    assert failed(answer)[0] == kind
    assert words in failed(answer)[1]
    assert len(answer.chunks) == len(before[1:])


@pytest.mark.parametrize("data", ['{"message": "gone"}', '"gone"', "gone"])
def test_an_event_of_type_error_fails_the_turn(data: str) -> None:
    assert "gone" in failed(chat(delta(content="a"), f"event: error\ndata: {data}\n\n".encode()))[1]


def test_vllms_older_form_of_an_error_fails_the_turn() -> None:
    assert failed(chat(event(object="error", message="no", code=400)))[0] == "refused"


@pytest.mark.parametrize("streamed", [True, False])
def test_an_error_in_one_piece_of_status_200_fails_the_turn(streamed: bool) -> None:
    body = b'{"error":{"message":"model not loaded","type":"server_error"}}'
    answer = read_answer(exchange(body), chat=True, streamed=streamed)
    assert failed(answer) == ("engine-error", "model not loaded (server_error)")


def test_a_null_error_is_none() -> None:
    ok = event(choices=[{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}], error=None)
    assert chat(ok, DONE).failure is None


@pytest.mark.parametrize("data", [b"data: not json\n\n", b"data: [1]\n\n"])
def test_what_is_no_json_object_fails_the_turn(data: bytes) -> None:
    assert failed(chat(delta(content="a"), data))[0] == "protocol"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 128 tokens. However, your prompt contains 152", "context-limit"),
        (400, "The input (152 tokens) is longer than the model's context length (128 tokens).", "context-limit"),
        (400, "request (152 tokens) exceeds the available context size (128 tokens), try increasing", "context-limit"),
        (500, "The sum of prompt length (152.0), query length (0) should not exceed max_num_tokens", "context-limit"),
        (400, "temperature must be positive", "refused"),
        (404, "the model does not exist", "refused"),
        (401, "bad key", "unauthorized"),
        (403, "not yours", "unauthorized"),
        (408, "too slow", "timeout"),
        (429, "too many", "overloaded"),
        (503, "loading", "overloaded"),
        (500, "boom", "engine-error"),
        (502, "bad gateway", "engine-error"),
        (307, "elsewhere", "protocol"),
    ],
)
def test_a_status_says_what_kind_of_failure_it_is(status: int, message: str, kind: str) -> None:
    answer = chat(json.dumps({"error": {"message": message}}).encode(), status=status)
    assert failed(answer) == (kind, f"HTTP {status}: {message}")


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"", "HTTP 500"), (b"<h1>Bad</h1>", "HTTP 500: <h1>Bad</h1>"), (b'{"detail":"no"}', "HTTP 500: no")],
)
def test_a_failure_that_is_no_openai_error_keeps_its_words(body: bytes, words: str) -> None:
    assert failed(chat(body, status=500)) == ("engine-error", words)


@pytest.mark.parametrize(
    "fragment", ["x", "x://", "://", " ", "bearer ", "Basic\t\t", "?key=", "&token=a", "sk-", "\\u0000"]
)
def test_a_long_complaint_is_cut(fragment: str) -> None:
    """A megabyte of whatever is searched for: what takes time by the square would run into the time limit."""
    assert len(failed(chat(fragment.encode() * (1_000_000 // len(fragment)), status=500))[1]) < 600


@pytest.mark.parametrize(
    "said",
    [
        "bad key: Bearer sesame-1234",
        "bad key: sesame-1234",
        "from http://joe:sesame-1234@host/v1",
        "GET /v1?key=sesame-1234&x=1",
    ],
)
@pytest.mark.parametrize("status", [401, 200])
def test_a_key_that_the_server_repeats_is_not_kept(said: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_API_KEY", "sesame-1234")
    found = exchange(json.dumps({"error": {"message": said}}).encode(), status=status)
    assert "sesame" not in failed(read_answer(found, chat=True))[1]
    monkeypatch.delenv("DEMO_API_KEY")
    assert "sesame" not in failed(read_answer(found, chat=True, secrets=["sesame-1234"]))[1]


def test_an_answer_in_one_piece() -> None:
    body = {
        "choices": [{"index": 0, "message": {"content": "Hi", "reasoning_content": "hm"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 3},
    }
    text = json.dumps(body).encode()
    answer = read_answer(exchange(text[:9], text[9:]), chat=True, streamed=False)
    assert (answer.text, answer.reasoning, answer.output_tokens, answer.finish_reason) == ("Hi", "hm", 3, "length")
    assert [chunk.at_s for chunk in answer.chunks] == [2.0]
    assert answer.notes == []


def test_a_server_that_does_not_stream_is_noted() -> None:
    answer = complete(b'{"choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]}')
    assert answer.text == "Hi"
    assert "asked for a stream, the server answered in one piece" in answer.notes


def test_an_empty_answer_is_failed() -> None:
    assert failed(read_answer(exchange(), chat=True, streamed=False)) == ("protocol", "the answer is empty")
    assert failed(chat()) == ("protocol", "the stream ended without finish_reason or [DONE]")


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ([{"index": 1, "delta": {"content": "other"}}], "a choice of index 1"),
        ([{"index": "0", "delta": {"content": "other"}}], 'a choice of index "0"'),
        ([{"index": -1, "delta": {"content": "other"}}], "a choice of index -1"),
        ([{"index": 0, "delta": {}}, {"index": 1, "delta": {}}], "2 choices at once"),
        ([{"delta": {}}, {"delta": {}}], "2 choices at once"),
    ],
)
def test_a_second_choice_fails_the_turn_whose_tokens_are_of_all(choices: Any, said: str) -> None:
    answer = chat(delta(content="one"), event(choices=choices), delta("length"), usage(1, 9), DONE)
    assert failed(answer) == (
        "protocol",
        f"the server gave {said}, and its token counts are of all: one choice was asked for",
    )


def test_a_choice_without_a_number_is_the_first() -> None:
    answer = chat(event(choices=[{"index": None, "delta": {"content": "a"}, "finish_reason": "stop"}]), DONE)
    assert (answer.failure, answer.text) == (None, "a")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"delta": "hello"}, 'delta of a choice is "hello", no JSON object'),
        ({"delta": ["x"]}, 'delta of a choice is ["x"], no JSON object'),
        ({"message": 5}, "message of a choice is 5, no JSON object"),
        ({"delta": {"content": [{"text": "hi"}]}}, 'content of a choice is [{"text": "hi"}], no text'),
        ({"delta": {"content": 5}}, "content of a choice is 5, no text"),
        ({"delta": {"reasoning": {}}}, "reasoning of a choice is {}, no text"),
        ({"token_ids": [True, 2]}, "token_ids holds true, which is no token id"),
        ({"token_ids": ["1"]}, 'token_ids holds "1", which is no token id'),
        ({"token_ids": [3, -1]}, "token_ids holds -1, which is no token id"),
        ({"token_ids": [2**31]}, "token_ids holds 2147483648, which is no token id"),
        ({"token_ids": [1.0]}, "token_ids holds 1.0, which is no token id"),
        ({"response_token_ids": 7}, "response_token_ids is 7, no list of token ids"),
    ],
)
def test_a_choice_of_another_shape_fails_the_turn_with_a_sentence(keys: dict[str, Any], said: str) -> None:
    answer = chat(event(choices=[{"index": 0, **keys}]), delta("stop"), usage(1, 4), DONE)
    assert failed(answer) == ("protocol", said)


@pytest.mark.parametrize(
    ("choices", "said"),
    [({"index": 0}, 'choices is {"index": 0}, no list'), ([5], "choices holds 5, no JSON object")],
)
def test_choices_of_another_shape_fail_the_turn_with_a_sentence(choices: Any, said: str) -> None:
    assert failed(chat(event(choices=choices), delta("stop"), usage(1, 4), DONE)) == ("protocol", said)
    whole = json.dumps({"choices": choices}).encode()
    assert failed(read_answer(exchange(whole), chat=True, streamed=False)) == ("protocol", said)


def test_the_largest_id_is_an_id() -> None:
    assert complete(piece("a", "stop", token_ids=[0, 2**31 - 1]), DONE).ids == (0, 2**31 - 1)


def test_prompt_ids_of_another_shape_are_noted() -> None:
    answer = complete(piece("a", "stop", prompt_token_ids=[2**70]), usage(1, 1), DONE)
    assert (answer.failure, answer.prompt_ids) == (None, None)
    assert answer.notes == [f"prompt_token_ids holds {2**70}, which is no token id"]


@pytest.mark.parametrize(
    ("finish", "tokens", "message"),
    [
        ("stop", 3, "the server counted 3 tokens and sent no text"),
        ("length", 1, "the server counted 1 token and sent no text"),
        ("tool_calls", 8, "the server counted 8 tokens and sent no text"),
        ("length", None, "the answer ended by length, without any text or count of tokens"),
        ("stop", -5, "the server sent no text, and what it says of its tokens is no count: -5"),
    ],
)
def test_tokens_without_any_output_are_a_failed_turn(finish: str, tokens: Any, message: str) -> None:
    answer = chat(ROLE, delta(finish), usage(7, tokens), DONE)
    assert failed(answer) == ("protocol", message)


@pytest.mark.parametrize("tokens", [0, 1, None])
def test_an_answer_that_the_model_ended_at_once_is_one(tokens: int | None) -> None:
    answer = chat(ROLE, delta("stop"), usage(7, tokens), DONE)
    assert (answer.failure, answer.text, answer.output_tokens) == (None, "", tokens)


def test_a_stop_string_that_comes_first_leaves_no_text() -> None:
    found = exchange(piece("", "stop", stop_reason="###"), usage(7, 2), DONE)
    assert read_answer(found, chat=False, stops=True).failure is None
    assert failed(read_answer(found, chat=False)) == ("protocol", "the server counted 2 tokens and sent no text")


def test_tokens_without_text_whose_ids_came_are_output() -> None:
    answer = complete(piece("", "length", token_ids=[2, 2, 2]), usage(7, 3), DONE)
    assert (answer.failure, answer.output_tokens) == (None, 3)


@pytest.mark.parametrize(
    "written",
    ['pa/ss\\wörd-"1', 'pa/ss\\\\w\\u00f6rd-\\"1', "pa%2Fss%5Cw%C3%B6rd-%221", "pa%2fss%5cw%c3%b6rd-%221"],
    ids=["as it is", "json", "percent", "percent in small letters"],
)
def test_a_key_is_in_nothing_that_is_kept_of_an_answer(written: str) -> None:
    secrets = ['pa/ss\\wörd-"1']
    shown = read_answer(
        exchange(piece(f"<{written[:5]}"), piece(f"{written[5:]}>", "stop"), DONE), chat=False, secrets=secrets
    )
    assert shown.text == "<[redacted]>"
    thought = exchange(delta("stop", reasoning=f"<{written}>"), DONE)
    assert read_answer(thought, chat=True, secrets=secrets).reasoning == "<[redacted]>"
    ended = exchange(piece("a"), piece("", f"by {written}"), usage(1, 1), DONE)
    assert read_answer(ended, chat=False, secrets=secrets).notes == ["finish_reason by [redacted] is the server's own"]
    refused = exchange(event(error={"message": f"bad {written}"}))
    assert failed(read_answer(refused, chat=False, secrets=secrets))[1] == "bad [redacted]"
    odd = exchange(piece("a"), piece("", "stop"), event(choices=[], usage={"completion_tokens": secrets[0]}), DONE)
    assert "wörd" not in str(read_answer(odd, chat=False, secrets=secrets).notes)


def test_halves_of_surrogate_pairs_are_put_together_or_replaced() -> None:
    answer = complete(piece("a\ud83d"), piece("\ude42b\ud800c", "stop"), usage(1, 4), DONE)
    assert (answer.failure, answer.text) == (None, "a🙂b\ufffdc")


def test_a_complaint_is_kept_without_halves_and_control_characters() -> None:
    body = b'{"error":{"message":"bad \\ud800 \\u001b[31m \\u0000 end"}}'
    assert failed(chat(body, status=400)) == ("refused", "HTTP 400: bad \ufffd [31m end")


def test_nesting_without_end_in_an_error_is_kept_as_text() -> None:
    assert failed(chat(b"[" * 200_000, status=500))[1].startswith("HTTP 500: [[[")


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("http://other:81/v1/x", "http://other:81/v1/x"),
        ("http://joe:sesame@other/v1?key=sesame#sesame", "http://other/v1"),
        ("/v2/x?key=sesame", "/v2/x"),
        ("//joe:sesame@other/x", "//other/x"),
    ],
)
def test_a_redirect_names_where_to_without_keys(location: str, shown: str) -> None:
    found = exchange(b"", status=307)
    found.headers["location"] = location
    said = f"HTTP 307: it redirects to {shown}, and redirects are not followed: ask that server itself"
    assert failed(read_answer(found, chat=True)) == ("protocol", said)


@pytest.mark.parametrize(("status", "start"), [(200, "the answer is"), (500, "HTTP 500: the answer is")])
def test_a_compressed_answer_is_named(status: int, start: str) -> None:
    found = exchange(b"\x1f\x8b\x08\x00", status=status)
    found.headers["content-encoding"] = "gzip"
    assert failed(read_answer(found, chat=True))[1].startswith(f"{start} compressed (Content-Encoding: gzip)")


def test_identity_is_no_compression() -> None:
    found = exchange(delta("stop", content="a"), DONE)
    found.headers["content-encoding"] = "identity"
    assert read_answer(found, chat=True).failure is None
