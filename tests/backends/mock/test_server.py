"""The server asked by aiohttp's client: what is told, what is true, and that both agree."""

import asyncio
import json
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.mock import MockServer, MockSettings, mock_process


def test_a_chat_stream_and_its_truth(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(10)).events
        texts = [event["choices"][0]["delta"].get("content", "") for event in events if event["choices"]]
        assert texts == ["", "tok0", " tok1 tok2 tok3 tok4", " tok5", " tok6 tok7 tok8", " tok9"]
        # three for the message, two words, one for the beginning
        assert events[-1]["usage"] == {"prompt_tokens": 6, "completion_tokens": 10, "total_tokens": 16}
        (turn,) = it.truth()
        assert [chunk["tokens"] for chunk in turn["chunks"]] == [1, 4, 1, 3, 1]
        assert (turn["drafted"], turn["accepted"]) == ([3, 3, 3, 0], [3, 0, 2, 0])
        assert (turn["output_tokens"], turn["prompt_tokens"], turn["finish_reason"]) == (10, 6, "length")
        assert turn["lie"] is None
        assert {event["id"] for event in events} == {turn["id"]}

    talk(conversation)


def test_the_truth_is_served_and_cleared(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.chat(10)
        told = (await it.get("/truth")).json
        assert told == it.server.truth.as_json()
        assert set(told["requests"][0]["chunks"][0]) == {"scheduled_s", "written_s", "tokens"}
        async with it._session.delete(it.server.url + "/truth"):
            pass
        assert (await it.get("/truth")).json == {"requests": [], "max_in_flight": 0}

    talk(conversation)


def test_moments_are_on_the_clock_of_the_machine_and_never_early(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        before_s = time.perf_counter()
        await it.chat(10)
        after_s = time.perf_counter()
        (turn,) = it.truth()
        chunks = turn["chunks"]
        assert before_s <= turn["received_s"] <= chunks[0]["written_s"] <= chunks[-1]["written_s"] <= after_s
        assert turn["first_scheduled_s"] == chunks[0]["scheduled_s"] == pytest.approx(turn["received_s"] + 0.02)
        assert [chunk["scheduled_s"] - turn["received_s"] for chunk in chunks] == pytest.approx(
            [0.02, 0.024, 0.028, 0.032, 0.036]
        )
        assert all(chunk["written_s"] >= chunk["scheduled_s"] for chunk in chunks)

    talk(conversation)


def test_an_answer_that_is_no_stream(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        whole = (await it.complete(5)).json
        assert whole["choices"][0]["text"] == "tok0 tok1 tok2 tok3 tok4"
        assert whole["usage"] == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
        chat = (await it.chat(5, stream=False, stream_options=None)).json
        assert chat["choices"][0]["message"] == {"role": "assistant", "content": "tok0 tok1 tok2 tok3 tok4"}
        assert [turn["output_tokens"] for turn in it.truth()] == [5, 5]

    talk(conversation)


def test_requests_that_differ_in_their_prompt_alone_have_usages_of_their_own(talk: Callable[..., None]) -> None:
    """Prompts of 2 and 5 ids, asked in turn; also where the answer is one chunk."""

    async def conversation(it: Any) -> None:
        for tokens in (1, 10):
            streams = []
            for prompt in ([1, 2], [1, 2, 3, 4, 5], [1, 2]):
                body = {
                    "prompt": prompt,
                    "max_tokens": tokens,
                    "stream": True,
                    "stream_options": {"include_usage": True},
                }
                streams.append((await it.post("/v1/completions", body)).events)
            assert [events[-1]["usage"]["prompt_tokens"] for events in streams] == [2, 5, 2]
            assert {events[-1]["usage"]["completion_tokens"] for events in streams} == {tokens}
            assert {len(events) for events in streams} == {len(streams[0])}
            assert all(len({event["id"] for event in events}) == 1 for events in streams)
        assert [turn["prompt_tokens"] for turn in it.truth()] == [2, 5, 2] * 2
        assert [turn["output_tokens"] for turn in it.truth()] == [1, 1, 1, 10, 10, 10]

    for dialect in ("openai", "vllm", "llamacpp"):
        talk(conversation, dialect=dialect)


def test_many_at_once_are_all_in_flight(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await asyncio.gather(*(it.chat(4) for _ in range(50)))
        assert it.server.truth.max_in_flight == 50
        assert [turn["output_tokens"] for turn in it.truth()] == [4] * 50

    talk(conversation, ttft_s=5)


def test_counters_are_the_sum_of_the_truth(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await asyncio.gather(*(it.chat(tokens) for tokens in (1, 2, 10, 33, 64)))
        turns = it.truth()
        drafted = [count for turn in turns for count in turn["drafted"] if count]
        accepted = [count for turn in turns for count in turn["accepted"]]
        assert await it.counter("vllm:spec_decode_num_drafts_total") == len(drafted)
        assert await it.counter("vllm:spec_decode_num_draft_tokens_total") == sum(drafted)
        assert await it.counter("vllm:spec_decode_num_accepted_tokens_total") == sum(accepted)
        assert await it.counter("vllm:spec_decode_num_accepted_tokens_per_pos_total") == sum(accepted)
        assert await it.counter("vllm:generation_tokens_total") == 110
        assert await it.counter("vllm:prompt_tokens_total") == 30

    talk(conversation, engines=2)


def test_a_client_that_leaves_is_counted_as_far_as_it_was_served(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        body = {"prompt": [1], "max_tokens": 1000, "stream": True}
        async with it._session.post(it.server.url + "/v1/completions", json=body) as answer:
            await answer.content.readany()
            answer.close()
        for _ in range(100):
            if it.server.truth.turns[0].ended:
                break
            await asyncio.sleep(0.02)
        (turn,) = it.truth()
        assert 0 < turn["output_tokens"] < 1000
        assert turn["finish_reason"] is None
        assert turn["output_tokens"] == 1 + sum(count + 1 for count in turn["accepted"])
        assert await it.counter("vllm:generation_tokens_total") == turn["output_tokens"]

    talk(conversation)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"prompt": "x", "max_tokens": 0}, "max_tokens of 0"),
        ({"prompt": "x", "n": 2}, "one choice"),
        ({"prompt": ""}, "prompt is neither"),
        ({"prompt": ["a", "b"]}, "prompt is neither"),
        ({"prompt": "x", "mock_lie": "bytewize"}, "did you mean 'bytewise'?"),
        ({"prompt": list(range(100)), "max_tokens": 29}, "maximum context length is 128 tokens"),
    ],
)
def test_what_an_engine_would_refuse_is_refused(talk: Callable[..., None], body: dict[str, Any], says: str) -> None:
    async def conversation(it: Any) -> None:
        refused = await it.post("/v1/completions", body)
        assert refused.status == 400
        assert says in refused.json["error"]["message"]

    talk(conversation, max_model_len=128)


def test_the_edge_of_the_context_is_taken(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        assert (await it.post("/v1/completions", {"prompt": list(range(100)), "max_tokens": 28})).status == 200

    talk(conversation, max_model_len=128, step_s=0.0)


def test_a_body_that_is_no_json_and_a_page_that_is_not() -> None:
    async def conversation() -> None:
        import aiohttp

        async with MockServer(MockSettings()) as server, aiohttp.ClientSession() as session:
            async with session.post(server.url + "/v1/completions", data=b"{") as refused:
                assert refused.status == 400
            async with session.get(server.url + "/nowhere") as missing:
                assert missing.status == 404

    asyncio.run(conversation())


def test_a_port_that_is_taken_is_named() -> None:
    async def both() -> None:
        async with MockServer(MockSettings()) as first:
            port = int(first.url.rsplit(":", 1)[1])
            with pytest.raises(BackendError, match=f"port {port}"):
                async with MockServer(MockSettings(port=port)):
                    pass

    asyncio.run(both())


def test_a_server_in_a_process_of_its_own_answers_and_ends() -> None:
    me = psutil.Process()
    before = {child.pid for child in me.children()}
    with mock_process(MockSettings(dialect="openai", ttft_s=0.0)) as url:
        (child,) = [child for child in me.children() if child.pid not in before]
        with urllib.request.urlopen(url + "/v1/models") as answer:  # noqa: S310 - the loopback
            assert json.load(answer)["data"][0]["id"] == "mock-model"
        assert child.is_running()
    assert not psutil.pid_exists(child.pid)


def test_the_child_ends_when_its_parent_is_killed() -> None:
    import subprocess
    import sys

    script = (
        "import psutil, time\n"
        "from draftmark.backends.mock import MockSettings, mock_process\n"
        "with mock_process(MockSettings()):\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        gone, _ = psutil.wait_procs([child], timeout=20)
    assert gone or not psutil.pid_exists(child.pid)


def test_a_process_that_cannot_listen_says_why() -> None:
    with mock_process(MockSettings()) as url:
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(BackendError, match=f"port {port}"), mock_process(MockSettings(port=port)):
            pass
