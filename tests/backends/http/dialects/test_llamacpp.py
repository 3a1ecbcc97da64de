"""llama.cpp's timings and counters.

Timings follow `result_timings::to_json` (tools/server/server-task.cpp: draft_* only where something was drafted),
counters `server_task_result_metrics` there. The log lines are of build 11434 at verbosity 4, of docs/speculative.md and
of logs that users of llama-server published in 2026.
"""

from __future__ import annotations

from typing import Any

import pytest

from draftmark.backends.http.answer import Answer
from draftmark.backends.http.dialects import dialect_of
from draftmark.backends.http.dialects.llamacpp import drafting_s
from draftmark.results.records import ReportedCounts

LLAMACPP = dialect_of("llamacpp")
TIMINGS = {"cache_n": 236, "prompt_n": 1, "prompt_ms": 30.9, "predicted_n": 4, "predicted_ms": 661.0}


def answer(timings: dict[str, Any] | None, tokens: int | None = 4) -> Answer:
    last: dict[str, Any] = {"choices": [], "usage": {"completion_tokens": tokens}}
    if timings is not None:
        last["timings"] = timings
    return Answer(output_tokens=tokens, raw=[last])


def test_drafts_without_their_steps_give_no_steps() -> None:
    found = LLAMACPP.acceptance(answer(TIMINGS | {"draft_n": 6, "draft_n_accepted": 2}), drafts=True)
    assert (found.steps, found.reported) == (None, None)
    assert found.details == {"cached_prompt_tokens": 236, "draft_n": 6, "draft_n_accepted": 2}
    assert "no steps" in found.reasons[0]


def test_an_answer_without_drafts_has_plain_steps() -> None:
    found = LLAMACPP.acceptance(answer(TIMINGS), drafts=True)
    assert found.steps is not None
    assert (found.steps.drafted, found.steps.delivered) == ([0, 0, 0], [1, 1, 1])
    assert found.reported == ReportedCounts(drafting_steps=0, drafted=0, accepted=0)


def test_without_timings_or_tokens_nothing_is_known() -> None:
    assert LLAMACPP.acceptance(answer(None), drafts=True).reasons == ("the answer has no timings",)
    assert LLAMACPP.acceptance(answer(TIMINGS, None), drafts=True).steps is None


def test_the_cache_is_told_for_the_baseline_too() -> None:
    assert LLAMACPP.acceptance(answer(TIMINGS), drafts=False).details == {"cached_prompt_tokens": 236}


def test_counters_have_the_names_of_the_protocol() -> None:
    text = (
        "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total 40\n"
        "llamacpp:prompt_tokens_cached_total 60\nllamacpp:tokens_predicted_total 30\n"
        "llamacpp:tokens_predicted_seconds_total 1.5\nllamacpp:spec_decode_num_drafts_total 8\n"
        "llamacpp:spec_decode_num_draft_tokens_total 24\nllamacpp:spec_decode_num_accepted_tokens_total 10\n"
        'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 6\n'
        'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 4\n'
    )
    assert LLAMACPP.counters(text.encode()) == {
        "prompt_tokens": 100.0,
        "cached_prompt_tokens": 60.0,
        "output_tokens": 30.0,
        "drafting_steps": 8.0,
        "drafted_tokens": 24.0,
        "accepted_tokens": 10.0,
        "accepted_tokens[1]": 6.0,
        "accepted_tokens[2]": 4.0,
    }


def test_a_build_that_does_not_count_the_cache_does_not_tell_the_prompt_tokens() -> None:
    found = LLAMACPP.counters(b"llamacpp:prompt_tokens_total 40\n")
    assert found == {"llamacpp:prompt_tokens": 40.0}


def test_what_the_server_runs_with() -> None:
    # GET /props and GET /v1/models of tools/server/README.md.
    info = {
        "/props": {
            "build_info": "b11434-abc",
            "total_slots": 4,
            "default_generation_settings": {
                "n_ctx": 4096,
                "params": {"speculative.n_max": 3, "speculative.types": "draft-simple"},
            },
        },
        "/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
    }
    assert LLAMACPP.resolved(info) == {
        "served_model": "m",
        "llama.cpp": "b11434-abc",
        "slots": 4,
        "context_limit": 4096,
        "draft_length": 3,
        "method": "draft-simple",
    }


SIMPLE = (
    "0.02.168.828 I spec common_specu: statistics     ngram-simple: #calls(b,g,a) =    1     14      1, "
    "#gen drafts =      1, #acc drafts =     0, #gen tokens =      3, #acc tokens =     0, #mean acc len = 1.00, "
    "#acc rate/pos = (), dur(b,g,a) = 0.001, 0.035, 0.000 ms\n"
)
MOD = (
    "statistics ngram_mod: #calls = 810, #gen drafts = 15, #acc drafts = 15, #gen tokens = 960, "
    "#acc tokens = 730, dur(b,g,a) = 0.149, 0.347, 0.005 ms\n"
)
MTP = (
    "0.31.456.725 I spec common_specu: statistics        draft-mtp: #calls(b,g,a) =    1    213    213, "
    "#gen drafts =    213, #acc drafts =   170, #gen tokens =    426, #acc tokens =   297, "
    "#mean acc len = 2.39, #acc rate/pos = (0.798, 0.596), dur(b,g,a) = 0.005, 1122.769, 0.517 ms\n"
)


@pytest.mark.parametrize(
    ("log", "milliseconds"),
    [
        (SIMPLE, 0.035),
        (MOD, 0.347 + 0.005),
        (MTP, 1122.769 + 0.517),
        (
            MTP + "slot release\n" + MTP.replace("1122.769", "2000.000"),
            2000.517,
        ),  # sums since the start: the last counts
        (SIMPLE + MTP, 0.035 + 1123.286),
    ],
    ids=["ngram", "calls in one number", "with rates", "twice", "two drafters"],
)
def test_the_log_tells_how_long_the_drafters_worked(log: str, milliseconds: float) -> None:
    assert drafting_s(log) == pytest.approx(milliseconds / 1000)


@pytest.mark.parametrize(
    "log",
    [
        "",
        "draft acceptance rate = 0.57576 (  171 accepted /   297 generated)\n",
        "statistics ngram_simple: #calls = 15, #gen drafts = 5, #acc drafts = 5, #gen tokens = 187\n",
        "dur(b,g,a) = 1, 2, 3 ms\n",
    ],
    ids=["empty", "another line", "a build without times", "of nothing"],
)
def test_a_log_without_times_tells_none(log: str) -> None:
    assert drafting_s(log) is None
