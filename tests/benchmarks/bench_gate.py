"""What the gate does over many nights: false alarms, the power to see a loss, and whether its intervals hold.

Nights are simulated, and judged by the gate itself. A night has 50 cells of 24 conversations. What a turn takes is its
conversation's pace (prompts differ), the run's (the machine, in common to all arms) and the turn's own noise; speed-ups
differ from prompt to prompt. The noise is what was measured on two busy CPU cores, and a quiet machine's as assumed;
`make bench-gate RUN=runs/x` takes it from a run with at least two repeats instead.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from draftmark.results.columns import CellColumns
from draftmark.results.comparing import CellChange, Comparison, LogRatio, MetricChange, RunName
from draftmark.results.comparing.changes import spanned
from draftmark.results.comparing.pairing import Paired
from draftmark.results.comparing.uncertainty import over_conversations
from draftmark.results.gating import Rules, judge
from draftmark.results.metrics.stamps import decoding
from draftmark.results.records import ModelIdentity, RunManifest
from draftmark.results.run_folder.store import RunStore
from draftmark.results.statistics import Sample, interval, ratio_of_ratios
from draftmark.results.summary import CellSummary, RunSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

pytestmark = pytest.mark.slow  # `make bench-gate` asks for it

CELLS, CONVERSATIONS, LOSS = 50, 24, 0.03
NIGHTS = 100
RUNS = 2_000
"""Simulated runs behind each coverage."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the log of a time per token."""

    turn: float
    """Of a turn from one repeat to the next."""
    prompts: float
    """Of the speed from prompt to prompt."""
    run: float
    """Of one run to the next, in common to all of its arms."""
    source: str


MEASURED = Noise(turn=0.042, prompts=0.029, run=0.026, source="a vLLM run on two CPU cores, 48 prompts x 3 repeats")
QUIET = Noise(turn=0.01, prompts=0.03, run=0.01, source="assumed of a quiet machine")
SPEEDUPS = 0.25
"""Standard deviation of the log of the speed-up from prompt to prompt: acceptance differs by text."""


def noise_of(folder: Path) -> Noise:
    """Take the noise from a run's baseline arm: residuals of prompts and repeats, their means, and rounds for runs."""
    run = RunStore.read(folder)
    cell = next(one for one in run.manifest.cells if one.key.arm.drafter == "none" and not one.key.arm.control)
    columns = CellColumns.from_turns(run.turns(cell.cell_id))
    found = decoding(columns)
    asked = np.unique(np.stack([columns.question, columns.turn_index]), axis=1, return_inverse=True)[1].reshape(-1)
    table = np.full((asked.max() + 1, columns.repeat.max() + 1), np.nan)
    valid = found.valid
    table[asked[valid], columns.repeat[valid]] = np.log(found.seconds[valid] / found.tokens[valid])
    table = table[np.isfinite(table).all(axis=1)]
    if min(table.shape) < 2:
        pytest.exit(f"{folder} has no two repeats of two prompts, so its noise is unknown", returncode=2)
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return Noise(
        turn=float(np.sqrt((rest**2).sum() / freedom)),
        prompts=float(table.mean(axis=1).std(ddof=1)),
        run=float(table.mean(axis=0).std(ddof=1)),
        source=f"{folder}, arm {cell.key.arm.label}, {table.shape[0]} prompts x {table.shape[1]} repeats",
    )


_RUN = os.environ.get("BENCH_RUN")
NOISES = [noise_of(Path(_RUN))] if _RUN else [MEASURED, QUIET]


def times(draw: Generator, noise: Noise, pace: NDArray[np.float64], cells: int, repeats: int) -> NDArray[np.float64]:
    """Seconds per token of (cells, conversations, repeats), for a run whose common pace is in `pace` already."""
    shape = (cells, pace.shape[-1], repeats)
    found: NDArray[np.float64] = np.exp(np.log(pace)[..., None] + draw.normal(0, noise.turn, shape))
    return found


@dataclass(frozen=True)
class Night:
    """Seconds per token of every turn, (cells, conversations, repeats): of either run without and with speculation."""

    none: tuple[NDArray[np.float64], NDArray[np.float64]]
    control: tuple[NDArray[np.float64], NDArray[np.float64]]
    arm: tuple[NDArray[np.float64], NDArray[np.float64]]
    tokens: NDArray[np.float64]


