"""The probe inside vLLM's worker: what each engine step did for each request, and how long drafting and the rest took.

vLLM mixes `StepProbe` into its worker class (`worker_extension_cls`), and its methods are called by name through
`collective_rpc`. Wrapped are `execute_model` and `sample_tokens` of the model runner, and what proposes drafts: in the
runner V1 `propose_draft_token_ids`, in V2 `speculator.propose`. Nothing here waits for the device: on a GPU times are
those between CUDA events, read once a request has ended. vLLM's internals move; where a hook is not found its times are
null and the reason is told, and nothing else changes.

An engine step runs the target over what was scheduled, samples, and then drafts for the next step. So the drafting
counted to a step is that which follows its verification; the drafting that follows the prefill counts to the prefill.

vLLM also runs the target over padding in place of drafts: zeros where its proposer was skipped, for requests near the
context limit; -1 for requests that nothing was drafted for yet. The probe tells such placeholders from drafts.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from draftmark.backends.vllm.timers import CudaTimer, HostTimer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from draftmark.backends.vllm.timers import Timer

MOST_REQUESTS = 10_000
"""Requests whose steps are kept until they are asked for; beyond it the oldest are forgotten."""


_NOTHING: Mapping[str, int] = MappingProxyType({})


def _nothing() -> Mapping[str, int]:
    return _NOTHING


@dataclass(slots=True)
class EngineStep:
    """One run of the target, shared by the requests that were scheduled together."""

    started: Any
    since: Any
    """End of the step before, from which this one's whole time is counted; its own start where the engine was idle."""
    batch: int
    prefill_tokens: int = 0
    """Tokens that were read, of prompts and of answers that had lost their cache, without those of drafts."""
    drafts: Mapping[str, int] = field(default_factory=_nothing)
    """Request to the drafted tokens that the target ran over."""
    placeholders: Mapping[str, int] = field(default_factory=_nothing)
    """Request to the padding in place of drafts."""
    ended: Any = None
    drafting: tuple[tuple[Any, Any], ...] = ()
    """Begin and end of each call of the proposer."""
    seconds: tuple[float, float, float] | None = None
    """Whole time, drafting and verification, once they have been asked for."""


RequestStep = tuple[EngineStep, int, int, int]
"""What one engine step did for one request: the step, drafted tokens, placeholders, generated tokens."""


