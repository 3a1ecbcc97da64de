"""Engines in processes of their own, played by small programs that behave well, badly, or not at all."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psutil
import pytest

from draftmark.backends.base import EngineLost
from draftmark.backends.engine_process import EngineProcess, RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., EngineProcess]

PYTHON = (sys.executable, "-I", "-S", "-c")
WELL_BEHAVED = """
import json, os, signal, socket, subprocess, sys, threading, time
connection = socket.socket(fileno=int(sys.argv[-1]))
def send(message):
    connection.sendall(json.dumps(message).encode() + b"\\n")
def serve(answer):
    for line in connection.makefile("rb"):
        question = json.loads(line)
        answer(question["id"], question["call"], question["with"])
"""
ECHO = WELL_BEHAVED + 'serve(lambda n, call, given: send({"id": n, "result": [call, given]}))'


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a program as an engine; whatever a test does, it is stopped at the end."""
    with ExitStack() as engines:

        def run(program: str, **options: object) -> EngineProcess:
            engine = EngineProcess([*PYTHON, program], name="the engine", **{"grace_s": 0.3, **options})
            engines.callback(engine.stop)
            return engine

        yield run


def why_lost(engine: EngineProcess, method: str = "ask", *, patience_s: float = 20.0, **given: object) -> str:
    with pytest.raises(EngineLost) as caught:
        engine.call(method, patience_s=patience_s, **given)
    return str(caught.value)


def until(true: Callable[[], bool]) -> None:
    """Wait for what must come to pass; the test's own time limit ends a wait in vain."""
    while not true():
        time.sleep(0.01)


class TestAnswers:
    def test_a_question_gets_its_answer(self, start: Start) -> None:
        engine = start(ECHO)
        assert engine.call("add", patience_s=20, a=1, b=[2, None, "é"]) == ["add", {"a": 1, "b": [2, None, "é"]}]

    def test_null_is_an_answer(self, start: Start) -> None:
        engine = start(WELL_BEHAVED + 'serve(lambda n, *_: send({"id": n, "result": None}))')
        assert engine.call("nothing", patience_s=20) is None

    def test_answers_find_their_questions_in_any_order(self, start: Start) -> None:
        program = """
held = []
def answer(n, call, given):
    held.append(n)
    if len(held) == 3:
        for number in reversed(held):
            send({"id": number, "result": number * 10})
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)

        async def three() -> list[int]:
            return await asyncio.gather(*(engine.ask("x", patience_s=20) for _ in range(3)))

        assert asyncio.run(three()) == [10, 20, 30]

    def test_a_refusal_keeps_its_words_and_the_engine_lives_on(self, start: Start) -> None:
        program = """
def answer(n, call, given):
    if call == "good":
        send({"id": n, "result": "fine"})
    else:
        send({"id": n, "error": {"kind": "context-limit", "message": "4097 tokens"}})
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)
        with pytest.raises(RemoteError, match="4097 tokens") as caught:
            engine.call("bad", patience_s=20)
        assert caught.value.kind == "context-limit"
        assert engine.call("good", patience_s=20) == "fine"

    def test_answers_and_questions_far_above_any_buffer_pass(self, start: Start) -> None:
        engine = start(ECHO)
        long = "0123456789" * 1_000_000
        assert engine.call("echo", patience_s=60, text=long)[1]["text"] == long

    def test_a_caller_that_stops_waiting_disturbs_no_other(self, start: Start) -> None:
        program = """
waiting = []
def answer(n, call, given):
    waiting.append(n)
    if call == "last":
        for number in waiting:
            send({"id": number, "result": call})
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)

        async def leave_one() -> str:
            impatient = asyncio.create_task(engine.ask("first", patience_s=20))
            await asyncio.sleep(0.02)
            impatient.cancel()
            return await engine.ask("last", patience_s=20)

        assert asyncio.run(leave_one()) == "last"

    def test_an_argument_that_is_no_json_is_the_callers_fault(self, start: Start) -> None:
        engine = start(ECHO)
        with pytest.raises(TypeError):
            engine.call("ask", patience_s=20, what=object())
        assert engine.call("ask", patience_s=20) == ["ask", {}]

    def test_descriptors_above_1023_are_served_too(self, start: Start) -> None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit[1] != resource.RLIM_INFINITY and limit[1] < 1200:
            pytest.skip("this machine allows no such descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (1200, limit[1]))
        held = []
        try:
            while (descriptor := os.dup(0)) < 1100:
                held.append(descriptor)
            held.append(descriptor)
            assert start(ECHO).call("ask", patience_s=20) == ["ask", {}]
        finally:
            for descriptor in held:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)


class TestLoss:
    def test_a_program_that_is_not_there(self) -> None:
        with pytest.raises(EngineLost, match=r"the engine could not be started: .*no-such-program"):
            EngineProcess(["/no-such-program"], name="the engine")

    def test_a_crash_is_told_by_its_exit_code_and_last_words(self, start: Start) -> None:
        program = """
