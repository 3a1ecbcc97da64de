"""SGLang's counts per request, shaped as its sources of late 2026 write them.

The chunk follows srt/entrypoints/openai/serving_completions.py (`sglext` in a chunk whose `choices` are empty), its
fields `spec_tokens_details_from_meta_info` (srt/entrypoints/openai/utils.py); that proposed drafts are the configured
width times the verify steps is `fill_spec_decoding_meta` (srt/managers/tokenizer_manager_components).
"""

from __future__ import annotations

from typing import Any

import pytest

from draftmark.backends.http.answer import Answer
from draftmark.backends.http.dialects import dialect_of
from draftmark.results.records import ReportedCounts

SGLANG = dialect_of("sglang")
# 11 tokens: one from prefill, 4 verify steps that accepted 0, 1, 2 and 3 drafts and gave 10.
DETAILS = {
    "spec_accept_rate": 0.5,
    "spec_accept_length": 11 / 4,
    "spec_num_correct_drafts": 6,
    "spec_num_proposed_drafts": 12,
    "spec_verify_ct": 4,
    "spec_correct_drafts_histogram": [1, 1, 1, 1],
    "spec_cap_lens_histogram": [],
}
CHAIN = {"draft_length": 3}


def answer(details: Any, tokens: int | None = 11) -> Answer:
    extension = {"choices": [], "sglext": {"spec_tokens_details": details}}
    usage = {"choices": [], "usage": {"completion_tokens": tokens}}
    return Answer(output_tokens=tokens, raw=[{"choices": [{"index": 0}]}, extension, usage])


def test_a_chain_of_fixed_length_gives_the_steps() -> None:
    found = SGLANG.acceptance(answer(DETAILS), drafts=True, resolved=CHAIN)
    assert found.steps is not None
    assert (found.steps.drafted, found.steps.accepted) == ([3] * 4, [0, 1, 2, 3])
    # (11 - 1) / 4 = 2.5; SGLang's own length, 11 / 4 = 2.75, counts the token of prefill.
    assert sum(found.steps.delivered) / len(found.steps.delivered) == 2.5
    assert found.steps_inferred  # their order is unknown
    assert found.reported == ReportedCounts(drafting_steps=4, drafted=12, accepted=6)
    assert found.details["spec_verify_ct"] == 4


def test_drafts_accepted_past_the_end_of_the_answer_are_cut_off_the_last_step() -> None:
    found = SGLANG.acceptance(answer(DETAILS, tokens=9), drafts=True, resolved=CHAIN)
    assert found.steps is not None
    assert found.steps.delivered == [1, 2, 3, 2]


@pytest.mark.parametrize(
    ("details", "resolved", "words"),
    [
        (DETAILS, {}, "configured width"),
        (DETAILS, {"draft_length": 5}, "12 proposed drafts"),
        (DETAILS | {"spec_verify_ct": None}, CHAIN, "not whole"),
        (DETAILS | {"spec_correct_drafts_histogram": [2, 1, 1, 1]}, CHAIN, "contradict"),
        (DETAILS | {"spec_correct_drafts_histogram": [1, 1, 1, 0, 1]}, CHAIN, "contradict"),
        (DETAILS | {"spec_correct_drafts_histogram": []}, CHAIN, "no histogram"),
        (DETAILS | {"spec_proposed_drafts_histogram": [0, 1, 0, 3]}, CHAIN, "different numbers"),
        ({"spec_verify_ct": 0, "spec_num_correct_drafts": 0}, CHAIN, "verified no draft for 11 tokens"),
        (None, CHAIN, "no spec_tokens_details"),
    ],
)
def test_what_is_not_exact_is_null_with_the_reason(details: Any, resolved: dict[str, Any], words: str) -> None:
    found = SGLANG.acceptance(answer(details), drafts=True, resolved=resolved)
    assert found.steps is None
    assert words in found.reasons[0]


