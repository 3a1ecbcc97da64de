"""TensorRT-LLM: iteration statistics that are gone once read, added up from their counts, and Prometheus counters.

Nothing here was tried with a real server. Sources are files of TensorRT-LLM as of late 2026. An iteration's
acceptanceLength is a mean over that iteration's requests, so it is made anew from the counts. A request's
avg_decoded_tokens_per_iter divides all its tokens by all its iterations, prefill's among them in some versions: it is
kept, not used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.http.dialects.base import MODELS, Acceptance, Dialect, Gift, chosen, served, whole
from draftmark.backends.http.prometheus import MetricsUnreadable
from draftmark.results.counter_names import CACHED, DRAFTING_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.answer import Answer

ITERATIONS = "/metrics"
PROMETHEUS = "/prometheus/metrics"
HELD = 1000
"""Iterations that the server holds by default (`iter_stats_max_iterations`); it drops the oldest beyond."""
_COUNTS = {
    "numRequestsWithDraftTokens": "drafting_steps",
    "numDraftTokens": "drafted_tokens",
    "numAcceptedTokens": "accepted_tokens",
}


class TrtllmDialect(Dialect):
    """`trtllm-serve`."""

    name: ClassVar[str] = "trtllm"
    takes_ids: ClassVar[bool] = True
    takes_template_options: ClassVar[bool] = True
    gives: ClassVar[tuple[Gift, ...]] = (
        Gift(
            "counts by window",
            "/metrics with enable_iter_perf_stats: specDecodingStats; output tokens from /prometheus/metrics with "
            "return_perf_metrics. n-gram drafts are padded to their full length and counted so",
            "_torch/pyexecutor/py_executor.py _update_iter_stats, _torch/speculative/ngram.py; metrics/collector.py",
        ),
        Gift(
            "drafting time",
            "specDecodingStats.iterLatencyMS of two-model drafters; the server's own draftOverhead divides it by "
            "two loops under the overlap scheduler, and so halves it",
            "_torch/pyexecutor/py_executor.py _update_iter_stats; executor/base_worker.py",
        ),
        Gift("ids as prompt", "prompt of /v1/completions", "serve/openai_protocol.py CompletionRequest"),
        Gift(
            "cached prompt tokens",
            "usage.prompt_tokens_details.cached_tokens",
            "serve/openai_protocol.py UsageInfo",
        ),
    )
    counters_path: ClassVar[str | None] = ITERATIONS
    more_counters_paths: ClassVar[tuple[str, ...]] = (PROMETHEUS,)
    drained_paths: ClassVar[tuple[str, ...]] = (ITERATIONS,)
    counter_names: ClassVar[Mapping[str, str]] = {
        "trtllm_generation_tokens": "output_tokens",
        "trtllm_prompt_tokens": "prompt_tokens",
        "trtllm_prompt_cached_tokens": CACHED,
    }
    """Its counters of draft tokens are those of the iterations, which also tell the steps: they are read there."""
    info_paths: ClassVar[tuple[str, ...]] = ("/version", MODELS)

    def template_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out the second of two names for one switch: late versions refuse what the template does not read.

        (`inputs/chat_template_guard.py`)
        """
        both = {"enable_thinking", "thinking"} <= set(options)
        return super().template_options({name: it for name, it in options.items() if not (both and name == "thinking")})

    def acceptance(self, answer: Answer, *, drafts: bool, resolved: Mapping[str, Any] | None = None) -> Acceptance:
        """Keep the mean per iteration; what steps there were does not follow from it."""
        del resolved
        if not drafts or answer.failure is not None:
            return Acceptance()
        mean = next(filter(None, map(_mean, reversed(answer.raw))), None)
        details = {} if mean is None else {"avg_decoded_tokens_per_iter": mean}
        return Acceptance(details=details, reasons=("a mean over all iterations does not tell a request's steps",))

    def series(self, body: bytes, path: str | None = None) -> dict[str, float]:
        """Return the counters of `/prometheus/metrics`, or the sums of an iteration list since it was last read."""
        if path == PROMETHEUS:
            return super().series(body, path)
        stats = iterations(body)
        if len(stats) >= HELD or any(one.get("statsDroppedFrames") for one in stats):
            raise MetricsUnreadable(
                f"/metrics gave {len(stats)} iterations and may have dropped older ones: measure shorter cells, "
                "or start the server with iter_stats_max_iterations: -1"
            )
        sums = dict.fromkeys(_COUNTS.values(), 0.0)
        told = [spec for one in stats if isinstance(spec := one.get("specDecodingStats"), dict)]
        for spec in told:
            for theirs, ours in _COUNTS.items():
                count = whole(spec, theirs)
                if count is None:
                    raise MetricsUnreadable(f"an iteration's specDecodingStats has no {theirs}")
                sums[ours] += count
        busy_ms = [spec.get("iterLatencyMS") or 0.0 for spec in told if whole(spec, "numDraftTokens")]
        if any(busy_ms):  # drafters inside the target model are not timed at all
            sums[DRAFTING_S] = sum(busy_ms) / 1e3
        return {f"{name}{{}}": value for name, value in sums.items()}

    def resolved(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return version and model; the server tells nothing of its drafter."""
        return {**served(info), **chosen(info.get("/version"), {"version": "tensorrt_llm"})}


def iterations(body: bytes) -> list[dict[str, Any]]:
    """Return the iterations in what `/metrics` gave; entries may be JSON within a string.

    Raises:
        MetricsUnreadable: it is no list of iterations.
    """
    try:
        decoded = json.loads(body)
        found = [json.loads(one) if isinstance(one, str) else one for one in decoded]
    except (ValueError, TypeError, RecursionError) as fault:
        raise MetricsUnreadable("what /metrics gave is no list of iteration statistics") from fault
    if not isinstance(decoded, list) or not all(isinstance(one, dict) for one in found):
        raise MetricsUnreadable("what /metrics gave is no list of iteration statistics")
    return found


def _mean(event: dict[str, Any]) -> float | None:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        value = choice.get("avg_decoded_tokens_per_iter") if isinstance(choice, dict) else None
        if isinstance(value, int | float) and value > 0:
            return float(value)
    return None
