"""`draftmark mock` as a program."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "draftmark", "mock", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def ask(url: str, tokens: int) -> dict[str, Any]:
    body = json.dumps({"prompt": [1, 2], "max_tokens": tokens}).encode()
    with urllib.request.urlopen(url + "/v1/completions", body) as answer:  # noqa: S310 - the loopback
        return json.load(answer)


def test_it_says_where_it_is_and_ends_with_130_on_ctrl_c() -> None:
    with running("--accepted-cycle", "3,0,2", "--ttft", "0") as (process, line):
        assert line.startswith("listening on http://127.0.0.1:")
        told = ask(line.split()[-1], 10)["metrics"]["speculative_decoding"]
        assert (told["num_draft_tokens"], told["num_accepted_draft_tokens"], told["num_spec_tokens"]) == (9, 5, 3)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_it_ends_once_enough_requests_were_answered() -> None:
    with running("--requests", "2", "--dialect", "openai", "--ttft", "0", "--step", "0") as (process, line):
        url = line.split()[-1]
        assert ask(url, 3)["choices"][0]["text"] == "tok0 tok1 tok2"
        assert process.poll() is None
        assert ask(url, 1)["usage"]["completion_tokens"] == 1
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--lie", "bytewize"], "did you mean 'bytewise'?"),
        (["--dialect", "vlm"], "no dialect 'vlm'"),
        (["--accept", "0.5,x"], "--accept '0.5,x': numbers parted by commas are wanted"),
        (["--accept", "0.5", "--accepted-cycle", "1"], "acceptance given twice"),
        (["--draft-length", "3"], "a draft length without acceptance"),
        (["--ttft", "-1"], "ttft_s of -1.0"),
        (["--requests", "0"], "requests"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_options_end_with_2_and_a_sentence(call: Callable[..., Any], arguments: list[str], says: str) -> None:
    said = call("mock", *arguments)
    assert said.code == 2
    assert says in said.err
    assert "Traceback" not in said.err
    assert said.out == ""
