"""One vLLM engine and what it is asked, in the process that holds it; the stamps of every token are taken here."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import TieEvidence, TurnFailed
from draftmark.backends.http.failures import kind_of
from draftmark.backends.inferred_steps import from_statistics
from draftmark.backends.vllm.arrivals import Arrivals
from draftmark.backends.vllm.counters import COUNTERS
from draftmark.backends.vllm.gathering import Gathering
from draftmark.backends.vllm.resolved import flat
from draftmark.backends.vllm.steps import Told, from_worker, reported
from draftmark.results.records import Sampling

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTENSION = "draftmark.backends.vllm.worker_extension.StepProbe"
TIE_LOGPROBS = 20
"""Likeliest tokens whose logits are compared between a pass over one token and one over many."""


class Engine:
    """One engine and the questions it is asked."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._drafts = False
        self._probe: dict[str, Any] | None = None
        self._number = 0
        self._at_once = 1
        self._slots = asyncio.Semaphore(1)
        self._arrivals = Arrivals(None)
        self._gathering = Gathering(self._ask_worker)
        self.in_flight = 0

    @property
    def progress(self) -> int:
        """Tokens of all requests so far, which the parent watches."""
        return self._arrivals.tokens

    async def start(self, arguments: dict[str, Any], probe: bool) -> dict[str, Any]:
        """Start the engine and put the probe into its worker; return what it runs with."""
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        self._drafts = arguments.get("speculative_config") is not None
        extra: dict[str, Any] = {"worker_extension_cls": EXTENSION} if probe else {}
        if self._drafts:  # vLLM refuses the statistics for an engine that does not speculate
            extra["per_request_spec_decode_metrics"] = "detailed"
        engine_args = AsyncEngineArgs(**arguments, **extra, disable_log_stats=False, enable_log_requests=False)
        self._engine = AsyncLLM.from_engine_args(engine_args)
        self._arrivals = Arrivals(self._engine.output_processor)
        config = self._engine.vllm_config
        if probe:
            self._probe = next(iter(await self._engine.collective_rpc("draftmark_install")))
        speculation = config.speculative_config
        cache = config.cache_config
        blocks = cache.num_gpu_blocks
        tokens = None if blocks is None else blocks * cache.block_size
        limit = config.model_config.max_model_len
        return {
            "settings": flat(config),
            "method": None if speculation is None else speculation.method,
            "draft_length": None if speculation is None else speculation.num_speculative_tokens,
            "kv_cache_tokens": tokens,
            "largest_concurrency": None if tokens is None else round(tokens / limit, 2),
            "context_limit": limit,
            "gpus": _gpus(config),
            "probe": self._probe,
        }

    async def generate(
        self,
        prompt_ids: list[int],
        sampling: dict[str, Any],
        seed: int,
        at_once: int,
        response_format: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Answer one turn; return what an `Observation` holds, which the parent makes of it and checks.

        Of the turns asked for no more than `at_once` are in the engine; the next begins as soon as one has ended.
        """
        if at_once != self._at_once:
            self._at_once, self._slots = at_once, asyncio.Semaphore(at_once)
        with self._request() as name:
            chosen = Sampling.model_validate_json(json.dumps(sampling))
            return await self._answer(name, prompt_ids, chosen, seed, response_format)

    @contextmanager
    def _request(self) -> Iterator[str]:
        """Give a request its name, and count it as in flight meanwhile."""
        self._number += 1
        self.in_flight += 1
        try:
            yield f"draftmark{self._number}"
        finally:
            self.in_flight -= 1

    async def _answer(
        self, name: str, prompt_ids: list[int], sampling: Sampling, seed: int, form: dict[str, Any] | None
    ) -> dict[str, Any]:
        async with self._slots:
            sent_s = time.perf_counter()
            params = _params(sampling, seed, form, streamed=not self._arrivals.works)
            ids, last = await self._ids(name, prompt_ids, params)
            done_s = time.perf_counter()
        output = last.outputs[0]
        chunk_s, chunk_tokens = self._arrivals.take(name, len(ids))
        statistics = None if output.spec_decode_metrics is None else output.spec_decode_metrics.to_dict()
        told = await self._steps(name, len(ids), statistics)
        counts = reported(statistics, told)
        seen = {
            "finish_reason": _finish(output, len(ids), sampling),
            "prompt_tokens": len(last.prompt_token_ids or prompt_ids),
            "output_tokens": len(ids),
            "output_ids": ids,
            "token_source": "ids",
            "sent_s": sent_s,
            "first_token_s": chunk_s[0] if chunk_s else None,
            "last_token_s": chunk_s[-1] if chunk_s else None,
            "done_s": done_s,
            "chunk_s": chunk_s,
            "chunk_tokens": chunk_tokens,
            "prefill_s": told.prefill_s,
            "draft_prefill_s": told.draft_prefill_s,
            "steps": None if told.steps is None else told.steps.model_dump(exclude_none=True),
            "steps_inferred": told.inferred,
            "reported": None if counts is None else counts.model_dump(),
            "details": _details(last, told),
        }
        return {name: value for name, value in seen.items() if value is not None}

    async def _ids(self, name: str, prompt_ids: list[int], params: Any) -> tuple[list[int], Any]:
        """Return a turn's tokens, and vLLM's last output for it."""
        from vllm.v1.engine.exceptions import EngineDeadError

        ids: list[int] = []
        last: Any = None
        try:
            async for last in self._engine.generate({"prompt_token_ids": prompt_ids}, params, name):
                new = last.outputs[0].token_ids
                ids += new
                if not self._arrivals.works and new:
                    self._arrivals.note(name, time.perf_counter(), len(new))
        except EngineDeadError:
            raise
        except Exception as fault:
            cause = fault.__cause__ or fault
            raise TurnFailed(f"{type(cause).__name__}: {cause}", kind=kind_of(None, str(cause))) from fault
        return ids, last

    async def _steps(self, name: str, tokens: int, statistics: dict[str, Any] | None) -> Told:
        told = Told(None)
        if self._probe is not None:
            rows = await self._gathering.rows(name, at_once=self._at_once == 1)
            if rows is None:
                told = Told(None, problem="the worker has no record of this request")
            else:
                told = from_worker(rows, tokens, drafts=self._drafts)
        if told.steps is None and statistics is not None and "per_step_accepted" in statistics:
            inferred = from_statistics(statistics["per_step_drafted"], statistics["per_step_accepted"], tokens)
            return Told(inferred.steps, inferred=True) if inferred.steps is not None else told
        return told

    async def _ask_worker(self, requests: list[str]) -> list[dict[str, Any] | None]:
        """Return what the worker saw of some requests; of several workers, the first one that saw anything."""
        workers = await self._engine.collective_rpc("draftmark_take", args=(requests,))
        return [next((rows for rows in seen if rows), None) for seen in zip(*workers, strict=True)]

    async def counters(self) -> dict[str, float]:
        """Return the engine's counters once they stand still, one number per name and position."""
        before: dict[str, float] | None = None
        for _ in range(20):
            now = _snapshot()
            if now == before:
                break
            before = now
            await asyncio.sleep(0.05)
        if self._probe is not None:
            (cost, *_) = await self._engine.collective_rpc("draftmark_cost")
            now |= {"probe_s": cost["own_s"], "engine_steps": cost["steps"]}
        return now

    async def tie_evidence(self, prefix: list[int], tokens: list[int]) -> dict[str, Any] | None:
        """Compare two passes over a prefix: one that reads it whole, one that decodes its last token alone.

        vLLM cannot be made to run just D + 1 tokens, so the pass over many tokens is its prefill. Where decoding does
        not come by the prefix's last token, there is no pass over one token to compare with, and nothing is returned.
        """
        whole = await self._logprobs(prefix, 1)
        stepwise = await self._logprobs(prefix[:-1], 2)
        if len(stepwise) < 2 or stepwise[0][0] != prefix[-1] or not whole:
            return None
        return asdict(closeness(whole[0][1], stepwise[1][1], tokens, len(prefix)))

    async def _logprobs(self, prompt: list[int], tokens: int) -> list[tuple[int, dict[int, float]]]:
        from vllm import SamplingParams

        params = SamplingParams(
            temperature=0.0, max_tokens=tokens, logprobs=TIE_LOGPROBS, ignore_eos=True, detokenize=False
        )
        last: Any = None
        with self._request() as name:
            async for seen in self._engine.generate({"prompt_token_ids": prompt}, params, name):
                last = seen
            self._arrivals.take(name, 0)
        output = last.outputs[0]
        return [
            (token, {other: found.logprob for other, found in near.items()})
            for token, near in zip(output.token_ids, output.logprobs, strict=True)
        ]

    def shutdown(self) -> None:
        """End the engine and its processes."""
        if self._engine is not None:
            with suppress(Exception):
                self._engine.shutdown()
            self._engine = None


def closeness(many: dict[int, float], one: dict[int, float], tokens: list[int], prefix: int) -> TieEvidence:
    """Judge how close two tokens are by the log-probabilities of the likeliest tokens in two passes.

    Args:
        many: Token to log-probability after a pass over the whole prefix.
        one: The same after decoding one token.
        tokens: The two tokens in question; one that is not among the likeliest counts as just below them, which is the
            least margin it can have.
        prefix: Tokens of the prefix.
    """
    ranked = sorted(one, key=lambda token: -one[token])
    first, second = (one.get(token, one[ranked[-1]]) for token in tokens)
    shared = [token for token in many if token in one]
    return TieEvidence(
        top_two=(ranked[0], ranked[1]),
        margin=abs(first - second),
        numeric_difference=max((abs(many[token] - one[token]) for token in shared), default=0.0),
        passes=f"the {len(one)} likeliest tokens after decoding one token and after a prefill of {prefix}",
    )


def _params(sampling: Sampling, seed: int, form: dict[str, Any] | None, *, streamed: bool) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    wanted = structured_outputs(form)

    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        max_tokens=sampling.max_tokens,
        seed=seed,
        stop=list(sampling.stop) or None,
        ignore_eos=sampling.ignore_eos,
        detokenize=bool(sampling.stop),
        structured_outputs=None if wanted is None else StructuredOutputsParams(**wanted),
        output_kind=RequestOutputKind.DELTA if streamed else RequestOutputKind.FINAL_ONLY,
    )


