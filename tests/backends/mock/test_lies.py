"""Each lie as a client meets it, and that the truth knows better."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from draftmark.backends.mock import LIES
from draftmark.backends.mock.settings import DIALECTS

TEN = "tok0 tok1 tok2 tok3 tok4 tok5 tok6 tok7 tok8 tok9"


def texts(events: list[Any], *keys: str) -> list[str]:
    """The texts of a chat's deltas under the given keys."""
    deltas = [event["choices"][0]["delta"] for event in events if event.get("choices")]
    return [delta[key] for delta in deltas for key in keys if delta.get(key)]


def test_every_lie_is_in_the_documentation_in_its_own_words() -> None:
    page = Path(__file__).parents[3].joinpath("docs", "mock.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.+) \| (.+) \|$", page, re.MULTILINE)
    told = [(lie.name, lie.what, lie.right) for lie in LIES.values()]
    assert [row for row in rows if row[0] in LIES] == told


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_lie_breaks_the_server(talk: Callable[..., None], dialect: str) -> None:
    """Each lie in each dialect, in streams and without: an answer, and one record in the truth."""

    async def conversation(it: Any) -> None:
        for name in LIES:
            if name in {"stall", "bytewise"}:
                continue
            await it.chat(4, lie=name)
            await it.complete(4, stream=True, mock_lie=name)
            await it.complete(4, mock_lie=[name])
        turns = it.truth()
        assert len(turns) == 3 * (len(LIES) - 2)
        assert all(turn["lie"] in LIES for turn in turns)
        assert it.server.truth.answered == len(turns)

    talk(conversation, dialect=dialect, ttft_s=0.0, step_s=0.001)


def test_chunks_of_many_tokens(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.chat(10, lie="many-tokens")
        assert [chunk["tokens"] for chunk in it.truth()[0]["chunks"]] == [6, 4]  # of 1, 4, 1, 3, 1

    talk(conversation)


@pytest.mark.parametrize(
    ("lie", "delta"),
    [
        ("role-first", {"role": "assistant", "content": ""}),
        ("empty-first", {"content": ""}),
        ("null-first", {"content": None}),
    ],
)
def test_an_early_chunk_holds_no_token(talk: Callable[..., None], lie: str, delta: dict[str, Any]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(10, lie=lie)).events
        assert events[0]["choices"][0]["delta"] == delta
        assert "".join(texts(events, "content")) == TEN
        (turn,) = it.truth()
        assert turn["first_scheduled_s"] == pytest.approx(turn["received_s"] + 0.02)

    talk(conversation)


@pytest.mark.parametrize(("lie", "key"), [("reasoning-content", "reasoning_content"), ("reasoning", "reasoning")])
def test_half_of_the_answer_is_thinking(talk: Callable[..., None], lie: str, key: str) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(10, lie=lie)).events
        assert texts(events, key) == ["tok0", " tok1 tok2 tok3 tok4"]
        assert "".join(texts(events, key, "content")) == TEN

    talk(conversation)


def test_an_answer_that_ends_while_thinking(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(10, lie="ends-while-thinking", max_tokens=20)).events
        assert texts(events, "content") == []
        assert "".join(texts(events, "reasoning_content")) == TEN
        assert events[-2]["choices"][0]["finish_reason"] == "length"

    talk(conversation, output_tokens=10)


@pytest.mark.parametrize("lie", ["bytewise", "slow-first-bytes", "coalesced"])
def test_odd_writes_are_the_same_bytes(talk: Callable[..., None], lie: str) -> None:
    async def conversation(it: Any) -> None:
        plain, odd = (await it.chat(10)).body, (await it.chat(10, lie=lie)).body
        assert odd.replace(b"mock-00000002", b"mock-00000001") == plain
        assert sum(chunk["tokens"] for chunk in it.truth()[1]["chunks"]) == 10

    talk(conversation)


