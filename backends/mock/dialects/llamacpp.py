"""llama.cpp's dialect: `llama-server`.

- `timings`: `tools/server/server-task.cpp` (`result_timings::to_json`), in every answer; in streams on the last chunk
  before the end, in each with `timings_per_token`; `draft_n` and `draft_n_accepted` only where something was drafted.
- `/metrics`: `tools/server/server.cpp` and its README, names `llamacpp:*`, no labels and no `_created` lines;
  `spec_decode_*` as recorded from a server by its users: `..._num_drafts_total`, `..._num_draft_tokens_total`,
  `..._num_accepted_tokens_total`, `..._num_accepted_tokens_per_pos_total{position}`.
- `/health` and everything else answer 503 "Loading model" until the model is there; `/props`: its README.
- Errors: `{"error": {"code", "message", "type"}}`, with the type `unavailable_error` for 503,
  `exceed_context_size_error` for a prompt beyond the context, `invalid_request_error` else.

Not compared with a running server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.mock.dialects.base import Page, json_page
from draftmark.backends.mock.dialects.openai import OpenaiDialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.dialects.base import Pages
    from draftmark.backends.mock.generating import Answer, Piece

BUILD = "b11434-mock"


class LlamacppDialect(OpenaiDialect):
    """A `llama-server --metrics`."""

    null_usage: ClassVar[bool] = False

    def pages(self) -> Pages:
        """Return the pages about the server, by method and path."""
        return {
            **super().pages(),
            ("GET", "/health"): lambda: self._loading() or json_page({"status": "ok"}),
            ("GET", "/props"): lambda: self._loading() or self._props(),
            ("GET", "/metrics"): lambda: self._loading() or self.metrics_page(),
        }

    def model(self) -> dict[str, Any]:
        """Return what `/v1/models` says of the model."""
        meta = {"n_vocab": 49152, "n_ctx_train": self.state.settings.max_model_len}
        return {**super().model(), "owned_by": "llamacpp", "meta": meta}

    def error(self, status: int, message: str, kind: str) -> dict[str, Any]:
        """Return the body of an error."""
        kinds = {503: "unavailable_error", 404: "not_found_error"}
        too_long = status == 400 and "context length" in message
        told = "exceed_context_size_error" if too_long else kinds.get(status, "invalid_request_error")
        return {"error": {"code": status, "message": message, "type": told}}

    def on_usage(self, given: Answer) -> dict[str, Any]:
        """Return the timings: they ride on the last chunk."""
        return {"timings": _timings(given, given.tokens, len(given.steps))}

    def on_finish(self, given: Answer) -> dict[str, Any]:
        """Return the timings where no usage chunk follows."""
        return {} if given.ask.include_usage else self.on_usage(given)

    def _chunk(self, given: Answer, piece: Piece, head: dict[str, Any]) -> dict[str, Any]:
        payload = super()._chunk(given, piece, head)
        if given.ask.timings_per_token:
            payload["timings"] = _timings(given, piece.first + piece.tokens, piece.steps)
        return payload

    def families(self) -> Sequence[Metric]:
        """Return the counters and gauges."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        engines = self.state.counters.engines
        families: list[Metric] = []
        for name, of in _COUNTERS:
            total = sum(getattr(engine, of) for engine in engines)
            families.append(CounterMetricFamily(f"llamacpp:{name}", name.replace("_", " "), value=total))
        positions = CounterMetricFamily(
            "llamacpp:spec_decode_num_accepted_tokens_per_pos", "accepted tokens per position", labels=["position"]
        )
        for position in range(self.state.settings.draft_length):
            positions.add_metric([str(position)], sum(engine.accepted_per_position[position] for engine in engines))
        busy = GaugeMetricFamily("llamacpp:requests_processing", "requests processing", value=0)
        return [*families, positions, busy]

    def _loading(self) -> Page | None:
        return json_page(self.error(503, "Loading model", ""), 503) if self.state.loading else None

    def _props(self) -> Page:
        settings = self.state.settings
        defaults = {"n_ctx": settings.max_model_len, "speculative": settings.draft_length > 0}
        return json_page(
            {
                "default_generation_settings": defaults,
                "total_slots": 1,
                "model_alias": settings.model,
                "model_path": f"{settings.model}.gguf",
                "build_info": BUILD,
            }
        )


_COUNTERS = (
    ("prompt_tokens", "prompt_tokens"),
    ("prompt_seconds", "prompt_s"),
    ("tokens_predicted", "generation_tokens"),
    ("tokens_predicted_seconds", "decode_s"),
    ("spec_decode_num_drafts", "drafts"),
    ("spec_decode_num_draft_tokens", "draft_tokens"),
    ("spec_decode_num_accepted_tokens", "accepted_tokens"),
)


def _timings(given: Answer, tokens: int, steps: int) -> dict[str, Any]:
    prompt, cached = given.ask.prompt_tokens - given.ask.cached_tokens, given.ask.cached_tokens
    prompt_ms, predicted_ms = given.ttft_s * 1000, steps * given.step_s * 1000
    found: dict[str, Any] = {
        "cache_n": cached,
        "prompt_n": prompt,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / prompt,
        "prompt_per_second": 1000 * prompt / prompt_ms if prompt_ms else 0.0,
        "predicted_n": tokens,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / tokens,
        "predicted_per_second": 1000 * tokens / predicted_ms if predicted_ms else 0.0,
    }
    drafted = sum(step.counted_drafted for step in given.steps[:steps])
    if drafted and given.ask.statistics != "none":
        found["draft_n"] = drafted
        found["draft_n_accepted"] = sum(step.counted_accepted for step in given.steps[:steps])
    return found
