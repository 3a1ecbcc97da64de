"""TensorRT-LLM's iterations, shaped as `_update_iter_stats` (_torch/pyexecutor/py_executor.py) fills them.

`hostStepTimeMS` is added by executor/base_worker.py, which says that iterLatencyMS is about two loops under the overlap
scheduler; the names of counters are those of metrics/collector.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from draftmark.backends.http.answer import Answer
from draftmark.backends.http.dialects import dialect_of
from draftmark.backends.http.dialects.counting import Counting
from draftmark.backends.http.prometheus import MetricsUnreadable

TRTLLM = dialect_of("trtllm")


def iteration(requests: int, drafted: int, accepted: int, *, draft_ms: float = 0.0, **keys: Any) -> dict[str, Any]:
    return {
        "iter": 1,
        "iterLatencyMS": 20.0,
        "inflightBatchingStats": {"numContextRequests": 0, "numGenRequests": requests},
        "specDecodingStats": {
            "numDraftTokens": drafted,
            "numAcceptedTokens": accepted,
            "numRequestsWithDraftTokens": requests if drafted else 0,
            "acceptanceLength": (accepted + requests) / requests if drafted else 0.0,
            "iterLatencyMS": draft_ms,
            "draftOverhead": draft_ms / 20.0,
        },
        **keys,
    }


# One request with 3 of 3 drafts accepted, then nine requests with none: the mean of 4.0 and 1.0 is 2.5, but
# (3 + 10) / 10 tokens came per step.
UNEVEN = [iteration(1, 3, 3), iteration(9, 27, 0), iteration(2, 0, 0)]


def test_seconds_of_drafting_are_those_of_iterations_that_drafted() -> None:
    stats = [iteration(1, 3, 1, draft_ms=4.0), iteration(1, 3, 1, draft_ms=6.0), iteration(2, 0, 0, draft_ms=99.0)]
    assert TRTLLM.counters(json.dumps(stats).encode(), "/metrics")["drafting_s"] == pytest.approx(0.010)
    untimed = [iteration(1, 3, 1), iteration(1, 3, 1)]  # the drafter is part of the target
    assert "drafting_s" not in TRTLLM.counters(json.dumps(untimed).encode(), "/metrics")


def test_iterations_are_weighted_by_their_counts() -> None:
    found = TRTLLM.counters(json.dumps(UNEVEN).encode(), "/metrics")
    assert found == {"drafting_steps": 10.0, "drafted_tokens": 30.0, "accepted_tokens": 3.0}
    assert (found["accepted_tokens"] + found["drafting_steps"]) / found["drafting_steps"] == 1.3


def test_iterations_may_be_json_within_strings() -> None:
    body = json.dumps([json.dumps(one) for one in UNEVEN]).encode()
    assert TRTLLM.counters(body, "/metrics") == TRTLLM.counters(json.dumps(UNEVEN).encode(), "/metrics")


def test_iterations_without_speculation_count_nothing() -> None:
    plain = [{"iter": 1, "inflightBatchingStats": {}}, {"iter": 2, "specDecodingStats": None}]
    found = TRTLLM.counters(json.dumps(plain).encode(), "/metrics")
    assert found is not None
    assert set(found.values()) == {0.0}


def test_what_is_gone_once_read_is_added_up() -> None:
    counting = Counting(TRTLLM)
    assert counting.paths == ("/metrics", "/prometheus/metrics")
    tokens = b'trtllm_generation_tokens_total{engine_type="trtllm"} 40\n'
    first = counting.read({"/metrics": json.dumps(UNEVEN).encode(), "/prometheus/metrics": tokens})
    again = counting.read({"/metrics": b"[]", "/prometheus/metrics": tokens})
    assert first == again
    assert first is not None
    assert (first["drafting_steps"], first["output_tokens"], first["counter_resets"]) == (10.0, 40.0, 0.0)
    more = counting.read({"/metrics": json.dumps(UNEVEN[:1]).encode(), "/prometheus/metrics": tokens})
    assert more is not None
    assert (more["drafting_steps"], more["accepted_tokens"]) == (11.0, 6.0)


@pytest.mark.parametrize(
    "lost",
    [[iteration(1, 3, 1)] * 1000, [iteration(1, 3, 1, statsDroppedFrames=2)]],
    ids=["as many as it holds", "dropped"],
)
def test_iterations_that_were_dropped_spoil_the_window(lost: list[Any]) -> None:
    body = json.dumps(lost).encode()
    with pytest.raises(MetricsUnreadable, match="iter_stats_max_iterations"):
        TRTLLM.series(body, "/metrics")
    counting = Counting(TRTLLM)
    tokens = b"trtllm_generation_tokens_total 40\n"
    before = counting.read({"/metrics": b"[]", "/prometheus/metrics": tokens})
    after = counting.read({"/metrics": body, "/prometheus/metrics": tokens})
    assert before is not None
    assert after is not None
    assert after["counter_resets"] == before["counter_resets"] + 1
    assert "may have dropped" in str(counting.reason)


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b'["x"]', b"null"])
def test_what_is_no_list_of_iterations_is_refused(body: bytes) -> None:
    with pytest.raises(MetricsUnreadable):
        TRTLLM.series(body, "/metrics")


def test_a_server_without_either_page_has_no_counters() -> None:
    assert Counting(TRTLLM).read({}) is None


def test_a_mean_over_iterations_gives_no_steps() -> None:
    answer = Answer(output_tokens=9, raw=[{"choices": [{"index": 0, "avg_decoded_tokens_per_iter": 2.25}]}])
    found = TRTLLM.acceptance(answer, drafts=True)
    assert found.steps is None
    assert found.details == {"avg_decoded_tokens_per_iter": 2.25}
    assert len(found.reasons) == 1