def test_measured_proposals_need_no_settings() -> None:
    # test_decoupled_accept_rate_uses_actual_proposals in SGLang's own tests: 2 steps of one draft, one of them right.
    told = {
        "spec_verify_ct": 2,
        "spec_num_correct_drafts": 1,
        "spec_num_proposed_drafts": 2,
        "spec_proposed_drafts_histogram": [0, 2],
        "spec_correct_drafts_histogram": [1, 1],
    }
    found = SGLANG.acceptance(answer(told, tokens=4), drafts=True)
    assert found.steps is not None
    assert (found.steps.drafted, found.steps.delivered) == ([1, 1], [1, 2])


def test_several_places_hold_the_details() -> None:
    for event in (
        {"choices": [{"index": 0, "meta_info": DETAILS}]},
        {"choices": [], "sglext": {"spec_tokens_details": [DETAILS]}},
        {"meta_info": DETAILS},
    ):
        found = SGLANG.acceptance(Answer(output_tokens=11, raw=[event]), drafts=True, resolved=CHAIN)
        assert found.steps is not None


def settings(**keys: Any) -> dict[str, Any]:
    chain = {
        "version": "0.5.9",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
        "speculative_adaptive": False,
        "tp_size": 2,
    }
    return SGLANG.resolved({"/server_info": chain | keys})


def test_the_draft_length_is_told_for_chains_of_fixed_length_alone() -> None:
    assert settings()["draft_length"] == 3
    assert settings()["method"] == "EAGLE3"
    assert "draft_length" not in settings(speculative_eagle_topk=4, speculative_num_draft_tokens=16)
    assert "draft_length" not in settings(speculative_adaptive=True)
    assert "draft_length" not in settings(speculative_algorithm="NGRAM")
    assert settings(speculative_algorithm=None)["draft_length"] == 0


def test_older_servers_have_another_page() -> None:
    assert SGLANG.resolved({"/get_server_info": {"version": "0.4.9"}})["sglang"] == "0.4.9"


def test_counters_are_tokens_and_verify_calls() -> None:
    # Names: srt/observability/metrics_collector.py; `spec_accept_length` is a gauge of the last interval.
    text = (
        'sglang:generation_tokens_total{model_name="m"} 110\nsglang:spec_verify_calls_total{model_name="m"} 40\n'
        'sglang:prompt_tokens_total{model_name="m"} 70\nsglang:cached_tokens_total{cache_source="device"} 9\n'
        'sglang:cached_tokens_total{cache_source="host"} 2\nsglang:spec_accept_length{model_name="m"} 2.7\n'
    )
    assert SGLANG.counters(text.encode()) == {
        "output_tokens": 110.0,
        "verified_steps": 40.0,
        "prompt_tokens": 70.0,
        "cached_prompt_tokens": 11.0,
    }


def test_the_baseline_is_not_asked_for_drafts() -> None:
    assert "return_spec_tokens_details" not in SGLANG.body({"stream": True}, drafts=False)
    asked = SGLANG.body({"stream": True}, drafts=True)
    assert asked["return_spec_tokens_details"] is True
    assert asked["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (2**50, "are not whole"),
        (2**30, "1073741824 steps are more than one answer has"),
        (2**28, "the histogram does not add up"),
    ],
)
def test_more_steps_than_memory_holds_give_none(steps: int, words: str) -> None:
    told = DETAILS | {"spec_verify_ct": steps, "spec_num_correct_drafts": 0, "spec_correct_drafts_histogram": [steps]}
    found = SGLANG.acceptance(answer(told | {"spec_num_proposed_drafts": None}), drafts=True, resolved=CHAIN)
    assert found.steps is None
    assert words in found.reasons[0]


def test_details_that_are_no_counts_are_not_kept() -> None:
    found = SGLANG.acceptance(answer(DETAILS | {"spec_num_proposed_drafts": 2**70}), drafts=True, resolved=CHAIN)
    assert "spec_num_proposed_drafts" not in found.details
    assert found.details["spec_correct_drafts_histogram"] == [1, 1, 1, 1]
