"""A launched server behind the backend protocol, with the fake server and a made-up client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError, EngineLost, TurnRequest
from draftmark.backends.registry import BACKENDS
from draftmark.backends.servers import backend as launched
from draftmark.results.records import Arm, Observation, Sampling, TurnFailure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

NONE = Arm(drafter="none", draft_length=0)
NGRAM = Arm(drafter="ngram", draft_length=3, options={"min_match": 1, "max_match": 3, "on": "cpu"})
REQUEST = TurnRequest((1, 2), Sampling(max_tokens=4), seed=0)


class Client:
    """Stands for the HTTP backend: its turns fail as it is told."""

    made: list[Client] = []  # noqa: RUF012 - emptied by the fixture
    fails: str | None = None
    refuses = False
    before_failing = staticmethod(lambda root: None)

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.stopped = False
        Client.made.append(self)

    def start(self, arms: list[Arm]) -> None:
        if Client.refuses:
            raise BackendError("it drafts otherwise")

    def resolved(self, arm: Arm) -> dict[str, Any]:
        return {"process": "a server", "drafter_settings": ["draft_length"], "draft_length": arm.draft_length}

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        if Client.fails is None:
            return Observation(output_ids=[1], output_tokens=1, sent_s=0.0)
        await asyncio.to_thread(Client.before_failing, self.settings.base_url)
        failure = TurnFailure(kind=Client.fails, message="the stream broke")
        return Observation(status="failed", failure=failure, sent_s=0.0)

    def counters(self) -> dict[str, float] | None:
        return {"output_tokens": 7.0}

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture(autouse=True)
def _client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launched, "HttpBackend", Client)
    monkeypatch.setattr(Client, "made", [])
    monkeypatch.setattr(Client, "fails", None)
    monkeypatch.setattr(Client, "refuses", False)


@pytest.fixture
def target(tmp_path: Path) -> str:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text("{}")
    return str(tmp_path / "target")


@pytest.fixture
def made(target: str, tmp_path: Path, processes: ModuleType) -> Iterator[Any]:
    """Build a backend whose server is the fake one; it is stopped at the end."""
    built: list[launched.LaunchedBackend] = []

    def build(kind: str = "vllm-server", *arguments: object, **settings: Any) -> launched.LaunchedBackend:
        command = [sys.executable, str(processes.FAKE), *map(str, arguments)]
        spec = BACKENDS.resolve(kind).model_validate({"kind": kind, "command": command, **settings})
        backend = spec.create(target)
        assert isinstance(backend, launched.LaunchedBackend)
        backend.keep_logs_in(tmp_path / "servers")
        built.append(backend)
        return backend

    yield build
    for backend in built:
        backend.stop()


def ask(backend: launched.LaunchedBackend, path: str) -> None:
    with suppress(OSError, urllib.error.URLError):
        urllib.request.urlopen(f"{Client.made[-1].settings.base_url}{path}", timeout=5).close()  # noqa: S310 - loopback


def test_a_server_runs_for_one_arm_and_its_log_stays(
    made: Any, target: str, tmp_path: Path, processes: ModuleType
) -> None:
    backend = made("vllm-server", "--say", "I am up", "--forks", tmp_path / "pids", gpus=2, stall_timeout_s=7.0)
    backend.start([NGRAM])
    settings = Client.made[0].settings
    assert (settings.dialect, settings.model, settings.gpus, settings.stall_timeout_s) == ("vllm", target, 2, 7.0)
    assert processes.listens(int(settings.base_url.rsplit(":", 1)[1]))
    assert asyncio.run(backend.generate(NGRAM, REQUEST)).output_ids == [1]
    backend.stop()
    backend.stop()
    assert Client.made[0].stopped
    assert processes.living(processes.noted(tmp_path / "pids")) == []
    assert "I am up" in (tmp_path / "servers" / "ngram-D=3.log").read_text()


def test_what_the_log_alone_counts_stands_with_the_counters(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made("vllm-server", "--say", "drafted for 0.25 s")
    spec = type(backend._spec)
    monkeypatch.setattr(spec, "logged_counters", lambda self, log: {"drafting_s": float(log.split(" for ")[1][:4])})
    assert backend.counters() is None
    backend.start([NGRAM])
    assert backend.counters() == {"output_tokens": 7.0, "drafting_s": 0.25}


def test_the_command_line_is_recorded_without_what_changes_between_launches(made: Any, target: str) -> None:
    backend = made()
    found = []
    for _ in range(2):
        backend.start([NGRAM])
        found.append(backend.resolved(NGRAM))
    assert found[0] == found[1]
    assert found[0]["process"] == "a server of its own"
    assert found[0]["draft_length"] == 3
    assert found[0]["drafter_settings"] == ["draft_length", "command_line"]
    assert f"{target} --host 127.0.0.1 --port PORT --served-model-name {target}" in found[0]["command_line"]


def test_the_server_gets_its_variables(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN", "inherited")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("VLLM_NO_USAGE_STATS", "0")
    say = "$OWN $GIVEN $HF_HUB_OFFLINE $VLLM_NO_USAGE_STATS $DO_NOT_TRACK"
    backend = made("vllm-server", "--say", say, env={"GIVEN": "by the plan"})
    backend.start([NONE])
    assert "inherited by the plan 1 0 1" in (tmp_path / "servers" / "none.log").read_text()


def test_settings_that_a_server_reads_from_a_file_are_in_it(made: Any, tmp_path: Path) -> None:
    backend = made("trtllm-server", "--tell", tmp_path / "told", options={"max_seq_len": 64})
    backend.start([NONE])
    words = (tmp_path / "told").read_text().splitlines()
    file = words[words.index("--config") + 1]
    expected = {
        "max_seq_len": 64,
        "enable_iter_perf_stats": True,
        "return_perf_metrics": True,
        "kv_cache_config": {"enable_block_reuse": False},
    }
    with open(file) as stream:  # noqa: PTH123 - a name out of a command line
        assert json.load(stream) == expected
    assert json.loads(backend.resolved(NONE)["settings_file"]) == expected


def test_a_server_that_dies_midway_is_lost_with_its_last_words(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made("vllm-server", "--say", "RuntimeError: CUDA error")
    backend.start([NONE])
    monkeypatch.setattr(Client, "fails", "connection")
    monkeypatch.setattr(Client, "before_failing", staticmethod(lambda _: ask(backend, "/die")))
    expected = "the vllm-server of none ended with exit code 3; its last words: RuntimeError: CUDA error"
    for _ in range(2):
        with pytest.raises(EngineLost) as told:
            asyncio.run(backend.generate(NONE, REQUEST))
        assert str(told.value) == expected
    assert backend.counters() is None


def test_a_server_that_hangs_midway_is_lost(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made("vllm-server", "--say", "step 17")
    backend.start([NONE])
    monkeypatch.setattr(launched, "HANGS_AFTER_S", 1.0)
    monkeypatch.setattr(Client, "fails", "timeout")
    monkeypatch.setattr(Client, "before_failing", staticmethod(lambda _: ask(backend, "/stall")))
    with pytest.raises(EngineLost, match=r"hangs: it does not answer /health any more; its last words: step 17"):
        asyncio.run(backend.generate(NONE, REQUEST))


@pytest.mark.parametrize("kind", ["connection", "context-limit"])
def test_a_failed_turn_of_a_server_that_lives_is_a_failed_turn(
    made: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    backend = made()
    backend.start([NONE])
    monkeypatch.setattr(Client, "fails", kind)
    seen = asyncio.run(backend.generate(NONE, REQUEST))
    assert seen.failure is not None
    assert seen.failure.kind == kind


def test_many_turns_that_fail_at_once_look_once(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    backend.start([NONE])
    monkeypatch.setattr(Client, "fails", "connection")
    looks: list[str] = []
    monkeypatch.setattr(launched.ServerProcess, "answers", lambda self, path, within_s: looks.append(path) or True)

    async def many() -> list[Observation]:
        return await asyncio.gather(*(backend.generate(NONE, REQUEST) for _ in range(64)))

    assert {seen.status for seen in asyncio.run(many())} == {"failed"}
    assert looks == ["/health"]


def test_a_server_that_drafts_otherwise_is_ended(
    made: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processes: ModuleType
) -> None:
    monkeypatch.setattr(Client, "refuses", True)
    backend = made("vllm-server", "--forks", tmp_path / "pids")
    with pytest.raises(BackendError, match="it drafts otherwise"):
        backend.start([NONE])
    assert processes.living(processes.noted(tmp_path / "pids")) == []


def test_a_server_that_does_not_start_is_told_and_nothing_is_left(made: Any, processes: ModuleType) -> None:
    backend = made("vllm-server", "--die", 2, "--say", "OSError: disk full")
    with pytest.raises(EngineLost, match=r"of none ended with exit code 2 before it was ready.*OSError: disk full"):
        backend.start([NONE])
    with pytest.raises(EngineLost, match="no vllm-server runs for none"):
        asyncio.run(backend.generate(NONE, REQUEST))


def test_without_a_place_for_logs_they_go_with_the_server(target: str, processes: ModuleType) -> None:
    command = [sys.executable, str(processes.FAKE), "--say", "bye"]
    spec = BACKENDS.resolve("vllm-server").model_validate({"kind": "vllm-server", "command": command})
    backend = spec.create(target)
    backend.start([NONE])
    log = backend._process.log  # type: ignore[attr-defined]
    assert "bye" in log.read_text()
    backend.stop()
    assert not log.parent.exists()


def test_a_killed_server_is_told_by_the_signal(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    backend.start([NONE])
    os.kill(backend._process.pid, signal.SIGKILL)
    monkeypatch.setattr(Client, "fails", "connection")
    with pytest.raises(EngineLost, match=r"the vllm-server of none was killed \(SIGKILL\)"):
        asyncio.run(backend.generate(NONE, REQUEST))
