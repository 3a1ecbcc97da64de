"""vLLM behind the backend protocol: this process asks, a child process holds the engine of one arm."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError, EngineLost, TieEvidence, TurnFailed
from draftmark.backends.engine_process import EngineProcess, RemoteError, last_words
from draftmark.backends.last_words import log_name
from draftmark.backends.models import locate
from draftmark.backends.redaction import redacted
from draftmark.backends.vllm.installed import installed_vllm
from draftmark.backends.vllm.translation import effective_problem, place_of, speculative_config
from draftmark.results.engine_names import PROCESS
from draftmark.results.records import Observation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from draftmark.backends.base import TurnRequest
    from draftmark.backends.vllm import VllmSpec
    from draftmark.results.records import Arm

COMMAND = (sys.executable, "-P", "-m", "draftmark.backends.vllm.child")
DEFAULTS: dict[str, Any] = {"enable_prefix_caching": False}
"""Engine arguments where Draftmark's default is not vLLM's: a cache of prompts would answer for the engine."""


class VllmBackend:
    """One engine at a time, for one arm; `start` again for the next arm."""

    def __init__(self, target: str, spec: VllmSpec, command: Sequence[str] = COMMAND) -> None:
        self._target = target
        self._spec = spec
        self._command = command
        self._process: EngineProcess | None = None
        self._facts: dict[str, Any] = {}
        self._logs: Path | None = None
        self._log: Path | None = None

    def keep_logs_in(self, folder: Path) -> None:
        """Say where the last lines of each engine are kept, one file for each arm."""
        self._logs = folder

    def start(self, arms: Sequence[Arm]) -> None:
        """Start an engine for the one arm given.

        Raises:
            BackendError: the engine does not start, or runs another method or D than was asked for.
            EngineLost: its process ended while starting.
        """
        (arm,) = arms
        problem = self._spec.arm_problem(arm)
        if problem is not None:
            raise BackendError(problem)
        self.stop()
        config = speculative_config(arm)
        environment = {} if asks_the_hub(self._target, config) else {"HF_HUB_OFFLINE": "1"}
        name = f"the vLLM engine of {arm.label}"
        self._log = None if self._logs is None else self._logs / log_name(arm.label)
        self._process = EngineProcess(self._command, name=name, environment=_quiet() | environment)
        try:
            self._facts = self._process.call(
                "start",
                patience_s=self._spec.start_timeout_s,
                arguments=self._arguments(config),
                probe=self._spec.probe,
            )
        except RemoteError as fault:
            said = last_words(self._process.output)
            self.stop()
            more = f"; its last words: {said}" if said and said not in str(fault) else ""
            more += "" if self._log is None else f"; its log: {self._log}"
            raise BackendError(f"{name} does not start: {redacted(str(fault))}{more}") from fault
        problem = effective_problem(arm, self._facts["method"], self._facts["draft_length"])
        if problem is not None:
            self.stop()
            raise BackendError(f"{name} does not run as asked: {problem}")

    def _arguments(self, config: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            **DEFAULTS,
            **({"async_scheduling": False} if self._spec.matched_scheduler else {}),
            **self._spec.engine,
            "model": place_of(self._target),
            **({} if config is None else {"speculative_config": config}),
        }

    def resolved(self, arm: Arm) -> dict[str, Any]:
        """Return the engine's effective settings, as vLLM resolved them, and what memory they left for the cache."""
        del arm
        probe = self._facts["probe"] or {}
        vllm = installed_vllm()
        return {
            PROCESS: "one of its own",
            "drafter_settings": ["method", "draft_length", "probe_hook", "probe_problem"],
            "method": self._facts["method"],
            "draft_length": self._facts["draft_length"],
            "vllm": None if vllm is None else vllm.version,
            "model_runner": probe.get("runner"),
            "timing": probe.get("timer"),
            "probe_hook": probe.get("hook"),
            "probe_problem": probe.get("problem") if self._facts["method"] else None,
            "gpus": self._facts["gpus"],
            "context_limit": self._facts["context_limit"],
            "kv_cache_tokens": self._facts["kv_cache_tokens"],
            "largest_concurrency": self._facts["largest_concurrency"],
            **self._facts["settings"],
        }

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        """Answer one turn; stamps are taken in the engine's process, on the clock that all processes share."""
        try:
            answer = await self._running(arm).ask(
                "generate",
                patience_s=self._spec.stall_timeout_s,
                prompt_ids=list(request.ids),
                sampling=request.sampling.model_dump(mode="json"),
                seed=request.seed,
                at_once=request.at_once,
                response_format=request.response_format,
            )
        except RemoteError as fault:
            raise TurnFailed(str(fault), kind=fault.kind) from fault
        return Observation.model_validate(answer)

    async def client_facts(self) -> None:
        """Return nothing: stamps are taken beside the engine."""

    def counters(self) -> dict[str, float] | None:
        """Return vLLM's counters of tokens, drafts and cache hits since the engine started."""
        if self._process is None:
            return None
        found = self._process.call("counters", patience_s=self._spec.stall_timeout_s)
        return {str(name): float(value) for name, value in found.items()}

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        """Ask the running engine how close two tokens are after a prefix; see `Engine.tie_evidence` for the passes."""
        try:
            found = self._running(arm).call(
                "tie_evidence", patience_s=self._spec.stall_timeout_s, prefix=list(prefix_ids), tokens=list(tokens)
            )
        except RemoteError as fault:
            raise BackendError(str(fault)) from fault
        if found is None:
            return None
        first, second = found.pop("top_two")
        return TieEvidence(top_two=(first, second), **found)

    def stop(self) -> None:
        """End the engine's process and all that it started; safe to call twice."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            self._keep_log(process.output)

    def _keep_log(self, lines: Sequence[str]) -> None:
        """Add what an engine printed last to its log; a log that cannot be written must not cost the run."""
        if self._log is None or not lines:
            return
        with suppress(OSError):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("a", encoding="utf-8") as file:
                file.write(redacted("\n".join(lines)) + "\n")

    def _running(self, arm: Arm) -> EngineProcess:
        if self._process is None:
            raise EngineLost(f"no vLLM engine runs for {arm.label}")
        return self._process


def asks_the_hub(target: str, config: Mapping[str, Any] | None) -> bool:
    """Say whether the target or the drafter's checkpoint is a hub name; local models never ask the hub."""
    if locate(target).folder is None:
        return True
    if config is None or config["method"] == "custom_class":
        return False
    model = config.get("model")
    return isinstance(model, str) and not Path(model).is_dir()


def _quiet() -> dict[str, str]:
    """Variables that keep the engine from asking the network or drawing progress bars, unless they are set."""
    wanted = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "TQDM_DISABLE": "1", "VLLM_CONFIGURE_LOGGING": "1"}
    return {name: value for name, value in wanted.items() if name not in os.environ}
