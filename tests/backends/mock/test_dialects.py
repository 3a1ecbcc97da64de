"""Each engine's shapes, as the dialects' modules cite them. Ten tokens: drafted 3, 3, 3 and none."""

from collections.abc import Callable
from typing import Any

import pytest


def test_vllm_statistics_ride_on_the_usage_chunk(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        last = (await it.chat(10)).events[-1]
        assert last["choices"] == []
        assert last["metrics"]["speculative_decoding"] == {
            "mean_acceptance_length": pytest.approx(1 + 5 / 3),
            "draft_acceptance_rate": pytest.approx(5 / 9),
            "acceptance_histogram": [1, 0, 1, 1],
            "num_spec_steps": 3,
            "num_accepted_draft_tokens": 5,
            "num_draft_tokens": 9,
            "num_spec_tokens": 3,
            "per_step_accepted": [3, 0, 2],
            "per_step_drafted": [3, 3, 3],
        }
        plain = (await it.chat(10, stream_options=None)).events
        assert not any("metrics" in event or "usage" in event for event in plain)

    talk(conversation)


def test_vllm_summary_has_no_steps_and_none_has_nothing(talk: Callable[..., None]) -> None:
    async def summary(it: Any) -> None:
        told = (await it.complete(10)).json["metrics"]["speculative_decoding"]
        assert told["num_spec_steps"] == 3
        assert "per_step_accepted" not in told

    async def none(it: Any) -> None:
        assert "metrics" not in (await it.complete(10)).json

    talk(summary, per_request="summary")
    talk(none, per_request="none")
    talk(none, draft_length=0, accepted_cycle=())


def test_vllm_statistics_are_gone_after_a_stop_string(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        whole = (await it.complete(10, stop=["tok4"])).json
        assert "metrics" not in whole
        assert (whole["choices"][0]["finish_reason"], whole["choices"][0]["stop_reason"]) == ("stop", "tok4")

    talk(conversation)


def test_vllm_pages(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.chat(10)
        assert await it.counter("vllm:spec_decode_num_drafts_total") == 3
        page = (await it.get("/metrics")).body.decode()
        rows = [
            row for row in page.splitlines() if row.startswith("vllm:spec_decode_num_accepted_tokens_per_pos_total")
        ]
        assert [row.rsplit(" ", 1)[1] for row in rows if 'engine="0"' in row] == ["2.0", "2.0", "1.0"]
        assert [row.rsplit(" ", 1)[1] for row in rows if 'engine="1"' in row] == ["0.0", "0.0", "0.0"]
        assert 'vllm:spec_decode_num_drafts_created{engine="1",model_name="org/we\\"ird, name}"}' in page
        assert (await it.get("/v1/models")).json["data"][0]["max_model_len"] == 32768
        assert (await it.get("/version")).json == {"version": "0.32.0"}
        assert (await it.get("/health")).status == 200

    talk(conversation, engines=2, model='org/we"ird, name}')


def test_vllm_token_ids_of_each_delta(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.complete(6, stream=True, return_token_ids=True)).events
        assert [event["choices"][0]["token_ids"] for event in events] == [[1000], [1001, 1002, 1003, 1004], [1005]]

    talk(conversation)


def test_openai_finishes_in_a_chunk_of_its_own_and_says_null_usage_before(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(1)).events
        reasons = [event["choices"][0]["finish_reason"] for event in events if event["choices"]]
        assert reasons == [None, None, "length"]
        assert events[-2]["choices"][0]["delta"] == {}
        assert [event["usage"] for event in events[:-1]] == [None, None, None]
        assert events[-1]["usage"]["completion_tokens"] == 1
        assert (await it.get("/metrics")).status == 404

    talk(conversation, dialect="openai")


def test_thinking_has_the_engine_s_key(talk: Callable[..., None]) -> None:
    def expects(key: str) -> Callable[[Any], Any]:
        async def conversation(it: Any) -> None:
            deltas = [event["choices"][0]["delta"] for event in (await it.chat(10)).events if event["choices"]]
            # the thinking ends inside the second chunk, of four tokens
            assert deltas[1:3] == [{key: "tok0"}, {key: " tok1 tok2", "content": " tok3 tok4"}]
            usage = (await it.chat(10)).events[-1]["usage"]
            assert usage["completion_tokens_details"] == {"reasoning_tokens": 3}

        return conversation

    talk(expects("reasoning"), dialect="vllm", reasoning_tokens=3)
    talk(expects("reasoning_content"), dialect="openai", reasoning_tokens=3)


def test_sglang_generates_the_text_so_far(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        body = {"input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 10}, "stream": True}
        events = (await it.post("/generate", body)).events
        assert [event["meta_info"]["completion_tokens"] for event in events] == [1, 5, 6, 9, 10]
        assert events[1]["text"] == "tok0 tok1 tok2 tok3 tok4"
        meta = events[-1]["meta_info"]
        assert meta["finish_reason"] == {"type": "length", "length": 10}
        # four verify steps, the last without a draft; proposed is by the configured width
        assert (meta["spec_verify_ct"], meta["spec_num_correct_drafts"], meta["spec_num_proposed_drafts"]) == (4, 5, 12)
        assert meta["spec_correct_drafts_histogram"] == [2, 0, 1, 1]
        assert meta["spec_accept_length"] == pytest.approx(10 / 4)

    talk(conversation, dialect="sglang")


def test_sglang_details_come_before_the_usage_where_asked_for(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        events = (await it.chat(10, return_spec_tokens_details=True)).events
        assert events[-2]["choices"] == []
        assert events[-2]["sglext"]["spec_tokens_details"]["spec_verify_ct"] == 4
        assert "sglext" not in str((await it.chat(10)).events)
        whole = (await it.complete(10, return_spec_tokens_details=True)).json
        assert whole["sglext"]["spec_tokens_details"]["spec_num_correct_drafts"] == 5

    talk(conversation, dialect="sglang")


def test_sglang_pages(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        await it.complete(10)
        await it.complete(1)
        info = (await it.get("/server_info")).json
        assert info["internal_states"][0]["avg_spec_accept_length"] == pytest.approx(11 / 4)
        assert (await it.get("/get_server_info")).json == info
        assert await it.counter("sglang:generation_tokens_total") == 11
        assert await it.counter("sglang:spec_verify_calls_total") == 4
        assert await it.counter("sglang:spec_accept_length") == 0  # the last interval had no step
        assert (await it.post("/flush_cache", {})).status == 200

    talk(conversation, dialect="sglang")


def test_trtllm_iterations_are_drained_and_their_sum_is_the_truth(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        choice = (await it.complete(10)).json["choices"][0]
        assert choice["avg_decoded_tokens_per_iter"] == pytest.approx(10 / 5)
        listed = (await it.get("/metrics")).json
        stats = [item["specDecodingStats"] for item in listed]
        assert [item["numDraftTokens"] for item in stats] == [0, 3, 3, 3, 0]
        assert [item["numAcceptedTokens"] for item in stats] == [0, 3, 0, 2, 0]
        assert [item["numRequestsWithDraftTokens"] for item in stats] == [0, 1, 1, 1, 0]
        assert [item["inflightBatchingStats"]["numContextRequests"] for item in listed] == [1, 0, 0, 0, 0]
        assert listed[1]["iterLatencyMS"] == pytest.approx(2 * listed[1]["hostStepTimeMS"])
        assert (await it.get("/metrics")).json == []
        path = "/prometheus/metrics"
        assert await it.counter("trtllm_spec_decode_num_draft_tokens_total", path) == 9
        assert await it.counter("trtllm_spec_decode_num_accepted_tokens_total", path) == 5

    talk(conversation, dialect="trtllm")


def test_llamacpp_timings(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        timings = (await it.complete(10)).json["timings"]
        assert (timings["prompt_n"], timings["predicted_n"]) == (3, 10)
        assert (timings["draft_n"], timings["draft_n_accepted"]) == (9, 5)
        assert (timings["prompt_ms"], timings["predicted_ms"]) == pytest.approx((20.0, 16.0))
        with_usage = (await it.chat(10)).events
        assert ["timings" in event for event in with_usage].index(True) == len(with_usage) - 1
        without = (await it.chat(10, stream_options=None)).events
        assert without[-1]["timings"]["draft_n"] == 9
        each = (await it.chat(10, timings_per_token=True)).events
        # after the first token, a step of four and one of one, nothing, three and six are drafted
        assert [event["timings"].get("draft_n") for event in each[1:4]] == [None, 3, 6]
        assert await it.counter("llamacpp:spec_decode_num_drafts_total") == 12  # three in each of four answers
        assert await it.counter("llamacpp:spec_decode_num_draft_tokens_total") == 36
        assert await it.counter("llamacpp:spec_decode_num_accepted_tokens_total") == 20
        assert await it.counter("llamacpp:spec_decode_num_accepted_tokens_per_pos_total") == 20

    talk(conversation, dialect="llamacpp")


def test_llamacpp_without_drafts_says_nothing_of_them(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        assert "draft_n" not in (await it.complete(3)).json["timings"]

    talk(conversation, dialect="llamacpp", draft_length=0, accepted_cycle=())


def test_llamacpp_is_not_ready_while_it_loads(talk: Callable[..., None]) -> None:
    async def conversation(it: Any) -> None:
        health = await it.get("/health")
        assert (health.status, health.json["error"]["type"]) == (503, "unavailable_error")
        assert (await it.complete(3)).status == 503
        it.server._state.started_s -= 100
        assert (await it.get("/health")).json == {"status": "ok"}
        assert (await it.get("/props")).json["default_generation_settings"]["n_ctx"] == 32768
        assert (await it.complete(3)).status == 200

    talk(conversation, dialect="llamacpp", loading_s=50.0)