def night(draw: Generator, noise: Noise, repeats: int, lost: int) -> Night:
    """Two runs of the same build, but that the first `lost` cells of the second are slower by `LOSS`."""
    prompts = np.exp(draw.normal(0, noise.prompts, (CELLS, CONVERSATIONS)))
    speedups = 1.3 * np.exp(draw.normal(0, SPEEDUPS, (CELLS, CONVERSATIONS)))
    losses = np.where(np.arange(CELLS) < lost, 1 / (1 - LOSS), 1.0)[:, None]
    machine = np.exp(draw.normal(0, noise.run, 2))
    plain = [prompts * machine[run] for run in (0, 1)]
    fast = [prompts / speedups * machine[0], prompts / speedups * machine[1] * losses]
    drawn = [tuple(times(draw, noise, pace, CELLS, repeats) for pace in paces) for paces in (plain, plain, fast)]
    return Night(*drawn, tokens=np.round(draw.uniform(64, 256, (CELLS, CONVERSATIONS))))  # type: ignore[arg-type]


def pairs(conversations: int) -> Paired:
    codes = np.arange(conversations)
    return Paired(sums=[], cluster=codes, stratum=np.zeros(conversations, dtype=np.int64), left_out=0, entries=[])


def speedup_change(found: Night, cell: int, known: Paired) -> MetricChange:
    """What the gate is given of one cell: the paired ratio of speed-ups, against `none` and against its control."""
    tokens = found.tokens[cell]
    against = []
    for plain in (found.none, found.control):
        rows = [
            row
            for run in (1, 0)
            for side in (plain, found.arm)
            for row in (side[run][cell].mean(axis=1) * tokens, tokens)
        ]
        one = over_conversations(known, np.stack(rows))
        assert isinstance(one, LogRatio)
        against.append(one)
    low, high = spanned(against) or (None, None)
    ratio = float(np.exp(against[0].value))
    return MetricChange(
        metric="speedup", unit="1", better="higher", baseline=1.3, candidate=1.3 * ratio, against=against, ratio=ratio,
        low=low, high=high, rounds=(1, 1), method="paired by conversation",
    )  # fmt: skip


def judged(changes: list[MetricChange]) -> list[str]:
    """The states that the gate gives the cells of a night."""
    cells = [
        CellChange(
            name=f"cell {number}", baseline_id="a", candidate_id="c", speculates=True, settings=[], metrics=[change]
        )
        for number, change in enumerate(changes)
    ]
    run = RunName(run_id="a", name="a", folder="a", status="complete")
    other = run.model_copy(update={"run_id": "b"})
    comparison = Comparison(baselines=[run], candidate=other, settings=[], cells=cells, vanished=[], appeared=[])
    rules = Rules.model_validate({"metrics": {"speedup": LOSS}})
    return [one.state for one in judge(comparison, rules, candidate=_SUMMARY).judgements]


_SUMMARY = RunSummary(
    schema_version=1,
    manifest=RunManifest(run_id="b", name="b", plan={}, plan_hash="p", target=ModelIdentity(name="t")),
    cells=[
        CellSummary(
            cell_id="c", backend="x", engine={}, target="t", drafter="ngram", draft_length=4, control=False, arm="a",
            group="g", suite="s", category=None, concurrency=1, status="complete", status_text="all", turns_ok=9,
            turns_failed=0, turns_expected=9, truncated=0, metrics={}, changed={},
        )
    ],
    lamps=[], divergences=[], failures=[], elapsed_s=None,
)  # fmt: skip


def unpaired(found: Night) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """What an unpaired t-test of the arm's tokens per second calls slower at 5%: over turns, and over rounds' means."""
    said = []
    for over in ("turns", "rounds"):
        before, after = (
            (1 / side).reshape(CELLS, -1) if over == "turns" else (1 / side).mean(axis=1) for side in found.arm
        )
        if before.shape[1] < 2:
            said.append(np.zeros(CELLS, dtype=bool))
            continue
        told = stats.ttest_ind(after, before, axis=1, equal_var=False)
        said.append((told.pvalue < 0.05) & (after.mean(axis=1) < before.mean(axis=1)))
    return said[0], said[1]


def nights(
    noise: Noise, repeats: int, lost: int, count: int
) -> Iterator[tuple[list[str], tuple[NDArray[np.bool_], NDArray[np.bool_]]]]:
    draw = np.random.default_rng([repeats, lost])
    known = pairs(CONVERSATIONS)
    for _ in range(count):
        found = night(draw, noise, repeats, lost)
        yield judged([speedup_change(found, cell, known) for cell in range(CELLS)]), unpaired(found)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.source)