def structured_outputs(form: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a `response_format` as vLLM's own setting, as its server translates it; null for text.

    After `structured_outputs_from_response_format` of vLLM 0.32, entrypoints/generate/base/protocol.py.
    """
    if form is None or form["type"] == "text":
        return None
    return {"json_object": True} if form["type"] == "json_object" else {"json": form["json_schema"]["schema"]}


def _finish(output: Any, tokens: int, sampling: Sampling) -> str | None:
    """Return vLLM's reason for the end of an answer in Draftmark's words."""
    reason = output.finish_reason
    if reason == "stop":
        return "stop" if isinstance(output.stop_reason, str) else "eos"
    if reason == "length" and tokens < sampling.max_tokens:
        return "context"
    return reason if reason in ("length", "abort") else None


def _details(last: Any, told: Told) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if last.num_cached_tokens:
        details["cached_prompt_tokens"] = last.num_cached_tokens
    if told.problem is not None:
        details["probe_problem"] = told.problem
    return details


def _gpus(config: Any) -> int:
    if str(config.device_config.device_type) == "cpu":
        return 0
    parallel = config.parallel_config
    return int(parallel.world_size * parallel.data_parallel_size)


def _snapshot() -> dict[str, float]:
    from vllm.v1.metrics.reader import Counter, Vector, get_metrics_snapshot

    found: dict[str, float] = {}
    for metric in get_metrics_snapshot():
        stem = COUNTERS.get(metric.name)
        if stem is None:
            continue
        if isinstance(metric, Counter):
            found[stem] = found.get(stem, 0.0) + float(metric.value)
        elif isinstance(metric, Vector):
            for place, value in enumerate(metric.values, start=1):
                name = f"{stem}[{place}]"
                found[name] = found.get(name, 0.0) + float(value)
    return found