def test_coalesced_is_one_write(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.chat(10, lie="coalesced")
        (turn,) = it.truth()
        (chunk,) = turn["chunks"]
        assert chunk["tokens"] == 10
        assert chunk["scheduled_s"] == pytest.approx(turn["received_s"] + 0.02 + 4 * 0.004)

    talk(conversation)


def test_characters_are_split_between_writes(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        body = {"prompt": [1], "max_tokens": 2, "stream": True, "mock_lie": "split-utf8"}
        async with it._session.post(it.server.url + "/v1/completions", json=body) as answer:
            parts = [part async for part, _ in answer.content.iter_chunks()]
        with pytest.raises(UnicodeDecodeError):
            parts[0].decode()
        assert "tok0中文🙂é" in b"".join(parts).decode()

    talk(conversation, step_s=0.2)


def test_a_long_line(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(2, lie="long-line")).events
        assert texts(events, "content") == ["x" * 200_000, " tok1"]
        assert it.truth()[0]["output_tokens"] == 2

    talk(conversation)


@pytest.mark.parametrize(
    ("lie", "begins", "ends"),
    [
        ("crlf", b'data: {"', b"data: [DONE]\r\n\r\n"),
        ("cr", b'data: {"', b"data: [DONE]\r\r"),
        ("no-space", b'data:{"', b"data:[DONE]\n\n"),
        ("bom", b'\xef\xbb\xbfdata: {"', b"data: [DONE]\n\n"),
        ("comments", b': a comment\ndata: {"', b": a comment\ndata: [DONE]\n\n"),
        ("data-lines", b'data: {\ndata: "id"', b"data: [DONE]\n\n"),
        ("no-final-newline", b'data: {"', b"data: [DONE]"),
        ("no-done", b'data: {"', b"}\n\n"),
    ],
)
def test_how_lines_are_written(talk: Callable[..., None], lie: str, begins: bytes, ends: bytes) -> None:
    async def conversation(it: Any) -> None:
        answer = await it.chat(3, lie=lie)
        assert answer.body.startswith(begins)
        assert answer.body.endswith(ends)
        assert b"tok2" in answer.body
        assert answer.fault is None

    talk(conversation)


def test_separators_of_unicode_are_in_the_text(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        answer = await it.chat(1, lie="line-separators")
        assert texts(answer.events, "content") == ["tok0\u2028\u0085"]
        assert "tok0\u2028\u0085".encode() in answer.body

    talk(conversation)


@pytest.mark.parametrize(
    ("lie", "error", "tokens"),
    [
        ("error-first", {"message": "generation failed", "type": "server_error", "code": 500}, 0),
        ("error-mid", {"message": "generation failed", "type": "server_error", "code": 500}, 5),
        ("error-string", "out of memory", 5),
    ],
)
def test_an_error_inside_a_stream(talk: Callable[..., None], lie: str, error: Any, tokens: int) -> None:
    async def conversation(it: Any) -> None:
        answer = await it.chat(10, lie=lie)
        assert (answer.status, answer.fault) == (200, None)
        assert answer.events[-1] == {"error": error}
        assert answer.body.endswith(b"data: [DONE]\n\n")
        (turn,) = it.truth()
        assert (turn["output_tokens"], turn["finish_reason"]) == (tokens, None)

    talk(conversation)


def test_half_an_answer_in_all_its_ways(talk: Callable[..., None]) -> None:
    """Of the chunks of 1, 4, 1, 3 and 1 tokens the first two come."""

    async def conversation(it: Any) -> None:
        for lie, fault in (("eof", None), ("cut", "ClientPayloadError"), ("stall", "SocketTimeoutError")):
            answer = await it.chat(10, lie=lie)
            assert (answer.status, answer.fault) == (200, fault), lie
            assert b"[DONE]" not in answer.body
            assert texts(answer.events, "content") == ["tok0", " tok1 tok2 tok3 tok4"]
            assert {event["choices"][0]["finish_reason"] for event in answer.events} == {None}
        reset = await it.chat(10, lie="reset")
        assert reset.fault in {"ClientOSError", "ClientPayloadError", "ClientConnectionResetError"}
        aborted = (await it.chat(10, lie="abort")).events
        assert aborted[-1]["choices"][0] == {"index": 0, "logprobs": None, "finish_reason": "abort", "delta": {}}
        turns = it.truth()
        assert [turn["output_tokens"] for turn in turns] == [5] * 5
        assert [turn["finish_reason"] for turn in turns] == [None] * 4 + ["abort"]
        assert [turn["accepted"] for turn in turns] == [[3]] * 5

    talk(conversation, patience_s=3)


def test_usage_missing_everywhere_and_wrong(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        assert not any("usage" in event for event in (await it.chat(10, lie="usage-missing")).events)
        assert "usage" not in (await it.complete(10, mock_lie="usage-missing")).json
        every = (await it.chat(10, lie="usage-every-chunk")).events
        assert [event["usage"]["completion_tokens"] for event in every] == [0, 1, 5, 6, 9, 10, 10]
        assert (await it.chat(10, lie="usage-wrong")).events[-1]["usage"]["completion_tokens"] == 20
        assert (await it.complete(10, mock_lie="usage-wrong")).json["usage"]["completion_tokens"] == 20
        assert [turn["output_tokens"] for turn in it.truth()] == [10] * 5

    talk(conversation)


def test_an_odd_finish_reason(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        assert (await it.chat(3, lie="finish-odd")).events[-2]["choices"][0]["finish_reason"] == "repetition"
        assert it.truth()[0]["finish_reason"] == "repetition"

    talk(conversation)


@pytest.mark.parametrize(
    ("lie", "status", "says"),
    [
        ("auth-echo", 401, "Bearer not-a-real-key"),
        ("rate-limit", 429, "rate limit"),
        ("unavailable", 503, "not there"),
        ("overflow-400", 400, "beyond the model's context"),
        ("unknown-model", 404, "does not exist"),
        ("error-unary-200", 200, "generation failed"),
    ],
)
def test_refusals(talk: Callable[..., None], lie: str, status: int, says: str) -> None:
    async def conversation(it: Any) -> None:
        headers = {"Authorization": "Bearer not-a-real-key", "X-Mock-Lie": lie}
        refused = await it.post("/v1/completions", {"prompt": [1], "stream": True}, headers)
        assert refused.status == status
        assert says in refused.json["error"]["message"]
        (turn,) = it.truth()
        assert (turn["output_tokens"], turn["chunks"], turn["finish_reason"], turn["lie"]) == (0, [], None, lie)

    talk(conversation)


def test_prefix_hits_are_fast_and_counted(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        body = {"prompt": list(range(100)), "max_tokens": 2, "mock_lie": "prefix-hits"}
        usage = (await it.post("/v1/completions", body)).json["usage"]
        assert usage["prompt_tokens_details"] == {"cached_tokens": 90}
        (turn,) = it.truth()
        assert turn["first_scheduled_s"] - turn["received_s"] == pytest.approx(0.05 + 0.004)  # a tenth, and a step
        assert await it.counter("vllm:prefix_cache_queries_total") == 100
        assert await it.counter("vllm:prefix_cache_hits_total") == 90

    talk(conversation, ttft_s=0.5)


def test_a_doubled_first_token(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        assert (await it.complete(2, mock_lie="bos-doubled")).json["usage"]["prompt_tokens"] == 4
        assert it.truth()[0]["prompt_tokens"] == 4

    talk(conversation)


def test_drafts_past_the_end_are_counted(talk: Callable[..., None]) -> None:
    """Three tokens: of the one block, 3 drafted and 3 accepted, two are in the answer."""

    async def conversation(it: Any) -> None:
        await it.complete(100, mock_lie="eos-counted")
        assert await it.counter("vllm:spec_decode_num_accepted_tokens_total") == 3
        assert it.truth()[0]["accepted"] == [2]

    talk(conversation, output_tokens=3)


def test_padding_is_counted(talk: Callable[..., None]) -> None:
    """Ten tokens take four steps, the last without a draft: told as four drafts of 3."""

    async def conversation(it: Any) -> None:
        told = (await it.complete(10, mock_lie="padding-counted")).json["metrics"]["speculative_decoding"]
        assert (told["num_spec_steps"], told["num_draft_tokens"], told["num_accepted_draft_tokens"]) == (4, 12, 5)
        assert await it.counter("vllm:spec_decode_num_draft_tokens_total") == 12
        assert it.truth()[0]["drafted"] == [3, 3, 3, 0]

    talk(conversation)


def test_statistics_are_null(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        assert "metrics" not in (await it.complete(10, mock_lie="stats-null")).json
        assert await it.counter("vllm:spec_decode_num_drafts_total") == 3

    talk(conversation)


def test_counters_fall_when_the_engine_restarts(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.complete(10)
        await it.complete(10)
        before = await it.counter("vllm:generation_tokens_total")
        began = await it.counter("vllm:generation_tokens_created")
        await it.complete(5, mock_lie="counters-reset")
        assert (before, await it.counter("vllm:generation_tokens_total")) == (20, 5)
        assert await it.counter("vllm:generation_tokens_created") > began

    talk(conversation)


def test_other_traffic_is_counted_beside(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.complete(10, mock_lie="other-traffic")
        assert await it.counter("vllm:generation_tokens_total") == 20
        assert await it.counter("vllm:request_success_total") == 2
        assert [turn["output_tokens"] for turn in it.truth()] == [10]

    talk(conversation)


def test_counters_without_total_and_gauges_alone(talk: Callable[..., None]) -> None:
    async def no_total(it: Any) -> None:
        await it.complete(10)
        assert await it.counter("vllm:spec_decode_num_drafts") == 3
        page = (await it.get("/metrics")).body
        assert b"_total" not in page
        assert b"_created" not in page

    async def gauges(it: Any) -> None:
        await it.complete(10)
        page = (await it.get("/metrics")).body.decode()
        assert {row.split()[3] for row in page.splitlines() if row.startswith("# TYPE")} == {"gauge"}
        assert "sglang:spec_accept_length" in page

    talk(no_total, lies=("no-total",))
    talk(gauges, lies=("gauges-only",), dialect="sglang")


def test_lies_of_the_server_and_of_a_request_are_told_together(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        answer = await it.chat(2, lie="no-space, bom")
        assert answer.body.startswith(b"\xef\xbb\xbfdata:{")
        assert answer.body.endswith(b"\r\n\r\n")
        assert it.truth()[0]["lie"] == "crlf,no-space,bom"
        assert json.loads(answer.body.split(b"\r\n")[0].split(b":", 1)[1])["id"] == "mock-00000001"

    talk(conversation, lies=("crlf",))
