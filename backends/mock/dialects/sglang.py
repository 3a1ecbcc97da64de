"""SGLang's dialect.

- `/generate` and `meta_info`: SGLang's documentation, "Native APIs" and "Sampling Parameters" (streams give the text so
  far, not deltas); `spec_verify_ct`, `spec_num_correct_drafts`, `spec_num_proposed_drafts`,
  `spec_correct_drafts_histogram`.
- `sglext.spec_tokens_details` in a chunk without choices before the usage, or at the top of an answer that is no
  stream: `python/sglang/srt/entrypoints/openai/utils.py` (`spec_tokens_details_from_meta_info`),
  `serving_completions.py`.
- `spec_accept_length` is completion tokens over verify steps; proposed tokens are verify steps times the configured
  width, whatever was drafted.
- `/server_info`: `internal_states[i].avg_spec_accept_length`, one entry for each data-parallel rank, since the start.
- `/metrics`: gauges `sglang:spec_accept_length` and `..._rate` of the last interval, here the last request; counters
  `sglang:generation_tokens_total` and `sglang:spec_verify_calls_total`.

Not compared with a running SGLang.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.backends.mock.dialects.base import Page, json_page
from draftmark.backends.mock.dialects.openai import OpenaiDialect
from draftmark.backends.mock.events import DONE, ID, Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.asking import Endpoint
    from draftmark.backends.mock.dialects.base import Pages
    from draftmark.backends.mock.generating import Answer

VERSION = "0.5.21"


class SglangDialect(OpenaiDialect):
    """A `python -m sglang.launch_server`."""

    def endpoints(self) -> dict[str, Endpoint]:
        """Return the paths that generate."""
        return {**super().endpoints(), "/generate": "generate"}

    def pages(self) -> Pages:
        """Return the pages about the server, by method and path."""
        flushed = Page(b"Cache flushed.\n", "text/plain; charset=utf-8")
        return {
            **super().pages(),
            ("GET", "/health"): lambda: Page(b"", status=503 if self.state.loading else 200),
            ("GET", "/server_info"): self._server_info,
            ("GET", "/get_server_info"): self._server_info,
            ("GET", "/flush_cache"): lambda: flushed,
            ("POST", "/flush_cache"): lambda: flushed,
            ("GET", "/metrics"): self.metrics_page,
        }

    def model(self) -> dict[str, Any]:
        """Return what `/v1/models` says of the model."""
        name, length = self.state.settings.model, self.state.settings.max_model_len
        return {**super().model(), "owned_by": "sglang", "root": name, "max_model_len": length}

    def error(self, status: int, message: str, kind: str) -> dict[str, Any]:
        """Return the body of an error; SGLang's has no `error` around it."""
        return {"object": "error", "message": message, "type": kind, "param": None, "code": status}

    def events(self, given: Answer) -> list[Event]:
        """Return the stream of an answer; of `/generate` each event holds all so far."""
        if given.ask.endpoint != "generate":
            return super().events(given)
        found = []
        for piece in given.pieces:
            tokens, last = piece.first + piece.tokens, piece is given.pieces[-1]
            found.append(Event(piece.at_s, self._so_far(given, tokens, last=last), piece.tokens, piece.steps))
        return [*found, Event(given.end_s, DONE)]

    def whole(self, given: Answer) -> dict[str, Any]:
        """Return an answer that is no stream."""
        if given.ask.endpoint == "generate":
            return self._so_far(given, given.tokens, last=True)
        return super().whole(given) | self._details(given)

    def before_usage(self, given: Answer, head: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the chunk with the details of speculation."""
        details = self._details(given)
        return [{**head, "choices": [], **details}] if details else []

    def families(self) -> Sequence[Metric]:
        """Return the counters and gauges, a series for each data-parallel rank."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families: list[Metric] = []
        for name, of in _COUNTERS:
            counter = CounterMetricFamily(f"sglang:{name}", name.replace("_", " "), labels=_LABELS)
            for index, engine in enumerate(self.state.counters.engines):
                counter.add_metric(self._labels(index), getattr(engine, of), created=engine.created)
            families.append(counter)
        length = GaugeMetricFamily("sglang:spec_accept_length", "Acceptance length of the interval.", labels=_LABELS)
        rate = GaugeMetricFamily("sglang:spec_accept_rate", "Acceptance rate of the interval.", labels=_LABELS)
        for index, engine in enumerate(self.state.counters.engines):
            steps, tokens, _, accepted = engine.last_interval
            proposed = steps * self.state.settings.draft_length
            length.add_metric(self._labels(index), tokens / steps if steps else 0.0)
            rate.add_metric(self._labels(index), accepted / proposed if proposed else 0.0)
        return [*families, length, rate]

    def _labels(self, index: int) -> list[str]:
        return [self.state.settings.model, "unified", str(index)]

    def _details(self, given: Answer) -> dict[str, Any]:
        if not (given.ask.spec_details and given.draft_length):
            return {}
        return {"sglext": {"spec_tokens_details": _speculation(given)}}

    def _so_far(self, given: Answer, tokens: int, *, last: bool) -> dict[str, Any]:
        reason: dict[str, Any] = {"type": given.finish_reason}
        reason |= {"length": given.tokens} if given.finish_reason == "length" else {"matched": given.stopped_by}
        meta: dict[str, Any] = {
            "id": ID,
            "finish_reason": reason if last else None,
            "prompt_tokens": given.ask.prompt_tokens,
            "completion_tokens": tokens,
            "cached_tokens": given.ask.cached_tokens,
        }
        if last:
            meta["e2e_latency"] = given.end_s
            if given.draft_length and given.ask.statistics != "none":
                meta |= _speculation(given)
        return {"text": given.text(0, tokens), "output_ids": given.token_ids(0, tokens), "meta_info": meta}

    def _server_info(self) -> Page:
        settings = self.state.settings
        info: dict[str, Any] = {"version": VERSION, "served_model_name": settings.model, "status": "ready"}
        if settings.draft_length:
            info |= {"speculative_algorithm": "EAGLE", "speculative_num_steps": settings.draft_length}
            info |= {"speculative_eagle_topk": 1, "speculative_num_draft_tokens": settings.draft_length + 1}
        states = []
        for engine in self.state.counters.engines:
            length = engine.generation_tokens / engine.steps if engine.steps else None
            states.append({"last_gen_throughput": 0.0, **({"avg_spec_accept_length": length} if length else {})})
        return json_page({**info, "internal_states": states})


_LABELS = ["model_name", "engine_type", "dp_rank"]
_COUNTERS = (
    ("prompt_tokens", "prompt_tokens"),
    ("generation_tokens", "generation_tokens"),
    ("cached_tokens", "cached_tokens"),
    ("num_requests", "requests"),
    ("spec_verify_calls", "steps"),
)


def _speculation(given: Answer) -> dict[str, Any]:
    verified = len(given.steps)
    correct = [step.counted_accepted for step in given.steps]
    proposed = verified * given.draft_length
    return {
        "spec_accept_rate": sum(correct) / proposed if proposed else 0.0,
        "spec_accept_length": given.tokens / verified if verified else 0.0,
        "spec_num_correct_drafts": sum(correct),
        "spec_num_proposed_drafts": proposed,
        "spec_verify_ct": verified,
        "spec_correct_drafts_histogram": [correct.count(number) for number in range(max(correct, default=0) + 1)],
    }