class Probe:
    """Wraps one model runner; `take` hands out what was seen of a request.

    Requests are known by their names up to the first dash: what follows it are letters of vLLM's own. Results of an
    asynchronous engine are noted in another thread than the one that runs the model.
    """

    def __init__(self, runner: Any, timer: Timer) -> None:
        self._runner = runner
        self._timer = timer
        self._lock = threading.Lock()
        self._rows: dict[str, list[RequestStep]] = {}
        """By vLLM's name for a request, which is ours with a dash and letters of its own."""
        self._full_names: dict[str, str] = {}
        """Our names to vLLM's."""
        self._taken: dict[str, None] = {}
        """Requests that were handed out: steps that the engine ran ahead for them belong to no answer."""
        self._current: EngineStep | None = None
        self._last_end: Any = None
        self._proposed = True
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
        elif getattr(runner, "speculative_config", ...) is not None:
            self.problem = (
                f"the model runner {type(runner).__module__}.{type(runner).__name__} has neither "
                "propose_draft_token_ids nor speculator.propose"
            )

    def _around_execute(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def execute_model(scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
            scheduled = getattr(scheduler_output, "num_scheduled_tokens", None)
            if not scheduled:
                self._last_end = None  # nothing to do: what follows comes after a pause
            if not scheduled or kwargs.get("dummy_run"):
                return execute(scheduler_output, *args, **kwargs)
            entered = time.perf_counter()
            started = self._timer.mark()
            step = EngineStep(started, started if self._last_end is None else self._last_end, len(scheduled))
            self._current = step
            self.own_s += time.perf_counter() - entered
            result = execute(scheduler_output, *args, **kwargs)
            entered = time.perf_counter()
            self._describe(step, scheduler_output)
            self.own_s += time.perf_counter() - entered
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
            step.drafting = (*step.drafting, (begun, self._timer.mark()))
            return result

        return proposing

    def _describe(self, step: EngineStep, planned: Any) -> None:
        """Note what the step is made of, while the device works on it.

        The runner V1 trims what was planned on a copy of its own, which it keeps until it samples.
        """
        ran = getattr(getattr(self._runner, "execute_model_state", None), "scheduler_output", planned)
        scheduled, speculated = ran.num_scheduled_tokens, getattr(ran, "scheduled_spec_decode_tokens", None) or {}
        # An asynchronous scheduler plans with -1 for each draft; one that waits for the drafts has their ids.
        known = getattr(self._runner, "use_async_scheduling", True) is False
        if self._proposed and _only_decodes(ran, scheduled, speculated):
            if speculated:
                step.drafts = {request: len(tokens) for request, tokens in speculated.items()}
            if not known or all(tokens[-1] >= 0 for tokens in speculated.values() if tokens):
                return
        fresh, resumed = _without_output(ran), _resumed(ran)
        step.prefill_tokens = sum(
            max(tokens - len(speculated.get(request, ())) - (request not in fresh), 0)
            for request, tokens in scheduled.items()
        )
        drafts: dict[str, int] = {}
        for request, tokens in speculated.items():
            nothing_proposed = not self._proposed or request in fresh or request in resumed
            real = 0 if nothing_proposed else sum(token >= 0 for token in tokens) if known else len(tokens)
            drafts[request] = real
        step.drafts = drafts
        step.placeholders = {request: len(tokens) - drafts[request] for request, tokens in speculated.items()}

    def _end(self, step: EngineStep, result: Any) -> None:
        entered = time.perf_counter()
        step.ended = self._timer.mark()
        self._current, self._last_end = None, step.ended
        self.steps += 1
        # A step in which the proposer did not run leaves zeros to be verified, and no drafts.
        self._proposed = bool(step.drafting) or self.hook is None
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
        requests = getattr(output, "req_ids", None) or ()
        counts = [0] * len(requests) if sampled is None else [len(tokens) for tokens in sampled]
        drafts, placeholders = step.drafts, step.placeholders
        plain = (step, 0, 0, 1)  # what most steps are for most requests
        with self._lock:
            for request, generated in zip(requests, counts, strict=False):
                row = plain
                if drafts or placeholders or generated != 1:
                    row = (step, drafts.get(request, 0), placeholders.get(request, 0), generated)
                rows = self._rows.get(request)
                if rows is None:
                    self._open(request, row)
                else:
                    rows.append(row)

    def _open(self, request: str, row: RequestStep) -> None:
        """Begin the list of a request, unless it was handed out already."""
        name = request.partition("-")[0]
        if name in self._taken:
            return
        self._rows[request] = [row]
        self._full_names[name] = request
        _forget(self._rows)
        _forget(self._full_names)

    def take(self, request: str) -> dict[str, Any] | None:
        """Hand out what was seen of a request, and note no more of it; null if nothing was, or it was handed out."""
        with self._lock:
            rows = self._rows.pop(self._full_names.pop(request, request), None)
            self._taken[request] = None
            _forget(self._taken)
        if rows is None:
            return None
        seconds = [self._seconds(step) for step, *_ in rows]
        split = self.problem is None
        return {
            "drafted": [drafted for _, drafted, _, _ in rows],
            "placeholders": [placeholders for _, _, placeholders, _ in rows],
            "generated": [generated for *_, generated in rows],
            "batch": [step.batch for step, *_ in rows],
            "prefill_tokens": [step.prefill_tokens for step, *_ in rows],
            "step_s": [whole for whole, _, _ in seconds],
            "draft_s": [draft for _, draft, _ in seconds] if split else None,
            "verify_s": [verify for _, _, verify in seconds] if split else None,
        }

    def _seconds(self, step: EngineStep) -> tuple[float, float, float]:
        """Return the step's whole time, its drafting and its verification; asked of the timer once."""
        if step.seconds is None:
            drafting = sum(self._timer.seconds(first, second) for first, second in step.drafting)
            whole = self._timer.seconds(step.since, step.ended)
            step.seconds = whole, drafting, self._timer.seconds(step.started, step.ended) - drafting
        return step.seconds


def _forget(requests: dict[str, Any]) -> None:
    while len(requests) > MOST_REQUESTS:
        del requests[next(iter(requests))]


def _only_decodes(planned: Any, scheduled: Mapping[str, int], speculated: Mapping[str, Any]) -> bool:
    """Say quickly whether every scheduled request runs one token and its drafts, and none begins or comes back."""
    cached = getattr(planned, "scheduled_cached_reqs", None)
    outputs = getattr(cached, "num_output_tokens", None)
    return (
        outputs is not None
        and 0 not in outputs
        and len(outputs) == len(scheduled)
        and not getattr(cached, "resumed_req_ids", None)
        and sum(scheduled.values()) == len(scheduled) + sum(map(len, speculated.values()))
    )


def _without_output(planned: Any) -> set[str]:
    """Return the scheduled requests that have generated nothing yet, so that all that is read of them is prompt."""
    names = {request.req_id for request in getattr(planned, "scheduled_new_reqs", None) or ()}
    cached = getattr(planned, "scheduled_cached_reqs", None)
    counts: Mapping[str, int] = dict(
        zip(getattr(cached, "req_ids", ()), getattr(cached, "num_output_tokens", ()), strict=False)
    )
    return names | {request for request, count in counts.items() if count == 0}


def _resumed(planned: Any) -> set[str]:
    """Return the scheduled requests that go on after the engine took their cache away."""
    return set(getattr(getattr(planned, "scheduled_cached_reqs", None), "resumed_req_ids", None) or ())


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

    def draftmark_take(self, requests: list[str]) -> list[dict[str, Any] | None]:
        """Return what was seen of some requests, in order."""
        return [self._draftmark_probe.take(request) for request in requests]

    def draftmark_cost(self) -> dict[str, float]:
        """Return the host seconds spent in the probe, and the steps it saw."""
        return {"own_s": self._draftmark_probe.own_s, "steps": float(self._draftmark_probe.steps)}
