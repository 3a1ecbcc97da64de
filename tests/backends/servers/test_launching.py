from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from draftmark.backends.base import BackendError, EngineLost
from draftmark.backends.servers import launching
from draftmark.backends.servers.launching import ServerProcess, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(120)


def test_a_server_that_loads_slowly_is_waited_for(launch: Callable[..., ServerProcess]) -> None:
    process = launch("--load", 1.0)
    process.wait_healthy("/health", 30)
    with urllib.request.urlopen(f"{process.base_url}/health") as answer:  # noqa: S310 - loopback
        assert answer.status == 200
    assert process.problem() is None


def test_a_server_that_dies_while_loading_is_told_with_its_last_words(launch: Callable[..., ServerProcess]) -> None:
    process = launch("--die", 7, "--say", "ValueError: no such model", "--say", "bye")
    with pytest.raises(EngineLost) as told:
        process.wait_healthy("/health", 60)
    expected = "the fake ended with exit code 7 before it was ready; its last words: ValueError: no such model"
    assert str(told.value) == expected


def test_a_death_is_noticed_though_the_health_answer_hangs(launch: Callable[..., ServerProcess]) -> None:
    process = launch("--hang", "--say", "here")
    threading.Timer(1.0, lambda: os.kill(process.pid, signal.SIGKILL)).start()
    with pytest.raises(EngineLost, match=r"was killed \(SIGKILL\) before it was ready; its last words: here"):
        process.wait_healthy("/health", 60)


def test_a_server_that_lives_but_does_not_answer_is_told(
    launch: Callable[..., ServerProcess], processes: ModuleType
) -> None:
    process = launch("--hang", "--say", "warming up", "--unfinished", "loading 3%")
    with pytest.raises(EngineLost) as told:
        process.wait_healthy("/health", 3)
    expected = "the fake runs, but does not answer /health, for 3 seconds now; its last words: loading 3%"
    assert str(told.value) == expected
    assert processes.living([process.pid]) == []


def test_a_server_that_never_gets_ready_is_told_by_what_it_answers(launch: Callable[..., ServerProcess]) -> None:
    process = launch("--load", 600)
    with pytest.raises(EngineLost, match="runs, but answers /health by 503, for 2 seconds now"):
        process.wait_healthy("/health", 2)


def test_a_program_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"the fake could not be started: .*no/such/program"):
        ServerProcess(lambda _: ["/no/such/program"], name="the fake", log=tmp_path / "log")


def test_a_log_that_cannot_be_written_is_told_at_once(tmp_path: Path, processes: ModuleType) -> None:
    with pytest.raises(BackendError, match=r"the fake could not be started: .*absent"):
        ServerProcess(processes.fake_command, name="the fake", log=tmp_path / "absent" / "log")


def test_a_later_death_is_told_and_a_hang_is_seen(launch: Callable[..., ServerProcess]) -> None:
    process = launch()
    process.wait_healthy("/health", 30)
    assert process.answers("/health", 10)
    assert not process.answers("/stall", 0.5)
    assert not process.answers("/health", 0.5)
    os.kill(process.pid, signal.SIGKILL)
    assert process.problem_within(10) == "was killed (SIGKILL)"


def test_stop_ends_all_that_the_server_started(
    launch: Callable[..., ServerProcess], tmp_path: Path, processes: ModuleType
) -> None:
    process = launch("--forks", tmp_path / "pids")
    process.wait_healthy("/health", 30)
    pids = processes.noted(tmp_path / "pids")
    assert len(processes.living(pids)) == 3
    process.stop()
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []  # not even as zombies
    assert not processes.listens(process.port)
    process.stop()


def test_stop_kills_what_ignores_sigterm(
    launch: Callable[..., ServerProcess], tmp_path: Path, processes: ModuleType
) -> None:
    process = launch("--stubborn", "--forks", tmp_path / "pids", grace_s=0.5)
    process.wait_healthy("/health", 30)
    pids = processes.noted(tmp_path / "pids")
    process.stop()
    assert processes.living(pids) == []
    assert process.problem() is not None


def test_what_a_dead_server_leaves_behind_is_ended_too(
    launch: Callable[..., ServerProcess], tmp_path: Path, processes: ModuleType
) -> None:
    process = launch("--forks", tmp_path / "pids")
    process.wait_healthy("/health", 30)
    pids = processes.noted(tmp_path / "pids")
    os.kill(process.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: processes.living(pids) == [])


def test_a_killed_keeper_takes_the_server_along(
    launch: Callable[..., ServerProcess], tmp_path: Path, processes: ModuleType
) -> None:
    process = launch("--forks", tmp_path / "pids")
    process.wait_healthy("/health", 30)
    server, child, hidden = processes.noted(tmp_path / "pids")
    os.kill(psutil.Process(process.pid).ppid(), signal.SIGKILL)
    assert processes.wait_until(lambda: process.problem() is not None)
    assert processes.living([server, child]) == []
    os.kill(hidden, signal.SIGKILL)  # without its keeper nobody finds what has left both session and environment


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_nothing_is_left_of_a_server_whose_starter_is_killed(
    how: signal.Signals, tmp_path: Path, processes: ModuleType
) -> None:
    program = f"""
import sys, time
sys.path.insert(0, {str(HERE)!r})
from pathlib import Path
from draftmark.backends.servers.launching import ServerProcess
command = lambda port: [sys.executable, {str(HERE / "fake_server.py")!r}, "--port", str(port), "--forks",
                        {str(tmp_path / "pids")!r}]
process = ServerProcess(command, name="the fake", log=Path({str(tmp_path / "log")!r}), grace_s=2.0)
process.wait_healthy("/health", 60)
print(process.port, flush=True)
time.sleep(600)
"""
    starter = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    port = int(starter.stdout.readline())
    pids = processes.noted(tmp_path / "pids")
    keeper = psutil.Process(pids[0]).ppid()
    assert len(processes.living(pids)) == 3
    starter.send_signal(how)
    starter.wait(30)
    starter.stdout.close()
    assert processes.wait_until(lambda: processes.living([*pids, keeper]) == [])
    assert not processes.listens(port)