def test_false_alarms_and_power(noise: Noise, tell: Callable[[str], None]) -> None:
    tell(f"noise from {noise.source}: turn {noise.turn:.1%}, prompts {noise.prompts:.1%}, runs {noise.run:.1%}")
    tell(f"nights of {CELLS} cells, {CONVERSATIONS} conversations, tolerance {LOSS:.0%}; {NIGHTS} nights each")
    tell("repeats: gate: red cells a night, nights with any, passed | t-test over turns | t-test over rounds: the same")
    power = []
    for repeats in range(1, 6):
        still = list(nights(noise, repeats, 0, NIGHTS))
        red = np.array([states.count("regression") for states, _ in still])
        passed = np.mean([states.count("pass") / CELLS for states, _ in still])
        naive = [np.array([slower[which].sum() for _, slower in still]) for which in (0, 1)]
        lost = list(nights(noise, repeats, 1, NIGHTS))
        power.append(np.mean([states[0] == "regression" for states, _ in lost]))
        green = np.mean([states[0] == "pass" for states, _ in lost])
        theirs = [np.mean([slower[which][0] for _, slower in lost]) for which in (0, 1)]
        tell(
            f"{repeats}: {red.mean():.3f}, {np.mean(red > 0):.1%}, {passed:.1%} | "
            + " | ".join(f"{one.mean():.2f}, {np.mean(one > 0):.1%}" for one in naive)
            + f" | {LOSS:.0%} loss in one cell seen: gate {power[-1]:.1%} (passed {green:.1%}), t-tests "
            + ", ".join(f"{one:.1%}" for one in theirs)
        )
        # 5% of nights may be red; 100 nights tell it within 6.5 points (three standard errors).
        assert np.mean(red > 0) <= 0.05 + 0.065
        assert green <= 0.05 + 0.065
    assert power[-1] >= power[0] - 0.05  # both are near 1 where little is needed


@pytest.mark.parametrize("clusters", [8, 12, 16, 19, 20, 24, 36, 48])
@pytest.mark.parametrize("lengths", ["capped", "skewed"])
def test_coverage(tell: Callable[[str], None], lengths: str, clusters: int) -> None:
    """Conversations are drawn anew in each run; their change, their speed-up and their length differ by text.

    Answers end at max_tokens at the latest, as benchmarks cap them; or their lengths are skewed without a cap, where a
    few long ones make up much of the sum: that is reported, and held to less.
    """
    noise, draw = NOISES[0], np.random.default_rng([clusters, len(lengths), lengths == "skewed"])
    known = pairs(clusters)
    truth = {name: _truth(noise, lengths, name) for name in ("change", "speedup")}
    held = {"change": 0, "speedup": 0}
    for _ in range(RUNS):
        rows = _sample(draw, noise, lengths, clusters)
        found = over_conversations(known, rows)
        assert isinstance(found, LogRatio)
        held["change"] += abs(found.value - truth["change"]) <= found.half_width()
        own = interval(
            Sample(known.cluster, known.stratum, np.zeros(clusters, dtype=np.int64)), rows[:4], ratio_of_ratios
        )
        held["speedup"] += own.low <= np.exp(truth["speedup"]) <= own.high
    shares = {name: count / RUNS for name, count in held.items()}
    tell(
        f"{clusters:2d} conversations, {lengths} lengths: the 95% interval of a change of speed-ups holds the truth in "
        f"{shares['change']:.1%} of {RUNS:,} runs, that of a speed-up in {shares['speedup']:.1%}"
    )
    assert all(share >= 0.90 for share in shares.values())
    if clusters >= 20:
        least = 0.93 if lengths == "capped" else 0.92
        assert all(least <= share <= 0.97 for share in shares.values()), shares


CHANGES = 0.05
"""Standard deviation of the log of what changed, from prompt to prompt."""


def _sample(draw: Generator, noise: Noise, lengths: str, clusters: int, repeats: int = 3) -> NDArray[np.float64]:
    """The eight rows of sums of conversations that were drawn at random, with a loss that differs by text."""
    tokens = np.round(np.exp(draw.normal(np.log(128), 0.6, clusters))) + 1
    if lengths == "capped":
        tokens = np.minimum(tokens, 256)
    speedups = 1.3 * np.exp(draw.normal(0, SPEEDUPS, clusters))
    changes = np.exp(draw.normal(-0.03, CHANGES, clusters))
    prompts = np.exp(draw.normal(0, noise.prompts, clusters))

    def row(pace: NDArray[np.float64]) -> NDArray[np.float64]:
        noisy: NDArray[np.float64] = np.exp(draw.normal(0, noise.turn, (clusters, repeats))).mean(axis=1)
        return pace * noisy * tokens

    plain, before = prompts, prompts / speedups
    after = before / changes
    return np.stack([row(plain), tokens, row(after), tokens, row(plain), tokens, row(before), tokens])


def _truth(noise: Noise, lengths: str, name: str) -> float:
    """The log ratio over all conversations that there are: of two million drawn ones."""
    rows = _sample(np.random.default_rng(1), noise, lengths, 2_000_000, 1).sum(axis=1)
    logs = np.log(rows[::2] / rows[1::2])
    return float(logs[0] - logs[1] - (logs[2] - logs[3] if name == "change" else 0.0))
