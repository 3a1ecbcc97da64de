"""What Draftmark itself costs: the store, the metrics over a million turns, and the answer of `--help`."""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.records import (
    Arm,
    CellKey,
    CellRecord,
    ModelIdentity,
    RunManifest,
    StepColumns,
    TurnRecord,
)
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

STEPS = 16
TURNS = 1_000_000


def _turn(number: int, cell_id: str = "cell") -> TurnRecord:
    """Return a turn of 16 steps of one to four tokens, 20 ms each."""
    accepted = [(number + step) % 4 for step in range(STEPS)]
    delivered = [count + 1 for count in accepted]
    start = number * 0.5
    stamps = [start + 0.1 + 0.02 * step for step in range(STEPS + 1)]
    return TurnRecord(
        cell_id=cell_id,
        question_id=f"q{number % 10_000}",
        repeat=number // 10_000,
        category=f"c{number % 11}",
        prompt_hash="p",
        finish_reason="length",
        prompt_tokens=100,
        output_tokens=1 + sum(delivered),
        output_ids=list(range(1 + sum(delivered))),
        token_source="ids",
        sent_s=start,
        first_token_s=stamps[0],
        last_token_s=stamps[-1],
        done_s=stamps[-1],
        chunk_s=stamps,
        chunk_tokens=[1, *delivered],
        steps=StepColumns(
            drafted=[3] * STEPS,
            accepted=accepted,
            delivered=delivered,
            draft_s=[0.002] * STEPS,
            verify_s=[0.017] * STEPS,
            step_s=[0.02] * STEPS,
        ),
    )


@pytest.fixture
def manifest() -> RunManifest:
    key = CellKey(backend="made", target="made", arm=Arm(drafter="ngram", draft_length=3), suite="s", suite_hash="h")
    cell = CellRecord(cell_id="cell", key=key, expected_turns=TURNS)
    return RunManifest(
        run_id="r", name="bench", plan={}, plan_hash="p", target=ModelIdentity(name="made"), cells=[cell]
    )


def _turns(count: int) -> Iterator[TurnRecord]:
    return (_turn(number) for number in range(count))


def test_metrics_over_a_million_turns(benchmark: BenchmarkFixture, tell: Callable[[str], None]) -> None:
    """Columns are filled by the generator's pace; what is timed apart is measuring every metric from them."""
    start = time.perf_counter()
    columns = CellColumns.from_turns(_turns(TURNS))
    filled = time.perf_counter() - start
    start = time.perf_counter()
    found = benchmark.pedantic(
        lambda: measure(Evidence(columns, drafter="ngram", draft_length=3, baseline=columns)), rounds=1, iterations=1
    )
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    assert found["acceptance_length"].value is not None
    benchmark.extra_info.update(metrics_s=took, filling_s=filled, peak_gib=peak)
    tell(
        f"metrics over {TURNS:,} turns of {STEPS} steps: {took:.1f} s, after {filled:.1f} s of making and reading the "
        f"records; peak memory of the process {peak:.2f} GiB (targets: 60 s, 2 GiB)"
    )


def test_records_through_the_store(
    benchmark: BenchmarkFixture, tell: Callable[[str], None], tmp_path: Path, manifest: RunManifest
) -> None:
    """Every turn is one durable line; reading checks every field again."""
    cell_id = manifest.cells[0].cell_id
    turns = [_turn(number, cell_id) for number in range(5_000)]

    def write() -> None:
        with RunStore.create(tmp_path / str(next(folders)), manifest) as store:
            for turn in turns:
                store.append_turn(turn)

    folders = itertools.count()
    benchmark.pedantic(write, rounds=3, warmup_rounds=1)
    wrote = benchmark.stats.stats.median
    start = time.perf_counter()
    assert sum(1 for _ in RunStore.read(tmp_path / "0").turns(cell_id)) == len(turns)
    read = time.perf_counter() - start
    tell(f"records through the store: {len(turns) / wrote:,.0f} turns/s written, {len(turns) / read:,.0f} turns/s read")


def test_help_answers(benchmark: BenchmarkFixture, tell: Callable[[str], None]) -> None:
    command = [sys.executable, "-m", "draftmark", "--help"]
    benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=7, warmup_rounds=1)
    median = benchmark.stats.stats.median
    bare = [sys.executable, "-c", "pass"]
    start = time.perf_counter()
    subprocess.run(bare, check=True)
    tell(f"draftmark --help: {median:.2f} s (target 0.5 s); an empty Python: {time.perf_counter() - start:.2f} s")
