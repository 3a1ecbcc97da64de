"""Clients against a server that knows what it sent: how far each one's numbers are off, and what they cost.

Each client has one core and the mock server the other; all requests start together. Peers: `vllm bench serve` where
vLLM is installed beside Draftmark, GuideLLM and AIPerf where DRAFTMARK_PEERS names a virtual environment with them:

    python3 -m venv .venv-peers && .venv-peers/bin/pip install guidellm==0.8.1 aiperf==0.13.0
    DRAFTMARK_PEERS=.venv-peers make bench-client

Start-up is the time from launching a client to its first request; CPU seconds are those of the load less those of one
short request. What a peer says of gaps is its inter-token latency, which some take per chunk and some per token.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pytest

from draftmark.backends.mock import MockSettings, mock_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
MODEL = "mock-model"
SECONDS = 3.0
LOADS = [(streams, 0.025) for streams in (1, 8, 32, 128, 256, 512)] + [(1024, 0.1)]
PEER_LOADS = {32, 256, 512}
GAP_P50_S, GAP_P99_S, FIRST_P99_S, CHUNK_CPU_S = 0.002, 0.005, 0.025, 28e-6
"""What Draftmark is held to: gaps against the server's record of the same gap, TTFT against the server's at p99, CPU
seconds of streaming and reading against half of what the best peer took where this was first measured (from 128
streams on: below, the start weighs more)."""


@dataclass(frozen=True)
class Numbers:
    """What a client said, or what is true: seconds at the median and at the 99th percentile; null where not said."""

    ttft_s: tuple[float, float] | None = None
    gap_s: tuple[float, float] | None = None
    tpot_s: tuple[float, float] | None = None


@dataclass(frozen=True)
class Peer:
    """A client as a program, and how its results are read."""

    name: str
    command: Callable[[str, int, int, Path], list[str]]
    """Of URL, streams, tokens and a folder for results."""
    numbers: Callable[[Path, str], Numbers]
    """Of that folder and of what it printed."""


@dataclass(frozen=True)
class Outcome:
    """One run of a client."""

    said: str
    truth: list[dict[str, Any]]
    cpu_s: float
    memory_bytes: int
    startup_s: float

    @property
    def chunks(self) -> int:
        return sum(len(request["chunks"]) for request in self.truth)


def two(values: Any, scale: float = 1.0) -> tuple[float, float]:
    median, high = np.percentile(np.asarray(values, float) * scale, [50, 99])
    return float(median), float(high)


def true_numbers(truth: list[dict[str, Any]]) -> Numbers:
    """Return the numbers of what the server handed to its sockets."""
    chunks = [np.array([chunk["written_s"] for chunk in request["chunks"]]) for request in truth]
    first = [stamps[0] - request["received_s"] for stamps, request in zip(chunks, truth, strict=True)]
    tokens = [sum(chunk["tokens"] for chunk in request["chunks"][1:]) for request in truth]
    tpot = [(stamps[-1] - stamps[0]) / after for stamps, after in zip(chunks, tokens, strict=True)]
    return Numbers(two(first), two(np.concatenate([np.diff(stamps) for stamps in chunks])), two(tpot))


# Draftmark -----------------------------------------------------------------------------------------------------------


def draftmark_numbers(_: Path, said: str) -> Numbers:
    requests = json.loads(said)["requests"]
    stamps = [np.array(request["chunk_s"]) for request in requests]
    first = [mine[0] - request["sent_s"] for mine, request in zip(stamps, requests, strict=True)]
    return Numbers(two(first), two(np.concatenate([np.diff(mine) for mine in stamps])))


DRAFTMARK = Peer(
    "Draftmark",
    lambda url, streams, tokens, _: [sys.executable, str(HERE / "client_load.py"), url, str(streams), str(tokens)],
    draftmark_numbers,
)

# Peers ---------------------------------------------------------------------------------------------------------------


VLLM_BENCH_SERVE = """
import argparse
from vllm.benchmarks.serve import add_cli_args, main
parser = argparse.ArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""
"""What `vllm bench serve` runs; the program itself does not start where vLLM is its build for CPUs."""