def answer(*_):
    print("loading\\nValueError: no kernel for this device\\nbye", flush=True)
    os._exit(3)
serve(answer)
"""
        text = why_lost(start(WELL_BEHAVED + program))
        assert text == "the engine ended with exit code 3; its last words: ValueError: no kernel for this device"

    def test_every_open_question_hears_of_it(self, start: Start) -> None:
        program = """
seen = []
def answer(n, *_):
    seen.append(n)
    if len(seen) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)

        async def three() -> list[object]:
            return await asyncio.gather(*(engine.ask("x", patience_s=20) for _ in range(3)), return_exceptions=True)

        assert [str(fault) for fault in asyncio.run(three())] == ["the engine was killed (SIGKILL)"] * 3

    def test_what_is_asked_afterwards_hears_of_it_at_once(self, start: Start) -> None:
        engine = start("import os; os._exit(7)")
        first = why_lost(engine)
        assert first == "the engine ended with exit code 7"
        assert why_lost(engine) == first

    def test_last_words_may_lack_a_line_end(self, start: Start) -> None:
        assert why_lost(start("print('out of luck', end='')")).endswith("its last words: out of luck")

    def test_a_closed_connection_ends_a_process_that_goes_on(self, start: Start) -> None:
        engine = start(WELL_BEHAVED + "connection.close(); time.sleep(600)")
        assert why_lost(engine) == "the engine closed its connection and does not end"
        assert not psutil.pid_exists(engine.pid)

    @pytest.mark.parametrize(
        "line",
        [
            b"Loading weights: 50%",
            b"",
            b"\xff\xfe\x00",
            b"[1, 2]",
            b"17",
            b"{}",
            b'{"id": 1}',
            b'{"id": "1", "result": 2}',
            b'{"id": true, "result": 2}',
            b'{"id": [1], "result": 2}',
            b'{"id": 99, "result": 2}',
            b'{"id": 1, "error": "no"}',
            b'{"id": 1, "error": {"kind": "fault"}}',
            b'{"id": 1, "error": {"kind": 4, "message": "no"}}',
            b'{"progress": "half"}',
            b"[" * 100_000,
            b'{"id": 1, "result": ' + b"9" * 5_000 + b"}",
        ],
    )
    def test_what_is_no_answer_loses_the_engine(self, start: Start, line: bytes) -> None:
        program = f"""
def answer(*_):
    connection.sendall({line!r} + b"\\n")
    time.sleep(600)
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)
        assert why_lost(engine).startswith("the engine sent what is no answer: ")
        assert not psutil.pid_exists(engine.pid)

    def test_an_answer_without_end_loses_the_engine(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("draftmark.backends.engine_process.LONGEST_ANSWER", 100_000)
        engine = start(WELL_BEHAVED + "while True: connection.sendall(b'x' * 65536)")
        assert why_lost(engine) == "the engine sent an answer of more than 100,000 bytes"


class TestHanging:
    def test_silence_beyond_patience_is_a_hang(self, start: Start) -> None:
        engine = start(WELL_BEHAVED + "print('waiting for device 1', flush=True)\nserve(lambda *_: time.sleep(600))")
        text = why_lost(engine, patience_s=0.4)
        assert text == (
            "the engine hangs: no answer and no progress for 0.4 seconds; its last words: waiting for device 1"
        )
        assert not psutil.pid_exists(engine.pid)

    def test_progress_keeps_a_slow_one_alive(self, start: Start) -> None:
        program = """
def answer(n, *_):
    for done in range(12):
        send({"progress": done})
        time.sleep(0.1)
    send({"id": n, "result": "at last"})
serve(answer)
"""
        assert start(WELL_BEHAVED + program).call("slow", patience_s=0.6) == "at last"

    def test_repeating_the_same_progress_is_none(self, start: Start) -> None:
        program = """
def answer(*_):
    while True:
        send({"progress": 5})
        time.sleep(0.01)
serve(answer)
"""
        assert "hangs" in why_lost(start(WELL_BEHAVED + program), patience_s=0.4)

    def test_a_process_that_does_not_read_blocks_no_caller(self, start: Start) -> None:
        engine = start(WELL_BEHAVED + "time.sleep(600)")
        text = "x" * 5_000_000

        async def both() -> list[object]:
            asked = [engine.ask("read", patience_s=0.4, text=text) for _ in range(2)]
            return await asyncio.gather(*asked, return_exceptions=True)

        assert all("hangs" in str(fault) for fault in asyncio.run(both()))

    def test_a_process_that_writes_without_reading_is_heard(self, start: Start) -> None:
        program = """
numbers = iter(range(10**9))
def talk():
    while True:
        send({"progress": next(numbers)})
threading.Thread(target=talk, daemon=True).start()
time.sleep(600)
"""
        engine = start(WELL_BEHAVED + program)
        asked = threading.Thread(target=lambda: why_lost(engine, text="x" * 5_000_000), daemon=True)
        asked.start()
        until(lambda: engine._progress[0] is not None and engine._progress[0] > 1000)
        engine.stop()
        asked.join()


class TestOutput:
    def test_output_without_end_blocks_nothing_and_its_end_is_kept(self, start: Start) -> None:
        program = """