def test_a_starter_killed_while_the_server_loads_leaves_nothing(tmp_path: Path, processes: ModuleType) -> None:
    program = f"""
import sys
from pathlib import Path
from draftmark.backends.servers.launching import ServerProcess
command = lambda port: [sys.executable, {str(HERE / "fake_server.py")!r}, "--port", str(port), "--load", "600",
                        "--forks", {str(tmp_path / "pids")!r}]
ServerProcess(command, name="the fake", log=Path({str(tmp_path / "log")!r}), grace_s=2.0).wait_healthy("/health", 600)
"""
    starter = subprocess.Popen([sys.executable, "-c", program])
    assert processes.wait_until(lambda: len(processes.noted(tmp_path / "pids")) == 3)
    starter.kill()
    starter.wait()
    assert processes.wait_until(lambda: processes.living(processes.noted(tmp_path / "pids")) == [])


def test_ctrl_c_while_waiting_ends_the_server(
    launch: Callable[..., ServerProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: ModuleType
) -> None:
    process = launch("--load", 600, "--forks", tmp_path / "pids")
    assert processes.wait_until(lambda: len(processes.noted(tmp_path / "pids")) == 3)

    def interrupted() -> str | None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "problem", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.wait_healthy("/health", 60)
    assert processes.living(processes.noted(tmp_path / "pids")) == []


def test_ctrl_c_reaches_a_server_only_if_it_is_sent_there(launch: Callable[..., ServerProcess], tmp_path: Path) -> None:
    process = launch("--tell", tmp_path / "told")
    process.wait_healthy("/health", 30)
    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    handler = (tmp_path / "told").read_text().splitlines()[0]
    assert "default_int_handler" in handler  # Python's own: the signal was not left ignored


def test_twelve_starts_and_stops_leave_no_process_no_port_and_no_descriptor(
    launch: Callable[..., ServerProcess], tmp_path: Path, processes: ModuleType
) -> None:
    me = psutil.Process()
    before, ports = me.num_fds(), []
    for _ in range(12):
        process = launch("--forks", tmp_path / "pids")
        process.wait_healthy("/health", 30)
        ports.append(process.port)
        process.stop()
    pids = processes.noted(tmp_path / "pids")
    assert len(pids) == 36
    assert processes.living(pids) == []
    assert [port for port in ports if processes.listens(port)] == []
    assert me.num_fds() <= before
    assert me.children(recursive=True) == []


def test_the_log_keeps_what_earlier_servers_said(launch: Callable[..., ServerProcess], tmp_path: Path) -> None:
    for word in ("first", "second"):
        process = launch("--say", f"the {word} one")
        process.wait_healthy("/health", 30)
        process.stop()
    log = (tmp_path / "server.log").read_text()
    assert log.index("the first one") < log.index("the second one")
    assert log.count("[draftmark] starting ") == 2
    assert process.last_lines() == ["the second one"]


def test_no_key_reaches_log_or_error(launch: Callable[..., ServerProcess], tmp_path: Path) -> None:
    process = launch(
        "--say",
        "Error: bad key $MY_API_KEY and $TOP_SECRET",
        "--die",
        1,
        environment={"MY_API_KEY": "sk-0123456789", "TOP_SECRET": "hush-hush-hush"},
    )
    with pytest.raises(EngineLost) as told:
        process.wait_healthy("/health", 30)
    for text in (str(told.value), (tmp_path / "server.log").read_text()):
        assert "bad key [redacted] and [redacted]" in text
        assert "sk-0123456789" not in text
        assert "hush-hush" not in text


def test_a_key_on_the_command_line_does_not_reach_the_log(
    launch: Callable[..., ServerProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijk")
    launch("--say", "hf_abcdefghijk").wait_healthy("/health", 30)
    assert "hf_abcdefghijk" not in (tmp_path / "server.log").read_text()


def test_a_flood_of_output_neither_blocks_the_server_nor_is_lost(
    launch: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    process = launch("--flood", 3_000_000, "--say", "done")
    process.wait_healthy("/health", 30)
    process.stop()
    log = (tmp_path / "server.log").read_text()
    assert log.count("x" * 100) == 30_000
    assert log.rstrip().endswith("xxx\ndone")


@pytest.fixture
def stranger() -> Iterator[int]:
    """Somebody else's server, which is healthy."""

    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Healthy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_port_that_was_taken_meanwhile_is_changed_and_the_log_says_so(
    launch: Callable[..., ServerProcess], tmp_path: Path, stranger: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = iter([stranger, stranger, free_port()])
    monkeypatch.setattr(launching, "free_port", lambda: next(ports))
    process = launch()
    process.wait_healthy("/health", 60)
    assert process.port != stranger
    log = (tmp_path / "server.log").read_text()
    assert f"another process has taken port {stranger}; trying another one (1 of 2)" in log
    assert "(2 of 2)" in log


def test_a_port_that_is_always_taken_is_told(
    launch: Callable[..., ServerProcess], stranger: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "free_port", lambda: stranger)
    process = launch()
    with pytest.raises(EngineLost, match=r"[Aa]ddress already in use|another process answers at its port"):
        process.wait_healthy("/health", 60)
