"""SGLang: verify steps and correct drafts per request, verify calls as a counter; what was proposed is mostly assumed.

Nothing here was tried with a real server. Sources are files of SGLang as of late 2026. Its own accept length divides
all completion tokens, the one from prefill among them, by the verify steps: it is not used. Its number of proposed
drafts is the configured width times the verify steps, except where the server also gives
`spec_proposed_drafts_histogram`.
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
from draftmark.backends.http.shapes import MOST_COUNTED, spread
from draftmark.backends.inferred_steps import from_statistics
from draftmark.results.counter_names import CACHED, VERIFIED
from draftmark.results.records import ReportedCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.answer import Answer

CHAINS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
"""Algorithms that draft `speculative_num_draft_tokens` - 1 tokens in every step while `speculative_eagle_topk` is 1."""
_INFO = ("/server_info", "/get_server_info")
_HISTOGRAM = "spec_correct_drafts_histogram"
_KEPT = ("spec_verify_ct", "spec_num_correct_drafts", "spec_num_proposed_drafts", _HISTOGRAM)
_SETTINGS = {
    "version": "sglang",
    "speculative_algorithm": "method",
    "speculative_num_steps": "speculative_num_steps",
    "speculative_eagle_topk": "speculative_eagle_topk",
    "speculative_num_draft_tokens": "speculative_num_draft_tokens",
    "speculative_adaptive": "speculative_adaptive",
    "disable_radix_cache": "disable_radix_cache",
    "tp_size": "tp_size",
    "pp_size": "pp_size",
    "dp_size": "dp_size",
    "dtype": "dtype",
}


class SglangDialect(Dialect):
    """`sglang serve`."""

    name: ClassVar[str] = "sglang"
    takes_ids: ClassVar[bool] = True
    takes_template_options: ClassVar[bool] = True
    gives: ClassVar[tuple[Gift, ...]] = (
        Gift(
            "counts per request",
            "return_spec_tokens_details; sglext.spec_tokens_details of a chunk without choices",
            "srt/entrypoints/openai/utils.py spec_tokens_details_from_meta_info, serving_completions.py",
        ),
        Gift(
            "counts by window",
            "/metrics with --enable-metrics: sglang:spec_verify_calls; requests that end by themselves are counted",
            "srt/observability/metrics_collector.py observe_one_finished_request",
        ),
        Gift("ids as prompt", "prompt of /v1/completions", "srt/entrypoints/openai/protocol.py CompletionRequest"),
        Gift(
            "cached prompt tokens",
            "usage.prompt_tokens_details.cached_tokens, with --enable-cache-report",
            "srt/entrypoints/openai/usage_processor.py",
        ),
    )
    counters_path: ClassVar[str | None] = "/metrics"
    counter_names: ClassVar[Mapping[str, str]] = {
        "sglang:generation_tokens": "output_tokens",
        "sglang:prompt_tokens": "prompt_tokens",
        "sglang:cached_tokens": CACHED,
        "sglang:spec_verify_calls": VERIFIED,
    }
    info_paths: ClassVar[tuple[str, ...]] = (*_INFO, MODELS)
    flush_path: ClassVar[str | None] = "/flush_cache"

    def body(self, body: Mapping[str, Any], *, drafts: bool) -> dict[str, Any]:
        """Ask for running token counts, and for the details of drafting."""
        asked = with_usage(body, continuous_usage_stats=True)
        return {"return_spec_tokens_details": True, **asked} if drafts else asked

    def acceptance(self, answer: Answer, *, drafts: bool, resolved: Mapping[str, Any] | None = None) -> Acceptance:
        """Return the steps where every step is known to have drafted the same; their order is unknown."""
        if not drafts or answer.failure is not None:
            return Acceptance()
        found = next(filter(None, map(_spec_details, reversed(answer.raw))), None)
        if found is None:
            return Acceptance(reasons=("the server gave no spec_tokens_details: it is too old, or does not speculate",))
        kept = {name: whole(found, name) if name != _HISTOGRAM else wholes(found, name) for name in _KEPT}
        details = {name: value for name, value in kept.items() if value is not None}
        told, accepted, reason = _counts(found, resolved or {})
        tokens = answer.output_tokens
        if reason is None and tokens is None:
            reason = "steps cannot be inferred: the server counted no output tokens"
        if reason is None and told is not None and told.drafting_steps == 0 and tokens != 1:
            reason = f"the server verified no draft for {tokens} tokens"
        if told is None or tokens is None or reason is not None:
            return Acceptance(reported=told, details=details, reasons=() if reason is None else (reason,))
        width = told.drafted // max(told.drafting_steps, 1)
        steps = from_statistics([width] * told.drafting_steps, accepted, tokens)
        reasons = () if steps.problem is None else (steps.problem,)
        return Acceptance(steps.steps, steps.steps is not None, told, details, reasons, steps_in_order=False)

    def resolved(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return version, model, context limit and the settings of speculation; D where drafts are chains."""
        settings: Mapping[str, Any] = next((info[path] for path in _INFO if isinstance(info.get(path), dict)), {})
        found = {**served(info), **chosen(settings, _SETTINGS)}
        if "speculative_algorithm" in settings and settings["speculative_algorithm"] is None:
            found |= {"method": None, "draft_length": 0}
        width = whole(settings, "speculative_num_draft_tokens")
        adaptive = settings.get("speculative_adaptive")
        chain = settings.get("speculative_algorithm") in CHAINS and settings.get("speculative_eagle_topk") == 1
        if chain and not adaptive and width:
            found["draft_length"] = width - 1
        return found


