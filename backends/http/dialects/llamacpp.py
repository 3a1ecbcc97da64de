"""llama.cpp: draft tokens per answer without their steps, exact counters, and drafting time in the log.

Answers, counters and the log's drafting time were seen with build 11434 on a CPU (`none` and `ngram`).
Sources are files of llama.cpp as of late 2026. On models whose memory cannot be cut back token by token (hybrid ones),
a build of 2026 is said to leave steps that were accepted in part out of all its counts, so that the rate reads 1.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from draftmark.backends.http.dialects.base import MODELS, Acceptance, Dialect, Gift, chosen, served, whole
from draftmark.backends.inferred_steps import from_statistics
from draftmark.results.counter_names import CACHED
from draftmark.results.records import ReportedCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from draftmark.backends.http.answer import Answer

_READ = "llamacpp:prompt_tokens"
_STATISTICS = re.compile(r"\bstatistics\s+([\w-]+):.*\bdur\(b,g,a\)\s*=\s*[\d.]+,\s*([\d.]+),\s*([\d.]+)\s*ms")


class LlamacppDialect(Dialect):
    """`llama-server`."""

    name: ClassVar[str] = "llamacpp"
    takes_ids: ClassVar[bool] = True
    takes_template_options: ClassVar[bool] = True
    gives: ClassVar[tuple[Gift, ...]] = (
        Gift(
            "counts by window",
            "/metrics with --metrics: llamacpp:spec_decode_num_drafts, ..._num_draft_tokens, "
            "..._num_accepted_tokens(_per_pos)",
            "tools/server/server-task.cpp server_task_result_metrics",
        ),
        Gift(
            "drafting time",
            "log, where Draftmark starts the server: statistics <drafter>: ... dur(b,g,a) = ... ms",
            "common/speculative.cpp common_speculative_print_stats, docs/speculative.md",
        ),
        Gift("ids as prompt", "prompt of /v1/completions", "tools/server/README.md"),
        Gift("cached prompt tokens", "timings.cache_n", "tools/server/server-task.cpp result_timings::to_json"),
    )
    counters_path: ClassVar[str | None] = "/metrics"
    counter_names: ClassVar[Mapping[str, str]] = {
        "llamacpp:tokens_predicted": "output_tokens",
        _READ: _READ,
        "llamacpp:prompt_tokens_cached": CACHED,
        "llamacpp:spec_decode_num_drafts": "drafting_steps",
        "llamacpp:spec_decode_num_draft_tokens": "drafted_tokens",
        "llamacpp:spec_decode_num_accepted_tokens": "accepted_tokens",
        "llamacpp:spec_decode_num_accepted_tokens_per_pos": "accepted_tokens",
    }
    info_paths: ClassVar[tuple[str, ...]] = ("/props", MODELS)

    def acceptance(self, answer: Answer, *, drafts: bool, resolved: Mapping[str, Any] | None = None) -> Acceptance:
        """Return the steps of an answer without drafts; with drafts, their number is not told."""
        del resolved
        if answer.failure is not None:
            return Acceptance()
        timings = next((one["timings"] for one in reversed(answer.raw) if isinstance(one.get("timings"), dict)), None)
        cached = whole(timings, "cache_n")
        details: dict[str, Any] = {} if cached is None else {CACHED: cached}
        if not drafts:
            return Acceptance(details=details)
        if timings is None:
            return Acceptance(reasons=("the answer has no timings",))
        drafted, accepted = whole(timings, "draft_n"), whole(timings, "draft_n_accepted")
        if not drafted:  # left out where nothing was drafted
            none = ReportedCounts(drafting_steps=0, drafted=0, accepted=0)
            if answer.output_tokens is None or answer.output_tokens < 1:
                return Acceptance(reported=none, details=details, reasons=("the server counted no output tokens",))
            steps = from_statistics([], [], answer.output_tokens)
            return Acceptance(steps.steps, steps.steps is not None, none, details)
        details |= {"draft_n": drafted, "draft_n_accepted": accepted}
        return Acceptance(details=details, reasons=("timings count draft tokens and no steps: see the counters",))

    def named(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Add the prompt tokens from the cache to those that were read, which llama.cpp counts apart."""
        found = dict(sums)
        if _READ in found and CACHED in found:
            found["prompt_tokens"] = found.pop(_READ) + found[CACHED]
        return found

    def resolved(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return build, model, slots, context of one slot, and the most tokens one draft may have."""
        props = info.get("/props")
        found = {**served(info), **chosen(props, {"build_info": "llama.cpp", "total_slots": "slots"})}
        defaults = props.get("default_generation_settings") if isinstance(props, dict) else None
        found |= chosen(defaults, {"n_ctx": "context_limit"})
        params = defaults.get("params") if isinstance(defaults, dict) else None
        return found | chosen(params, {"speculative.n_max": "draft_length", "speculative.types": "method"})


def drafting_s(log: str) -> float | None:
    """Return how long a server has drafted since it started, by the last `statistics` line of each of its drafters.

    Counted is the time of drafting and of taking in what was accepted; that of new prompts is no part of a decode step.
    Null where the log has no such line: a build that logs no times, a verbosity below 4, or no answer yet.
    """
    sums = {name: float(draft) + float(accept) for name, draft, accept in _STATISTICS.findall(log)}
    return sum(sums.values()) / 1e3 if sums else None
