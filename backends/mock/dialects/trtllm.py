"""The dialect of TensorRT-LLM's `trtllm-serve`.

- `GET /metrics`: a list of iteration statistics, emptied by being read: TensorRT-LLM's documentation, "trtllm-serve",
  "Metrics Endpoint"; `specDecodingStats` with the names that its `tests/integration` checks (`numDraftTokens`,
  `numAcceptedTokens`, `numRequestsWithDraftTokens`, `acceptanceLength`, `iterLatencyMS`, `draftOverhead`);
  `inflightBatchingStats`; `hostStepTimeMS` is one loop, and `iterLatencyMS` spans about two under the overlap
  scheduler.
- `/prometheus/metrics`: `tensorrt_llm/metrics/collector.py`; draft and accepted tokens, no count of steps.
- `avg_decoded_tokens_per_iter` of a choice: output tokens over all iterations, the one that reads the prompt included.

Here each request has iterations of its own, where an engine batches several. Not compared with a running engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.mock.dialects.base import Page, json_page
from draftmark.backends.mock.dialects.openai import OpenaiDialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.counters import Iteration
    from draftmark.backends.mock.dialects.base import Pages
    from draftmark.backends.mock.generating import Answer

VERSION = "1.3.0"
_LOOPS_PER_LATENCY = 2
"""Engine loops that `iterLatencyMS` spans under the overlap scheduler."""


class TrtllmDialect(OpenaiDialect):
    """A `trtllm-serve` on its PyTorch backend."""

    finish_apart: ClassVar[bool] = False
    null_usage: ClassVar[bool] = False

    def pages(self) -> Pages:
        """Return the pages about the server, by method and path."""
        return {
            **super().pages(),
            ("GET", "/health"): lambda: Page(b"", status=503 if self.state.loading else 200),
            ("GET", "/version"): lambda: json_page({"version": VERSION}),
            ("GET", "/metrics"): self._drain,
            ("GET", "/prometheus/metrics"): self.metrics_page,
        }

    def on_choice(self, given: Answer) -> dict[str, Any]:
        """Return the average over all iterations."""
        if given.ask.statistics == "none":
            return {}
        return {"avg_decoded_tokens_per_iter": given.tokens / (1 + len(given.steps))}

    def families(self) -> Sequence[Metric]:
        """Return the counters and gauges."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        engines, labels = self.state.counters.engines, [self.state.settings.model, "undefined"]
        families: list[Metric] = []
        for name, of in _COUNTERS if self.state.settings.draft_length else _COUNTERS[:1]:
            counter = CounterMetricFamily(f"trtllm_{name}", name.replace("_", " "), labels=_LABELS)
            counter.add_metric(labels, sum(getattr(engine, of) for engine in engines), created=engines[0].created)
            families.append(counter)
        if self.state.settings.draft_length:
            length = GaugeMetricFamily("trtllm_spec_decode_acceptance_length", "Of the last iteration.", labels=_LABELS)
            steps, tokens, _, _ = engines[0].last_interval
            length.add_metric(labels, (tokens - 1) / steps if steps else 0.0)
            families.append(length)
        return families

    def _drain(self) -> Page:
        taken, self.state.counters.iterations = self.state.counters.iterations, []
        return json_page([self._iteration(item) for item in taken])

    def _iteration(self, item: Iteration) -> dict[str, Any]:
        found: dict[str, Any] = {
            "iter": item.number,
            "iterLatencyMS": _LOOPS_PER_LATENCY * item.seconds * 1000,
            "hostStepTimeMS": item.seconds * 1000,
            "numActiveRequests": 1,
            "inflightBatchingStats": {
                "numContextRequests": item.context_requests,
                "numGenRequests": 1 - item.context_requests,
                "numPausedRequests": 0,
                "numScheduledRequests": 1,
                "numCtxTokens": item.context_tokens,
                "avgNumDecodedTokensPerIter": float(item.step.tokens) if item.step else 0.0,
            },
        }
        if self.state.settings.draft_length:
            drafted = item.step.counted_drafted if item.step else 0
            accepted = item.step.counted_accepted if item.step else 0
            found["specDecodingStats"] = {
                "numDraftTokens": drafted,
                "numAcceptedTokens": accepted,
                "numRequestsWithDraftTokens": int(drafted > 0),
                "acceptanceLength": 1.0 + accepted if drafted else 0.0,
                "iterLatencyMS": 0.0,
                "draftOverhead": 0.0,
            }
        return found


_LABELS = ["model_name", "engine_type"]
_COUNTERS = (
    ("request_success", "requests"),
    ("spec_decode_num_draft_tokens", "draft_tokens"),
    ("spec_decode_num_accepted_tokens", "accepted_tokens"),
)
