"""vLLM: statistics per request on the final usage chunk, token ids per chunk, counters by engine.

Sources are files of vLLM 0.32.0. A step without a draft is in none of the statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.http.dialects.base import (
    MODELS,
    Acceptance,
    Dialect,
    Gift,
    chosen,
    served,
    whole,
    wholes,
    with_usage,
)
from draftmark.backends.http.shapes import spread
from draftmark.backends.inferred_steps import from_statistics
from draftmark.backends.vllm.counters import COUNTERS
from draftmark.backends.vllm.steps import reported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.answer import Answer

_TOTALS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
NO_STATISTICS = (
    "the server gives no statistics per request: start it with --per-request-spec-decode-metrics detailed (vLLM 0.29)"
)


class VllmDialect(Dialect):
    """`vllm serve`."""

    name: ClassVar[str] = "vllm"
    takes_ids: ClassVar[bool] = True
    completions_take_format: ClassVar[bool] = True
    """entrypoints/openai/completion/protocol.py, CompletionRequest.response_format."""
    takes_template_options: ClassVar[bool] = True
    gives: ClassVar[tuple[Gift, ...]] = (
        Gift(
            "steps per request",
            "metrics.speculative_decoding of the final usage chunk, with --per-request-spec-decode-metrics detailed",
            "entrypoints/openai/completion/serving.py and chat_completion/serving.py, v1/metrics/stats.py to_dict",
            tried=True,
        ),
        Gift(
            "counts per request",
            "the same, with --per-request-spec-decode-metrics summary",
            "entrypoints/generate/base/protocol.py SpeculativeDecodingMetrics",
            tried=True,
        ),
        Gift(
            "counts by window",
            "/metrics: vllm:spec_decode_num_drafts, ..._num_draft_tokens, ..._num_accepted_tokens(_per_pos)",
            "v1/spec_decode/metrics.py SpecDecodingProm",
            tried=True,
        ),
        Gift(
            "output ids",
            "return_token_ids; choices[].token_ids",
            "entrypoints/openai/completion/protocol.py",
            tried=True,
        ),
        Gift(
            "prompt ids",
            "return_token_ids; prompt_token_ids",
            "entrypoints/openai/chat_completion/serving.py",
            tried=True,
        ),
        Gift(
            "ids as prompt",
            "prompt of /v1/completions",
            "entrypoints/openai/completion/protocol.py",
            tried=True,
        ),
        Gift(
            "cached prompt tokens",
            "usage.prompt_tokens_details.cached_tokens, with --enable-prompt-tokens-details",
            "entrypoints/openai/completion/serving.py",
            tried=True,
        ),
    )
    counters_path: ClassVar[str | None] = "/metrics"
    counter_names: ClassVar[Mapping[str, str]] = COUNTERS
    info_paths: ClassVar[tuple[str, ...]] = ("/version", MODELS, "/server_info?config_format=json")
    """The last exists with VLLM_SERVER_DEV_MODE=1 only (entrypoints/serve/dev)."""
    flush_path: ClassVar[str | None] = "/reset_prefix_cache"
    """With VLLM_SERVER_DEV_MODE=1 only; it answers 200 with `success` false while requests run."""

    def body(self, body: Mapping[str, Any], *, drafts: bool) -> dict[str, Any]:
        """Ask for token ids too."""
        del drafts
        return {"return_token_ids": True, **with_usage(body)}

    def acceptance(self, answer: Answer, *, drafts: bool, resolved: Mapping[str, Any] | None = None) -> Acceptance:
        """Return the steps that the statistics imply; null after a stop string, for which vLLM has none."""
        del resolved
        if not drafts or answer.failure is not None:
            return Acceptance()
        statistics = next(filter(None, map(_statistics, reversed(answer.raw))), None)
        if statistics is None:
            after_stop = answer.finish_reason == "stop"
            return Acceptance(
                reasons=(
                    "vLLM gives no statistics of an answer that a stop string ended" if after_stop else NO_STATISTICS,
                )
            )
        if any(whole(statistics, name) is None for name in _TOTALS):
            return Acceptance(reasons=("the statistics per request lack the counts that vLLM 0.29 gives",))
        told = reported(statistics)
        if answer.output_tokens is None:
            return Acceptance(reported=told, reasons=("steps cannot be inferred: the server counted no output tokens",))
        drafted, accepted, reason = _per_step(statistics)
        if reason is not None:
            return Acceptance(reported=told, reasons=(reason,))
        steps = from_statistics(drafted, accepted, answer.output_tokens)
        reasons = () if steps.problem is None else (steps.problem,)
        in_order = "per_step_accepted" in statistics
        return Acceptance(steps.steps, steps.steps is not None, told, reasons=reasons, steps_in_order=in_order)

    def resolved(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return version, model and context limit; drafter, D and the cache of prompts where the server tells."""
        found = {**served(info), **chosen(info.get("/version"), {"version": "vllm"})}
        told = info.get("/server_info?config_format=json")
        config = told.get("vllm_config") if isinstance(told, dict) else None
        if not isinstance(config, dict):  # a text where this server is older than the JSON format
            return found
        speculation = config.get("speculative_config")
        found |= chosen(speculation, {"method": "method", "num_speculative_tokens": "draft_length"})
        if speculation is None and "speculative_config" in config:
            found |= {"method": None, "draft_length": 0}
        found |= chosen(config.get("model_config"), {"max_model_len": "context_limit", "dtype": "dtype"})
        found |= chosen(config.get("cache_config"), {"enable_prefix_caching": "enable_prefix_caching"})
        found |= chosen(config.get("scheduler_config"), {"async_scheduling": "async_scheduling"})
        gpus = _gpus(config)
        return found if gpus is None else {**found, "gpus": gpus}


def _gpus(config: dict[str, Any]) -> int | None:
    """Return how many GPUs the engine uses; null where it does not tell its device."""
    device, parallel = config.get("device_config"), config.get("parallel_config")
    kind = device.get("device") if isinstance(device, dict) else None
    workers, replicas = whole(parallel, "world_size"), whole(parallel, "data_parallel_size")
    if not isinstance(kind, str) or workers is None or replicas is None:
        return None
    return 0 if kind.partition(":")[0] == "cpu" else workers * replicas


def _statistics(event: dict[str, Any]) -> dict[str, Any] | None:
    metrics = event.get("metrics")
    found = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
    return found if isinstance(found, dict) else None


def _per_step(statistics: dict[str, Any]) -> tuple[list[int], list[int], str | None]:
    """Return drafted and accepted tokens of each step that had a draft, or why they are unknown."""
    steps, drafts, agreed = (whole(statistics, name) or 0 for name in _TOTALS)
    accepted, drafted = wholes(statistics, "per_step_accepted"), wholes(statistics, "per_step_drafted")
    if accepted is None or drafted is None:
        histogram, width = wholes(statistics, "acceptance_histogram"), whole(statistics, "num_spec_tokens")
        if steps == 0:
            return [], [], None
        if histogram is None or width is None or drafts != steps * width:
            reason = "a summary does not say how much each step drafted: use --per-request-spec-decode-metrics detailed"
            return [], [], reason
        # All steps drafted D, so only their order is unknown; the largest goes last, where the end of an answer cuts.
        accepted = spread(histogram, steps) or []
        drafted = [width] * len(accepted)
    whole_story = len(accepted) == len(drafted) == steps and sum(accepted) == agreed and sum(drafted) == drafts
    if not whole_story or any(some > tried for some, tried in zip(accepted, drafted, strict=True)):
        return [], [], "the statistics per request contradict themselves: their steps do not add up to their totals"
    return drafted, accepted, None