def vllm_command(url: str, streams: int, tokens: int, folder: Path) -> list[str]:
    return [
        *(
            sys.executable,
            "-c",
            VLLM_BENCH_SERVE,
            "--backend",
            "openai",
            "--base-url",
            url,
            "--endpoint",
            "/v1/completions",
        ),
        *("--model", MODEL, "--tokenizer", str(folder / "tokenizer"), "--dataset-name", "random"),
        *("--random-input-len", "8", "--random-output-len", str(tokens), "--ignore-eos", "--num-prompts", str(streams)),
        *("--num-warmups", "0", "--ready-check-timeout-sec", "0", "--disable-tqdm", "--save-result", "--save-detailed"),
        *("--result-dir", str(folder), "--result-filename", "vllm.json"),
    ]


def vllm_numbers(folder: Path, _: str) -> Numbers:
    found = json.loads((folder / "vllm.json").read_text())
    gaps = [gap for gaps in found["itls"] for gap in gaps]
    tpot = (found["median_tpot_ms"] / 1e3, found["p99_tpot_ms"] / 1e3)
    return Numbers(two(found["ttfts"]), two(gaps), tpot)


def peers_program(name: str) -> str:
    return str(Path(os.environ.get("DRAFTMARK_PEERS", "/nowhere"), "bin", name).absolute())


def guidellm_command(url: str, streams: int, tokens: int, folder: Path) -> list[str]:
    return [
        *(peers_program("guidellm"), "run", "--disable-console", "--profile", f"kind=concurrent,streams={streams}"),
        *("--backend", f"kind=openai_http,target={url},request_format=/v1/completions"),
        *(
            "--constraint",
            f"kind=max_requests,count={streams}",
            "--tokenizer",
            f"kind=huggingface_auto,model={folder}/tokenizer",
        ),
        *("--data", f"kind=synthetic_text,prompt_tokens=8,output_tokens={tokens}"),
        *("--output", f"kind=json,path={folder}/guidellm.json"),
    ]


def guidellm_numbers(folder: Path, _: str) -> Numbers:
    metrics = json.loads((folder / "guidellm.json").read_text())["benchmarks"][0]["metrics"]

    def taken(name: str) -> tuple[float, float]:
        shares = metrics[name]["successful"]["percentiles"]
        return shares["p50"] / 1e3, shares["p99"] / 1e3

    return Numbers(*map(taken, ("time_to_first_token_ms", "inter_token_latency_ms", "time_per_output_token_ms")))


def aiperf_command(url: str, streams: int, tokens: int, folder: Path) -> list[str]:
    return [
        *("env", "-u", "HF_HUB_OFFLINE"),  # offline it takes a folder for the name of a model
        *(peers_program("aiperf"), "profile", "--model", MODEL, "--url", url, "--endpoint-type", "completions"),
        *("--streaming", "--concurrency", str(streams), "--request-count", str(streams), "--isl", "8"),
        *("--osl", str(tokens), "--extra-inputs", "ignore_eos:true", "--tokenizer", str(folder / "tokenizer")),
        *("--artifact-dir", str(folder), "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics"),
    ]


def aiperf_numbers(folder: Path, _: str) -> Numbers:
    found = json.loads(next(folder.rglob("profile_export_aiperf.json")).read_text())

    def taken(name: str) -> tuple[float, float] | None:
        return (found[name]["p50"] / 1e3, found[name]["p99"] / 1e3) if name in found else None

    gaps = taken("inter_chunk_latency") or taken("inter_token_latency")
    return Numbers(taken("time_to_first_token"), gaps, taken("inter_token_latency"))


def peers() -> list[Peer]:
    """Return those that are installed."""
    found = [Peer("vllm bench serve", vllm_command, vllm_numbers)] if importlib.util.find_spec("vllm") else []
    others = [("guidellm", guidellm_command, guidellm_numbers), ("aiperf", aiperf_command, aiperf_numbers)]
    return found + [Peer(name, *how) for name, *how in others if Path(peers_program(name)).exists()]  # type: ignore[misc]