def _spec_details(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return the details of one event: those of the only choice, or of SGLang's own `meta_info`."""
    holders = [event, *(one for one in event.get("choices") or [] if isinstance(one, dict))]
    for holder in holders:
        extension = holder.get("sglext")
        found = extension.get("spec_tokens_details") if isinstance(extension, dict) else holder.get("meta_info")
        if isinstance(found, list) and len(found) == 1:
            (found,) = found
        if isinstance(found, dict) and "spec_verify_ct" in found:
            return found
    return None


def _counts(found: dict[str, Any], resolved: Mapping[str, Any]) -> tuple[ReportedCounts | None, list[int], str | None]:
    """Return the totals, the accepted drafts of each step from the fewest to the most, and why these are unknown."""
    verified = whole(found, "spec_verify_ct")
    correct = whole(found, "spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
    if verified is None or correct is None:
        return None, [], "the counts per request are not whole: no steps follow"
    width, reason = _width(found, verified, resolved)
    if width is None:
        return None, [], reason
    if verified * width > MOST_COUNTED:
        return None, [], f"the counts per request contradict themselves: {verified} steps are more than one answer has"
    told = ReportedCounts(drafting_steps=verified, drafted=verified * width, accepted=correct)
    histogram = wholes(found, "spec_correct_drafts_histogram", "spec_acceptance_histogram")
    if verified and not histogram:
        return told, [], "the server gave no histogram of correct drafts: how they lie over steps is unknown"
    accepted = spread(histogram or [], verified)
    if accepted is None or sum(accepted) != correct or max(accepted, default=0) > width:
        return None, [], "the counts per request contradict themselves: the histogram does not add up to them"
    return told, accepted, None


def _width(found: dict[str, Any], verified: int, resolved: Mapping[str, Any]) -> tuple[int | None, str]:
    """Return how many tokens each step drafted, or null and why that is unknown."""
    proposed = wholes(found, "spec_proposed_drafts_histogram")
    if proposed:
        widths = [width for width, times in enumerate(proposed) if times]
        if len(widths) == 1 and proposed[widths[0]] == verified:
            return widths[0], ""
        return None, "steps drafted different numbers of tokens, and which ones is not told"
    width = resolved.get("draft_length")
    if not isinstance(width, int) or width < 1:
        return None, "what SGLang calls proposed is its configured width: exact for chains of a fixed length alone"
    told = whole(found, "spec_num_proposed_drafts", "spec_proposed_drafts")
    if told is not None and told != verified * width:
        return None, f"the server says {told} proposed drafts, {verified} steps of {width} make {verified * width}"
    return width, ""
