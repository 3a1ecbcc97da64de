"""vLLM's dialect, as its 0.32 release speaks it.

- Statistics per request: `vllm/v1/metrics/stats.py` (`RequestSpecDecodeMetrics.to_dict`) and
  `vllm/entrypoints/generate/base/protocol.py` (`PerRequestMetrics`); in streams on the usage chunk
  (`entrypoints/openai/completion/serving.py`, `.../chat_completion/serving.py`). Null after a stop string: the frontend
  stops before the engine has finished.
- Chunks: the finish reason is on the last one with text; `reasoning` is the key of thinking; `return_token_ids` gives
  `token_ids` of each delta (`entrypoints/openai/*/protocol.py`).
- Counters: `vllm/v1/spec_decode/metrics.py` and `vllm/v1/metrics/loggers.py`, labels `model_name` and `engine`, with
  `_created` lines as prometheus_client writes them. A step without a draft is not counted.
- Errors: `entrypoints/serve/engine/protocol.py` (`ErrorResponse`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.mock.dialects.base import Page, json_page
from draftmark.backends.mock.dialects.openai import OpenaiDialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.dialects.base import Pages
    from draftmark.backends.mock.generating import Answer

VERSION = "0.32.0"


class VllmDialect(OpenaiDialect):
    """A `vllm serve`."""

    finish_apart: ClassVar[bool] = False
    null_usage: ClassVar[bool] = False
    reasoning_key: ClassVar[str] = "reasoning"
    gives_token_ids: ClassVar[bool] = True

    def pages(self) -> Pages:
        """Return the pages about the server, by method and path."""
        return {
            **super().pages(),
            ("GET", "/health"): lambda: Page(b"", status=503 if self.state.loading else 200),
            ("GET", "/version"): lambda: json_page({"version": VERSION}),
            ("GET", "/metrics"): self.metrics_page,
        }

    def model(self) -> dict[str, Any]:
        """Return what `/v1/models` says of the model."""
        name = self.state.settings.model
        more: dict[str, Any] = {
            "root": name,
            "parent": None,
            "max_model_len": self.state.settings.max_model_len,
            "permission": [],
        }
        return {**super().model(), "owned_by": "vllm", **more}

    def on_usage(self, given: Answer) -> dict[str, Any]:
        """Return the statistics of the request, where they are on."""
        if given.ask.statistics == "none" or given.stopped_by:
            return {}
        return {"metrics": {"speculative_decoding": _statistics(given)}}

    def on_choice(self, given: Answer) -> dict[str, Any]:
        """Return which stop string ended it."""
        return {"stop_reason": given.stopped_by}

    def families(self) -> Sequence[Metric]:
        """Return the counters, a series for each engine."""
        from prometheus_client.core import GaugeMetricFamily

        families = [self._counter(name, doc, of) for name, doc, of in _COUNTERS]
        if self.state.settings.draft_length:
            families += [self._counter(name, doc, of) for name, doc, of in _DRAFT_COUNTERS]
            families.append(self._per_position())
        running = GaugeMetricFamily("vllm:num_requests_running", "Requests in execution.", labels=_LABELS)
        for index in range(len(self.state.counters.engines)):
            running.add_metric([self.state.settings.model, str(index)], 0)
        return [*families, running]

    def _counter(self, name: str, documentation: str, of: str) -> Metric:
        from prometheus_client.core import CounterMetricFamily

        family = CounterMetricFamily(name, documentation, labels=_LABELS)
        for index, engine in enumerate(self.state.counters.engines):
            labels = [self.state.settings.model, str(index)]
            family.add_metric(labels, getattr(engine, of), created=engine.created)
        return family

    def _per_position(self) -> Metric:
        from prometheus_client.core import CounterMetricFamily

        name = "vllm:spec_decode_num_accepted_tokens_per_pos"
        family = CounterMetricFamily(name, "Accepted tokens per draft position.", labels=[*_LABELS, "position"])
        for index, engine in enumerate(self.state.counters.engines):
            for position, count in enumerate(engine.accepted_per_position):
                labels = [self.state.settings.model, str(index), str(position)]
                family.add_metric(labels, count, created=engine.created)
        return family


_LABELS = ["model_name", "engine"]
_COUNTERS = (
    ("vllm:prompt_tokens", "Prefill tokens processed.", "prompt_tokens"),
    ("vllm:generation_tokens", "Generation tokens processed.", "generation_tokens"),
    ("vllm:prefix_cache_queries", "Prefix cache queries, in tokens.", "prompt_tokens"),
    ("vllm:prefix_cache_hits", "Prefix cache hits, in tokens.", "cached_tokens"),
    ("vllm:request_success", "Requests that were finished.", "requests"),
)
_DRAFT_COUNTERS = (
    ("vllm:spec_decode_num_drafts", "Number of spec decoding drafts.", "drafts"),
    ("vllm:spec_decode_num_draft_tokens", "Number of draft tokens.", "draft_tokens"),
    ("vllm:spec_decode_num_accepted_tokens", "Number of accepted tokens.", "accepted_tokens"),
)


def _statistics(given: Answer) -> dict[str, Any]:
    drafts = [(step.counted_drafted, step.counted_accepted) for step in given.steps if step.counted_drafted]
    drafted, accepted = sum(pair[0] for pair in drafts), sum(pair[1] for pair in drafts)
    histogram = [0] * (given.draft_length + 1)
    for _, count in drafts:
        histogram[count] += 1
    found: dict[str, Any] = {
        "mean_acceptance_length": 1 + accepted / len(drafts) if drafts else 1.0,
        "draft_acceptance_rate": accepted / drafted if drafted else 0.0,
        "acceptance_histogram": histogram,
        "num_spec_steps": len(drafts),
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafted,
        "num_spec_tokens": given.draft_length,
    }
    if given.ask.statistics == "detailed" and drafts:
        found["per_step_accepted"] = [count for _, count in drafts]
        found["per_step_drafted"] = [count for count, _ in drafts]
    return found