# Running -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cores() -> Iterator[tuple[int, int]]:
    """Two cores: this process, its server included, keeps to the first; clients get the second."""
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("client and server need a core each")
    first, second = sorted(before)[:2]
    os.sched_setaffinity(0, {first})
    yield first, second
    os.sched_setaffinity(0, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for results, with a tokenizer in it that every peer can load."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {f"w{number}": number for number in range(1000)} | {"</s>": 1000}
    plain = Tokenizer(models.WordLevel(words, unk_token="w0"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="</s>")
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    return tmp_path


class Memory:
    """The most memory that a process and its children held together, looked at four times a second."""

    def __init__(self, pid: int) -> None:
        self.most = 0
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.25):
            try:
                every = [self._process, *self._process.children(recursive=True)]
                self.most = max(self.most, sum(process.memory_info().rss for process in every))
            except psutil.Error:
                continue

    def end(self) -> int:
        self._over.set()
        self._thread.join()
        return self.most


class ClientFailed(Exception):
    """A client that did not end well, with the end of what it printed."""


def truth_of(url: str, method: str) -> Any:
    """Ask the server for what it did, or have it forget that."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request(method, "/truth")
    with connection.getresponse() as answer:
        said = answer.read()
    connection.close()
    return json.loads(said or b"null")


def run_client(peer: Peer, url: str, load: tuple[int, int], folder: Path, core: int) -> Outcome:
    """Run a load of so many streams and tokens, and return what it took and what the server says of it."""
    streams, tokens = load
    truth_of(url, "DELETE")
    said, log = folder / "said.txt", folder / "log.txt"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    began_s = time.perf_counter()
    with said.open("wb") as out, log.open("wb") as problems:
        process = subprocess.Popen(
            peer.command(url, streams, tokens, folder),
            stdout=out,
            stderr=problems,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),  # noqa: PLW1509
        )
        memory = Memory(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        most = memory.end()
    if process.returncode:
        raise ClientFailed(f"{said.read_text()[-2000:]}{log.read_text()[-2000:]}".strip())
    truth = truth_of(url, "GET")["requests"]
    return Outcome(
        said=said.read_text(),
        truth=truth,
        cpu_s=used.ru_utime + used.ru_stime,
        memory_bytes=max(most, 1024 * used.ru_maxrss),
        startup_s=min(request["received_s"] for request in truth) - began_s,
    )


def shown(name: str, said: Numbers, true: Numbers, outcome: Outcome, idle_cpu_s: float) -> str:
    """Return a line: errors in milliseconds at the median and at p99, and costs."""

    def error(mine: tuple[float, float] | None, theirs: tuple[float, float] | None) -> str:
        if mine is None or theirs is None:
            return "-".rjust(16)
        return "/".join(f"{1e3 * (a - b):+.1f}" for a, b in zip(mine, theirs, strict=True)).rjust(16)

    cpu_us = 1e6 * (outcome.cpu_s - idle_cpu_s) / outcome.chunks
    return (
        f"  {name:17}{error(said.ttft_s, true.ttft_s)}{error(said.gap_s, true.gap_s)}{error(said.tpot_s, true.tpot_s)}"
        f"{cpu_us:9.1f}{outcome.memory_bytes / 2**20:9.0f}{outcome.startup_s:8.2f}"
    )


HEADER = f"  {'error, p50/p99 ms:':17}{'TTFT':>15}{'gap':>16}{'TPOT':>16}{'CPU us':>9}{'MiB':>9}{'start s':>8}"


@pytest.mark.parametrize(
    "load", [(*load, tokens) for load in LOADS for tokens in (1, 4)], ids=lambda load: f"{load[0]}x{load[2]}"
)
def test_clients_against_the_truth(
    load: tuple[int, float, int], cores: tuple[int, int], folder: Path, tell: Callable[[str], None]
) -> None:
    streams, step_s, tokens_per_chunk = load
    drafts = {} if tokens_per_chunk == 1 else {"draft_length": 3, "accepted_cycle": (tokens_per_chunk - 1,)}
    tokens = 1 + round(SECONDS / step_s) * tokens_per_chunk
    tell(f"{streams} streams, a chunk of {tokens_per_chunk} tokens per {1e3 * step_s:g} ms")
    tell(HEADER)
    with mock_process(MockSettings(step_s=step_s, model=MODEL, **drafts)) as url:  # type: ignore[arg-type]
        missed: list[str] = []
        for peer in [DRAFTMARK, *(peers() if streams in PEER_LOADS else [])]:
            try:
                idle = run_client(peer, url, (1, 2), folder, cores[1])
                outcome = run_client(peer, url, (streams, tokens), folder, cores[1])
            except ClientFailed as fault:
                assert peer is not DRAFTMARK, str(fault)
                tell(f"  {peer.name:17} failed: {str(fault)[-200:]}")
                continue
            said, true = peer.numbers(folder, outcome.said), true_numbers(outcome.truth)
            if peer is DRAFTMARK:
                said, missed = judged(outcome, said, true, tell)
            tell(shown(peer.name, said, true, outcome, idle.cpu_s))
    assert not missed


def judged(outcome: Outcome, said: Numbers, true: Numbers, tell: Callable[[str], None]) -> tuple[Numbers, list[str]]:
    """Hold Draftmark's stamps to the server's, chunk by chunk.

    Returns its numbers, with the TPOT that the true counts give, and what it is off by more than it may.
    """
    result = json.loads(outcome.said)
    mine = {request["id"].removeprefix("cmpl-"): request for request in result["requests"]}
    errors, tpot, waits, delays = [], [], [], []
    for request in outcome.truth:
        told, stamps = mine[request["id"]], np.array([chunk["written_s"] for chunk in request["chunks"]])
        assert told["ending"] == "complete"
        assert len(told["chunk_s"]) == len(stamps)
        chunk_s = np.array(told["chunk_s"])
        errors.append(np.abs(np.diff(chunk_s) - np.diff(stamps)))
        tpot.append((chunk_s[-1] - chunk_s[0]) / sum(chunk["tokens"] for chunk in request["chunks"][1:]))
        waits.append(request["received_s"] - told["sent_s"])
        delays.append(chunk_s[0] - stamps[0])
    gap, late = two(np.concatenate(errors)), result["lateness"]
    tell(
        f"    gap by gap {1e3 * gap[0]:.2f}/{1e3 * gap[1]:.2f} ms; first chunk read {_ms(delays)} ms after its writing;"
        f" request read by the server {_ms(waits)} ms after it was sent; the client's own lateness"
        f" {1e3 * late['p50_s']:.1f}/{1e3 * late['p99_s']:.1f} ms;"
        f" per chunk {1e6 * result['stream_cpu_s'] / outcome.chunks:.1f} us streaming,"
        f" {1e6 * result['read_cpu_s'] / outcome.chunks:.1f} us reading"
    )
    cpu_s = (result["stream_cpu_s"] + result["read_cpu_s"]) / outcome.chunks if len(outcome.truth) >= 128 else 0.0
    assert said.ttft_s is not None
    assert true.ttft_s is not None
    first_s = abs(said.ttft_s[1] - true.ttft_s[1])
    limits = [(gap[0], GAP_P50_S), (gap[1], GAP_P99_S), (first_s, FIRST_P99_S), (cpu_s, CHUNK_CPU_S)]
    names = ("gap at the median", "gap at p99", "TTFT at p99", "CPU seconds per chunk")
    missed = [f"{name}: {found:.2g}" for name, (found, most) in zip(names, limits, strict=True) if found > most]
    return Numbers(said.ttft_s, said.gap_s, two(tpot)), missed


def _ms(values: list[float]) -> str:
    return "/".join(f"{1e3 * value:.1f}" for value in two(values))
