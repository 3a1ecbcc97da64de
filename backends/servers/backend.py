"""A server that Draftmark starts for one arm, behind the backend protocol: its start, its end, and all between."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.backends.base import BackendError, EngineLost
from draftmark.backends.http.backend import HttpBackend, HttpSettings
from draftmark.backends.last_words import log_name
from draftmark.backends.redaction import redacted
from draftmark.backends.servers.launching import ServerProcess
from draftmark.backends.servers.spec import asks_the_hub
from draftmark.results.engine_names import OWN_SERVER, PROCESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.base import TieEvidence, TurnRequest
    from draftmark.backends.servers.spec import Launch, ServerSpec
    from draftmark.results.records import Arm, Observation

SUSPICIOUS = frozenset({"connection", "timeout", "engine-error", "overloaded", "protocol"})
"""Kinds of failed turns after which it is worth asking whether the server lives."""
ENDS_WITHIN_S = 2.0
"""How long the end of a server may take to be known after its connections broke."""
HANGS_AFTER_S = 30.0
"""How long a server whose turns fail may take to answer about its health, before it counts as hanging."""
_KNOWN_FOR_S = 5.0


class LaunchedBackend:
    """One server at a time, for one arm; `start` again for the next arm."""

    def __init__(self, target: str, spec: ServerSpec) -> None:
        self._target = target
        self._spec = spec
        self._logs: Path | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._process: ServerProcess | None = None
        self._http: HttpBackend | None = None
        self._launch: Launch | None = None
        self._lost: str | None = None
        self._looking = threading.Lock()
        self._seen_alive_s = float("-inf")

    def keep_logs_in(self, folder: Path) -> None:
        """Say where the servers' logs are kept, one file for each arm, before `start`; else they go with the engine."""
        self._logs = folder

    def start(self, arms: Sequence[Arm]) -> None:
        """Start the server of the one arm given and wait until it is healthy.

        Raises:
            BackendError: it cannot be started, or drafts otherwise than the arm says.
            EngineLost: it ended or hung while starting, with its last words.
        """
        (arm,) = arms
        problem = self._spec.arm_problem(arm)
        if problem is not None:
            raise BackendError(problem)
        self.stop()
        launch = self._launch = self._spec.launch(arm, self._target)
        folder, name = self._folder(), file_name(arm)
        file = folder / f"{name}.yaml"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if launch.file_flag is not None:
                file.write_text(json.dumps(launch.arguments.file, indent=2) + "\n", encoding="utf-8")  # YAML as well
        except OSError as fault:
            raise BackendError(f"{folder} cannot be written: {fault.strerror or fault}") from fault
        try:
            self._process = ServerProcess(
                lambda port: launch.command(port, file),
                name=f"the {self._spec.kind} of {arm.label}",
                log=folder / f"{name}.log",
                environment=self._environment(launch, arm),
            )
            self._process.wait_healthy(self._spec.health, self._spec.start_timeout_s)
            self._http = HttpBackend(self._settings(launch, self._process))
            self._http.start([arm])
        except BaseException:
            self.stop()
            raise

    def _settings(self, launch: Launch, process: ServerProcess) -> HttpSettings:
        spec = self._spec
        return HttpSettings(
            base_url=process.base_url,
            model=launch.model,
            dialect=spec.dialect,
            extra_body=launch.extra_body,
            connect_timeout_s=spec.connect_timeout_s,
            stall_timeout_s=spec.stall_timeout_s,
            turn_timeout_s=spec.turn_timeout_s,
            gpus=spec.gpus,
        )

    def _environment(self, launch: Launch, arm: Arm) -> dict[str, str]:
        wanted = {} if asks_the_hub(self._target, arm) else {"HF_HUB_OFFLINE": "1"}
        wanted |= self._spec.quiet
        unset = {name: value for name, value in wanted.items() if name not in os.environ}
        return {**unset, **launch.arguments.environment, **self._spec.env}

    def resolved(self, arm: Arm) -> dict[str, Any]:
        """Return what the server says of itself, and how it was started; keys left out."""
        found = {} if self._http is None else self._http.resolved(arm)
        launch = self._launch
        if launch is None:
            return found
        command = redacted(shlex.join(launch.command("PORT", "FILE")))
        differ = [*found.get("drafter_settings", []), "command_line"]
        environment = launch.arguments.environment
        if environment:
            found["drafter_environment"] = dict(environment)
            differ.append("drafter_environment")
        if launch.file_flag is not None:
            found["settings_file"] = json.dumps(launch.arguments.file, sort_keys=True)
            differ.append("settings_file")
        return {**found, PROCESS: OWN_SERVER, "command_line": command, "drafter_settings": differ}

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        """Answer one turn; raises `EngineLost` where it failed because the server has ended or hangs."""
        if self._lost is not None:
            raise EngineLost(self._lost)
        seen = await self._running(arm).generate(arm, request)
        if seen.failure is not None and seen.failure.kind in SUSPICIOUS:
            lost = await asyncio.to_thread(self._how_lost)
            if lost is not None:
                raise EngineLost(lost)
        return seen

    def _how_lost(self) -> str | None:
        """Say how the server was lost; null while it lives. Of many that ask at once, one looks for all."""
        with self._looking:
            process = self._process
            if process is None or self._lost is not None:
                return self._lost
            if time.monotonic() - self._seen_alive_s < _KNOWN_FOR_S:
                return None
            how = process.problem_within(ENDS_WITHIN_S)
            if how is None and not process.answers(self._spec.health, HANGS_AFTER_S):
                how = process.problem() or f"hangs: it does not answer {self._spec.health} any more"
            if how is None:
                self._seen_alive_s = time.monotonic()
            else:
                self._lost = f"{process.name} {how}{process.said()}"
            return self._lost

    async def client_facts(self) -> dict[str, Any] | None:
        """Return what the client noticed of itself since this was last asked."""
        return None if self._http is None else await self._http.client_facts()

    def counters(self) -> dict[str, float] | None:
        """Return the server's counters since it started, those of its log too; null where it has none, or has ended."""
        if self._http is None or self._process is None or self._lost is not None:
            return None
        counted = self._http.counters()
        return None if counted is None else counted | self._spec.logged_counters(self._process.logged())

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        """Return what the server can tell of two close tokens."""
        return self._running(arm).tie_evidence(arm, prefix_ids, tokens)

    def stop(self) -> None:
        """End the clients, the server and all that it started; safe to call twice."""
        http, self._http = self._http, None
        process, self._process = self._process, None
        self._lost, self._seen_alive_s = None, float("-inf")
        try:
            if http is not None:
                http.stop()
        finally:
            if process is not None:
                process.stop()
            temporary, self._temporary = self._temporary, None
            if temporary is not None:
                temporary.cleanup()

    def _running(self, arm: Arm) -> HttpBackend:
        if self._http is None:
            raise EngineLost(f"no {self._spec.kind} runs for {arm.label}")
        return self._http

    def _folder(self) -> Path:
        if self._logs is not None:
            return self._logs
        self._temporary = tempfile.TemporaryDirectory(prefix="draftmark-server-")
        return Path(self._temporary.name)


def file_name(arm: Arm) -> str:
    """Return an arm's label as the name of a file, without an ending."""
    return log_name(arm.label).removesuffix(".log")