def answer(n, *_):
    for number in range(20_000):
        print("line", number, "x" * 100)
    sys.stdout.flush()
    send({"id": n, "result": None})
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)
        engine.call("talk", patience_s=60)
        until(lambda: engine.output[-1].startswith("line 19999 "))
        assert len(engine.output) == 400

    def test_a_line_without_end_is_seen_and_cut(self, start: Start) -> None:
        engine = start("import sys, time; sys.stdout.write('x' * 5_000_000); sys.stdout.flush(); time.sleep(600)")
        until(lambda: bool(engine.output) and len(engine.output[0]) == 2_000)

    def test_a_progress_bar_is_lines(self, start: Start) -> None:
        engine = start("print('10%\\r50%\\r100%', end='', flush=True); import time; time.sleep(600)")
        until(lambda: engine.output == ["10%", "50%", "100%"])

    def test_errors_and_bytes_that_are_no_text_are_kept(self, start: Start) -> None:
        engine = start("import os, time; os.write(2, b'caf\\xe9\\n'); time.sleep(600)")
        until(lambda: engine.output == ["caf\N{REPLACEMENT CHARACTER}"])


class TestStopping:
    def test_an_engine_that_ends_when_nobody_can_ask_it_is_not_killed(self, start: Start, tmp_path: Path) -> None:
        program = "serve(lambda n, *_: send({'id': n, 'result': 1}))\nopen(sys.argv[1], 'w').write('ended')"
        engine = EngineProcess([*PYTHON, WELL_BEHAVED + program, str(tmp_path / "end")], name="the engine")
        engine.call("ask", patience_s=20)
        engine.stop()
        assert (tmp_path / "end").read_text() == "ended"

    def test_one_that_ignores_all_requests_is_killed(self, start: Start) -> None:
        program = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
send({"progress": 1})
while True:
    time.sleep(600)
"""
        engine = start(WELL_BEHAVED + program)
        until(lambda: engine._progress[0] == 1)
        engine.stop()
        assert not psutil.pid_exists(engine.pid)

    def test_twice_and_on_a_dead_one(self, start: Start) -> None:
        engine = start("pass")
        why_lost(engine)
        engine.stop()
        engine.stop()

    def test_open_and_later_questions_are_told(self, start: Start) -> None:
        engine = start(WELL_BEHAVED + "serve(lambda n, *_: send({'progress': n}))")
        told: list[str] = []
        waiting = threading.Thread(target=lambda: told.append(why_lost(engine)), daemon=True)
        waiting.start()
        until(lambda: engine._progress[0] == 1)
        engine.stop()
        waiting.join()
        assert [*told, why_lost(engine)] == ["the engine was stopped"] * 2

    @pytest.mark.parametrize("way", ["stays", "leaves the group", "leaves the session"])
    @pytest.mark.parametrize("end", ["stop", "crash", "hang"])
    def test_nothing_that_it_started_survives(self, start: Start, way: str, end: str) -> None:
        options = {"stays": "", "leaves the group": "process_group=0", "leaves the session": "start_new_session=True"}
        program = f"""
def answer(n, call, given):
    if call == "start":
        sleeper = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], {options[way]})
        send({{"id": n, "result": sleeper.pid}})
    elif call == "crash":
        os._exit(1)
    elif call == "hang":
        time.sleep(600)
serve(answer)
"""
        engine = start(WELL_BEHAVED + program)
        grandchild = engine.call("start", patience_s=20)
        assert psutil.pid_exists(grandchild)
        if end == "stop":
            engine.stop()
        else:
            why_lost(engine, end, patience_s=0.4)
        assert not _lives(grandchild)

    def test_no_thread_and_no_descriptor_is_left(self) -> None:
        open_before = psutil.Process().num_fds()
        threads_before = threading.active_count()
        for program in (ECHO, "pass", WELL_BEHAVED + "time.sleep(600)"):
            engine = EngineProcess([*PYTHON, program], name="the engine", grace_s=0.3)
            engine.stop()
        assert threading.active_count() == threads_before
        assert psutil.Process().num_fds() == open_before

    def test_ctrl_c_at_the_terminal_is_not_its_business(self, start: Start) -> None:
        engine = start(ECHO)
        assert os.getpgid(engine.pid) != os.getpgid(0)
        assert engine.call("ask", patience_s=20) == ["ask", {}]


def _lives(pid: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_variables_are_added_to_those_of_this_process(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "1")
    program = WELL_BEHAVED + "serve(lambda n, *_: send({'id': n, 'result': os.environ['MINE'] + os.environ['YOURS']}))"
    assert start(program, environment={"YOURS": "2"}).call("ask", patience_s=20) == "12"
    assert "YOURS" not in os.environ


def test_a_stopped_process_gets_no_signal_any_more(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be another process's by then."""
    engine = start("pass")
    engine.stop()
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    engine.stop()
    assert sent == []
