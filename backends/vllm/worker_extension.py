"""The probe inside vLLM's worker: what each engine step did for each request, and how long drafting and the rest took.

vLLM mixes `StepProbe` into its worker class (`worker_extension_cls`), and its methods are called by name through
`collective_rpc`. Wrapped are `execute_model` and `sample_tokens` of the model runner, and what proposes drafts: in the
runner V1 `propose_draft_token_ids`, in V2 `speculator.propose`. Nothing here waits for the device: on a GPU times are
those between CUDA events, read once a request has ended. vLLM's internals move; where a hook is not found its times are
null and the reason is told, and nothing else changes.

An engine step runs the target over what was scheduled, samples, and then drafts for the next step. So the drafting
counted to a step is that which follows its verification; the drafting that follows the prefill counts to the prefill.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_REQUESTS = 100_000
"""Requests whose steps are kept until they are asked for; beyond it the oldest are dropped."""


class Timer(Protocol):
    """Marks moments and tells the seconds between two of them."""

    def mark(self) -> Any:
        """Return a mark for now, without waiting for anything."""
        ...

    def seconds(self, first: Any, second: Any) -> float:
        """Return the seconds from one mark to a later one, both in the past."""
        ...


class HostTimer:
    """The host's monotonic clock, for engines that compute on the host."""

    def mark(self) -> float:
        """Return seconds."""
        return time.perf_counter()

    def seconds(self, first: float, second: float) -> float:
        """Return the difference."""
        return second - first


class CudaTimer:
    """Events in the current CUDA stream; never run on a GPU by Draftmark's own tests."""

    def mark(self) -> Any:
        """Record an event."""
        import torch

        event: Any = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def seconds(self, first: Any, second: Any) -> float:
        """Return the time between two events on the device; waits only if the second has not happened yet."""
        second.synchronize()
        return float(first.elapsed_time(second)) / 1000


@dataclass(slots=True)
class EngineStep:
    """One run of the target, shared by the requests that were scheduled together."""

    started: Any
    batch: int
    prefill_tokens: int
    scheduled: dict[str, int]
    """Request to tokens that the target ran over."""
    drafts: dict[str, int]
    """Request to drafted tokens among these."""
    since: Any
    """End of the step before, from which this one's whole time is counted; its own start where the engine was idle."""
    ended: Any = None
    drafting: list[tuple[Any, Any]] = field(default_factory=list)
    """Begin and end of each call of the proposer."""


@dataclass(slots=True)
class RequestStep:
    """What one engine step did for one request."""

    step: EngineStep
    drafted: int
    generated: int


