"""One server behind the backend protocol, against a mock whose truth is known and that speaks the real protocols."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError, TurnRequest
from draftmark.backends.http.backend import HttpBackend, HttpSettings, drafting_problem, shown_url
from draftmark.backends.mock import MockSettings, mock_process
from draftmark.results.records import Arm, Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.records import Observation

NGRAM = Arm(drafter="ngram", draft_length=3)
NONE = Arm(drafter="none", draft_length=0)
CYCLE = (3, 0, 2)


@pytest.fixture(scope="module")
def drafting() -> Iterator[str]:
    """A server with D = 3 whose steps accept 3, 0, 2, 3, 0, 2, ... drafts."""
    with mock_process(MockSettings(ttft_s=0.01, step_s=0.002, draft_length=3, accepted_cycle=CYCLE)) as url:
        yield url


def backend(url: str, **told: Any) -> HttpBackend:
    return HttpBackend(HttpSettings(base_url=url, model="mock-model", **told))


def ask(asked: HttpBackend, arm: Arm, request: TurnRequest, times: int = 1) -> list[Observation]:
    async def all_at_once() -> list[Observation]:
        return await asyncio.gather(*(asked.generate(arm, request) for _ in range(times)))

    try:
        return asyncio.run(all_at_once())
    finally:
        asked.stop()


def turn(tokens: int, *, ids: tuple[int, ...] | None = (5, 6, 7), at_once: int = 1) -> TurnRequest:
    sampling = Sampling(max_tokens=tokens, ignore_eos=True)
    return TurnRequest(ids, sampling, 1, at_once=at_once, messages=({"role": "user", "content": "say it"},))


def truth(url: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{url}/truth") as answer:  # noqa: S310 - a server of our own on the loopback
        return json.load(answer)["requests"]  # type: ignore[no-any-return]


def test_what_a_server_is_comes_from_itself(drafting: str) -> None:
    asked = backend(drafting + "/v1")
    asked.start([NGRAM])
    told = asked.resolved(NGRAM)
    assert told["dialect"] == "vllm"
    assert told["served_model"] == "mock-model"
    assert told["context_limit"] == 32768


@pytest.mark.parametrize("ids", [(5, 6, 7), None])
def test_steps_tokens_and_counters_are_those_of_the_server(drafting: str, ids: tuple[int, ...] | None) -> None:
    """13 tokens: the first, then steps of 1 + 3, 1 + 0, 1 + 2 and 1 + 3 tokens."""
    asked = backend(drafting)
    asked.start([NGRAM])
    before = asked.counters()
    (seen,) = ask(asked, NGRAM, turn(13, ids=ids))
    after = asked.counters()
    assert seen.status == "ok"
    assert (seen.output_tokens, seen.token_source, seen.finish_reason) == (13, "ids", "length")
    assert seen.steps is not None
    assert list(seen.steps.accepted) == [3, 0, 2, 3]
    assert list(seen.steps.delivered) == [4, 1, 3, 4]
    assert before is not None
    assert after is not None
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown["output_tokens"] == 13
    assert (grown["drafting_steps"], grown["drafted_tokens"], grown["accepted_tokens"]) == (4, 12, 8)
    assert [grown[f"accepted_tokens[{k}]"] for k in (1, 2, 3)] == [3, 3, 2]


def test_chunks_are_those_that_were_written(drafting: str) -> None:
    asked = backend(drafting)
    asked.start([NGRAM])
    (seen,) = ask(asked, NGRAM, turn(13))
    told = truth(drafting)[-1]
    assert sum(tokens or 0 for tokens in seen.chunk_tokens) == 13
    due = [chunk["scheduled_s"] for chunk in told["chunks"] if chunk["tokens"]]
    assert len(seen.chunk_s) <= len(due)
    assert seen.sent_s is not None
    assert seen.sent_s <= told["received_s"]
    assert seen.chunk_s[0] >= due[0]
    assert seen.chunk_s[-1] >= due[-1]


def test_many_streams_come_through_client_processes_whole(drafting: str) -> None:
    asked = backend(drafting)
    asked.start([NGRAM])
    seen = ask(asked, NGRAM, turn(9, at_once=64), times=64)
    assert [one.status for one in seen] == ["ok"] * 64
    assert [one.output_tokens for one in seen] == [9] * 64


def test_a_server_that_drafts_otherwise_than_the_plan_says_is_refused(drafting: str) -> None:
    ask(backend(drafting), NGRAM, turn(9))  # positions show once a step has drafted
    with pytest.raises(BackendError, match=r"drafts up to 3 tokens, and the plan says ngram D=5; set draft_length: 3"):
        backend(drafting).start([Arm(drafter="ngram", draft_length=5)])
    with pytest.raises(BackendError, match="drafts up to 3 tokens, and the plan says none"):
        backend(drafting).start([NONE])


def test_nothing_listens(unused_port: int) -> None:
    with pytest.raises(BackendError, match=f"no server answers at http://127.0.0.1:{unused_port}"):
        backend(f"http://127.0.0.1:{unused_port}").start([NONE])


def test_a_key_that_the_server_repeats_is_in_no_record() -> None:
    key = "canary-7f3a91"
    with mock_process(MockSettings(lies=("auth-echo",))) as url:
        headers = {"Authorization": f"Bearer {key}"}
        asked = backend(url, dialect="vllm", headers=headers, secrets=(key,))
        (seen,) = ask(asked, NONE, turn(5))
    assert seen.failure is not None
    assert seen.failure.kind == "unauthorized"
    assert key not in seen.model_dump_json()


@pytest.mark.parametrize(
    ("told", "arm", "problem"),
    [
        (None, NGRAM, None),
        (3, NGRAM, None),
        (0, NONE, None),
        (0, NGRAM, "it does not speculate, and the plan says ngram D=3"),
    ],
)
def test_what_a_server_tells_of_d_is_held_against_the_plan(told: int | None, arm: Arm, problem: str | None) -> None:
    assert drafting_problem(arm, told) == problem


def test_a_shown_url_holds_no_key() -> None:
    assert shown_url("http://user:key@h:1/v1?key=k") == "http://h:1/v1"


def looked_at(http: Any, answer: bytes, **told: Any) -> dict[str, Any]:
    """What a server is found to be that answers every GET so."""

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(answer)

    async def go() -> dict[str, Any]:
        async with http.serving(script) as server:
            return await asyncio.to_thread(backend(f"http://127.0.0.1:{server.port}", **told).look)

    return asyncio.run(go())


def whole(status: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            whole("302 Found", location="http://joe:canary-7f3a91@other:81/login?key=canary-7f3a91"),
            "HTTP 302: it redirects to http://other:81/login, and redirects are not followed",
        ),
        (whole("500 Oops", b"boom"), "HTTP 500: boom"),
        (whole("503 Wait", b'{"error": {"message": "loading"}}'), "HTTP 503: loading"),
        (
            whole("200 OK", b"<html>hello</html>", content_type="text/html"),
            r"HTTP 200: the answer \(text/html\) is no JSON",
        ),
        (whole("200 OK", b"\xff\xfe"), r"HTTP 200: the answer \(no content type\) is no JSON"),
        (whole("200 OK", b"[" * 200_000, content_type="x/canary-7f3a91"), r"\(x/\[redacted\]\) is no JSON"),
        (whole("200 OK", b"\x1f\x8b", content_encoding="gzip"), r"compressed \(Content-Encoding: gzip\)"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", "it does not end: the connection was closed before"),
    ],
)
def test_what_answers_as_no_such_server_does_is_named_without_keys(http: Any, answer: bytes, said: str) -> None:
    with pytest.raises(BackendError, match=said) as raised:
        looked_at(http, answer, secrets=("canary-7f3a91",))
    assert "canary" not in str(raised.value)
    assert "gives no list of models: /v1/models" in str(raised.value)


@pytest.mark.parametrize("status", ["404 Not Found", "405 No", "501 No"])
def test_a_server_without_a_list_of_models_can_be_measured(http: Any, status: str) -> None:
    assert looked_at(http, whole(status, b"no")) == {"dialect": "openai"}


def test_what_a_server_says_of_itself_is_kept_without_keys(http: Any) -> None:
    models = json.dumps({"data": [{"id": "a canary-7f3a91 \ud800\x1b[31m"}]}).encode()
    told = looked_at(http, whole("200 OK", models), secrets=("canary-7f3a91",))
    assert told["served_model"] == "a [redacted] \ufffd [31m"


def test_ids_count_the_tokens_of_a_server_whose_usage_is_wrong() -> None:
    """13 tokens in steps of 3, 0, 2 and 3 accepted drafts; the usage says 26."""
    settings = MockSettings(ttft_s=0.01, step_s=0.002, draft_length=3, accepted_cycle=CYCLE, lies=("usage-wrong",))
    with mock_process(settings) as url:
        asked = backend(url)
        asked.start([NGRAM])
        (seen,) = ask(asked, NGRAM, turn(13))
    assert (seen.status, seen.output_tokens, seen.token_source) == ("ok", 13, "ids")
    assert len(seen.output_ids or ()) == 13
    assert seen.details["counted_tokens"] == 26
    assert seen.steps is not None
    assert (list(seen.steps.accepted), list(seen.steps.delivered)) == ([3, 0, 2, 3], [4, 1, 3, 4])
    assert seen.finish_reason == "length"


def test_more_tokens_than_were_asked_for_give_no_steps_and_fill_no_memory(http: Any) -> None:
    """2^31 - 1 tokens of a server without drafts would be as many steps."""
    events = (
        {"choices": [{"index": 0, "text": "a", "finish_reason": "length"}], "timings": {"predicted_n": 2**31 - 1}},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2**31 - 1}},
    )
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events) + b"data: [DONE]\n\n"

    async def script(peer: Any) -> None:
        await peer.request()
        await peer.send(whole("200 OK", body))

    async def go() -> Observation:
        async with http.serving(script) as server:
            asked = backend(f"http://127.0.0.1:{server.port}", dialect="llamacpp")
            return await asked.generate(NGRAM, turn(16))

    seen = asyncio.run(go())
    assert (seen.status, seen.output_tokens, seen.steps) == ("ok", 2**31 - 1, None)
    assert "more than the 16 asked for" in seen.details["acceptance_unknown"]