class Probe:
    """Wraps one model runner; `take` hands out what was seen of a request."""

    def __init__(self, runner: Any, timer: Timer) -> None:
        self._timer = timer
        self._requests: dict[str, list[RequestStep]] = {}
        self._current: EngineStep | None = None
        self._last_end: Any = None
        self._drafts_are_real = True
        self.own_s = 0.0
        """Host time spent in the probe itself."""
        self.steps = 0
        self.problem: str | None = None
        """Why drafting is not timed; null if it is, or if there is no drafter."""
        self.hook: str | None = None
        runner.execute_model = self._around_execute(runner.execute_model)
        self._two_calls = hasattr(runner, "sample_tokens")
        if self._two_calls:
            runner.sample_tokens = self._around_sample(runner.sample_tokens)
        self._hook_proposer(runner)

    def _hook_proposer(self, runner: Any) -> None:
        speculator: Any = getattr(runner, "speculator", None)
        if callable(getattr(speculator, "propose", None)):
            speculator.propose = self._around_propose(speculator.propose)
            self.hook = "speculator.propose"
        elif callable(getattr(runner, "propose_draft_token_ids", None)):
            runner.propose_draft_token_ids = self._around_propose(runner.propose_draft_token_ids)
            self.hook = "propose_draft_token_ids"
        else:
            self.problem = (
                f"the model runner {type(runner).__module__}.{type(runner).__name__} has neither "
                "propose_draft_token_ids nor speculator.propose"
            )

    def _around_execute(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def execute_model(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
            entered = time.perf_counter()
            scheduled = getattr(scheduler_output, "num_scheduled_tokens", None)
            if not scheduled or kwargs.get("dummy_run"):
                if not scheduled:
                    self._last_end = None  # nothing to do: what follows comes after a pause
                return execute(scheduler_output, *args, **kwargs)
            step = self._begin(scheduler_output, dict(scheduled))
            self.own_s += time.perf_counter() - entered
            result = execute(scheduler_output, *args, **kwargs)
            if result is not None and (not self._two_calls or hasattr(result, "sampled_token_ids")):
                self._end(step, result)
            return result

        return execute_model

    def _around_sample(self, sample: Callable[..., Any]) -> Callable[..., Any]:
        def sample_tokens(*args: Any, **kwargs: Any) -> Any:
            step = self._current
            result = sample(*args, **kwargs)
            if step is not None and result is not None:
                self._end(step, result)
            return result

        return sample_tokens

    def _around_propose(self, propose: Callable[..., Any]) -> Callable[..., Any]:
        def proposing(*args: Any, **kwargs: Any) -> Any:
            step = self._current
            if step is None:  # a rehearsal of the engine's own
                return propose(*args, **kwargs)
            begun = self._timer.mark()
            result = propose(*args, **kwargs)
            step.drafting.append((begun, self._timer.mark()))
            return result

        return proposing

    def _begin(self, scheduler_output: Any, scheduled: dict[str, int]) -> EngineStep:
        real = self._drafts_are_real
        planned = getattr(scheduler_output, "scheduled_spec_decode_tokens", None) or {}
        drafts = {request: len(tokens) for request, tokens in planned.items() if tokens} if real else {}
        verified = {request: len(tokens) for request, tokens in planned.items()}
        prefill = sum(
            tokens - verified.get(request, 0) - 1
            for request, tokens in scheduled.items()
            if tokens - verified.get(request, 0) > 1
        )
        started = self._timer.mark()
        since = started if self._last_end is None else self._last_end
        step = EngineStep(started, len(scheduled), prefill, scheduled, drafts, since)
        self._current = step
        return step

    def _end(self, step: EngineStep, result: Any) -> None:
        entered = time.perf_counter()
        step.ended = self._timer.mark()
        self._current, self._last_end = None, step.ended
        self.steps += 1
        # A step in which the proposer did not run leaves placeholders to be verified, and no drafts.
        self._drafts_are_real = bool(step.drafting) or self.hook is None
        if hasattr(result, "get_output"):
            self._later(step, result)
        else:
            self._note(step, result)
        self.own_s += time.perf_counter() - entered

    def _later(self, step: EngineStep, result: Any) -> None:
        """Note the tokens of an asynchronous result once the engine itself has waited for them."""
        get_output = result.get_output

        def noted(*args: Any, **kwargs: Any) -> Any:
            output = get_output(*args, **kwargs)
            entered = time.perf_counter()
            self._note(step, output)
            self.own_s += time.perf_counter() - entered
            return output

        result.get_output = noted

    def _note(self, step: EngineStep, output: Any) -> None:
        sampled = getattr(output, "sampled_token_ids", None)
        requests = getattr(output, "req_ids", None)
        if requests is None:
            return
        for index, request in enumerate(requests):
            generated = len(sampled[index]) if sampled is not None and len(sampled) > index else 0
            seen = self._requests.setdefault(request, [])
            seen.append(RequestStep(step, step.drafts.get(request, 0), generated))
        while len(self._requests) > MOST_REQUESTS:
            self._requests.pop(next(iter(self._requests)))

    def take(self, request: str) -> dict[str, Any] | None:
        """Hand out and forget what was seen of a request; null if nothing was.

        vLLM lengthens the ids of requests by a dash and letters of its own.
        """
        name = next((name for name in self._requests if name == request or name.startswith(f"{request}-")), None)
        if name is None:
            return None
        rows = self._requests.pop(name)
        return {
            "scheduled": [row.step.scheduled.get(name, 0) for row in rows],
            "drafted": [row.drafted for row in rows],
            "generated": [row.generated for row in rows],
            "batch": [row.step.batch for row in rows],
            "prefill_tokens": [row.step.prefill_tokens for row in rows],
            **self._times([row.step for row in rows]),
        }

    def _times(self, steps: list[EngineStep]) -> dict[str, list[float] | None]:
        whole, draft, verify = [], [], []
        for step in steps:
            drafting = sum(self._timer.seconds(first, second) for first, second in step.drafting)
            whole.append(self._timer.seconds(step.since, step.ended))
            draft.append(drafting)
            verify.append(self._timer.seconds(step.started, step.ended) - drafting)
        known = self.hook is not None
        return {"step_s": whole, "draft_s": draft if known else None, "verify_s": verify if known else None}


class StepProbe:
    """Methods that vLLM's worker gains; called by name through `collective_rpc`."""

    model_runner: Any
    device: Any

    def draftmark_install(self) -> dict[str, Any]:
        """Wrap the model runner; return which hook was found, or why none."""
        cuda = str(getattr(self.device, "type", self.device)).startswith("cuda")
        probe = Probe(self.model_runner, CudaTimer() if cuda else HostTimer())
        self._draftmark_probe = probe
        return {
            "runner": f"{type(self.model_runner).__module__}.{type(self.model_runner).__name__}",
            "hook": probe.hook,
            "problem": probe.problem,
            "timer": "device events" if cuda else "host clock",
        }

    def draftmark_take(self, request: str) -> dict[str, Any] | None:
        """Return what was seen of a request."""
        return self._draftmark_probe.take(request)

    def draftmark_cost(self) -> dict[str, float]:
        """Return the host seconds spent in the probe, and the steps it saw."""
        return {"own_s": self._draftmark_probe.own_s, "steps": float(self._draftmark_probe.steps)}
