"""Runs made on the spot, of known truth: what a step costs, what is accepted, how noisy clock and machine are.

What a drafter gets accepted follows from the question alone, as in greedy decoding; only times are drawn. A run is two
arms without speculation (baseline and control) and drafting arms, in one engine, at one request in flight.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from draftmark.results.records import (
    Arm,
    CellKey,
    CellRecord,
    Divergence,
    Environment,
    ModelIdentity,
    RunManifest,
    Sampling,
    Session,
    StepColumns,
    SuiteIdentity,
    TurnRecord,
)
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = Environment(
    draftmark="0.1.0",
    commit=None,
    python="3.11.7",
    platform="Linux",
    cpu="a CPU",
    cores=8,
    memory_bytes=None,
    gpus=["GPU-A, 80 GiB, 1.0"],
    packages={"engine": "1.0"},
)
ACCEPT = (0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.4, 0.4)
"""Chance that the target accepts a draft at each position, given those before."""


@dataclass
class Made:
    """What a made run is like."""

    seed: int = 0
    conversations: int = 24
    repeats: int = 3
    launches: int = 1
    tokens: int = 65
    lengths: tuple[int, ...] = (4,)
    """D of each drafting arm, an ngram drafter."""
    step_s: float = 0.020
    drafting_step_s: float = 0.024
    drafting_s: float | None = None
    """Seconds of a drafting step that are drafting; null where the engine does not tell."""
    noise: float = 0.01
    """Standard deviation of a turn's time, as a share."""
    shift: float = 0.0
    """How much slower this run's machine is, in common to all arms."""
    launch_noise: float = 0.0
    """Standard deviation of an engine start, per arm, as a share."""
    really: int | None = None
    """What the drafter really drafts a step; 0: it is silently off."""
    control: bool = True
    suite: str = "coding"
    suite_hash: str = "5" * 64
    weights: str = "b" * 64
    prompt: str = "asked"
    """Changes what every question says."""
    drafter: str = "ngram"
    engine: dict[str, Any] = field(default_factory=lambda: {"dtype": "bfloat16"})
    resolved: dict[str, Any] = field(default_factory=lambda: {"gpus": 1})
    sampling: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    failing: tuple[int, ...] = ()
    """Questions whose turns fail in every drafting arm."""
    cached: float | None = None
    """Share of prompt tokens that the engine says its prefix cache answered."""
    faults: int = 0
    """Answers of each drafting arm that leave the baseline's without excuse."""
    status: str = "complete"


def make_run(folder: Path, **changes: Any) -> Path:
    """Write a run and return its folder."""
    made = Made(**changes)
    draw = np.random.default_rng(made.seed)
    arms = [Arm(drafter="none", draft_length=0)]
    arms += [Arm(drafter="none", draft_length=0, control=True)] * made.control
    arms += [Arm(drafter=made.drafter, draft_length=length) for length in made.lengths]
    cells = [_cell(made, arm) for arm in arms]
    offsets = {
        (cell.cell_id, launch): float(np.exp(draw.normal(0, made.launch_noise)))
        for cell in cells
        for launch in range(made.launches)
    }
    with RunStore.create(folder, _manifest(made, cells, folder.name)) as store:
        for cell in cells:
            drafts = cell.key.arm.draft_length > 0
            clock = 0.0
            for repeat in range(made.repeats * made.launches):
                launch = repeat // made.repeats
                for number in range(made.conversations):
                    pace = (1 + made.shift) * offsets[cell.cell_id, launch] * float(np.exp(draw.normal(0, made.noise)))
                    failed = drafts and number in made.failing
                    turn = _turn(made, cell, number, repeat, launch, pace=pace, start=clock, failed=failed)
                    clock = (turn.done_s or clock) + 0.01
                    store.append_turn(turn)
            rows = [_fault(cell, number) for number in range(made.faults)] if drafts else []
            if not (cell.key.arm.drafter == "none" and not cell.key.arm.control):
                store.write_divergences(cell.cell_id, rows)
            if made.cached is not None:
                before, read = {"prompt_tokens": 0.0, "cached_prompt_tokens": 0.0}, 10_000.0
                after = {"prompt_tokens": read, "cached_prompt_tokens": read * made.cached}
                window = {"session": 0, "launch": 0, "before": before, "after": after}
                store.write_engine(cell.cell_id, {"windows": [window]})
    return folder


def _cell(made: Made, arm: Arm) -> CellRecord:
    key = CellKey(
        backend="reference",
        engine=made.engine,
        target="tiny",
        arm=arm,
        suite=made.suite,
        suite_hash=made.suite_hash,
        sampling=Sampling(max_tokens=made.tokens, **made.sampling),
    )
    turns = made.conversations * made.repeats * made.launches
    return CellRecord(cell_id=f"{arm.label}@{made.suite}", key=key, expected_turns=turns, resolved=made.resolved)


def _manifest(made: Made, cells: list[CellRecord], name: str) -> RunManifest:
    environment = MACHINE.model_copy(update=made.environment)
    return RunManifest(
        run_id=f"run-{name}",
        name=name,
        status=made.status,
        plan={"name": name, "repeats": made.repeats, "chat_template": "model"},
        plan_hash="a" * 64,
        target=ModelIdentity(name="tiny", files={"model.safetensors": made.weights}),
        suites=[
            SuiteIdentity(
                name=made.suite,
                hash=made.suite_hash,
                prompts=made.conversations,
                turns=made.conversations,
                selection="all",
            )
        ],
        cells=cells,
        sessions=[Session(started_at="2026-11-29T21:04:07Z", environment=environment)],
    )


def _accepted(made: Made, number: int, length: int) -> list[tuple[int, int]]:
    """Return (drafted, delivered) of each step of an answer: a chance of its own for each question."""
    draw = np.random.default_rng(number)
    ease = draw.uniform(0.7, 1.15)
    left, steps = made.tokens - 1, []
    while left:
        passed = draw.random(len(ACCEPT)) < ease * np.array(ACCEPT)
        accepted = int(np.argmin(passed)) if not passed.all() else len(ACCEPT)
        steps.append((length, min(min(accepted, length) + 1, left)))
        left -= steps[-1][1]
    return steps


def _turn(
    made: Made, cell: CellRecord, number: int, repeat: int, launch: int, *, pace: float, start: float, failed: bool
) -> TurnRecord:
    arm = cell.key.arm
    length = arm.draft_length if made.really is None or not arm.draft_length else made.really
    steps = _accepted(made, number, length)
    if arm.draft_length and length == 0:
        steps = [(0, 1)] * (made.tokens - 1)
    step_s = pace * (made.drafting_step_s if length else made.step_s)
    prefill_s = 0.05 * pace
    chunk_s = [start + prefill_s + step_s * place for place in range(len(steps) + 1)]
    prompt = hashlib.sha256(f"{made.prompt} {number}".encode()).hexdigest()
    told: dict[str, Any] = {"cell_id": cell.cell_id, "question_id": f"q{number:03d}", "repeat": repeat}
    told |= {"launch": launch, "prompt_hash": prompt, "category": f"c{number % 2}"}
    if failed:
        return TurnRecord(**told, status="failed", sent_s=start, done_s=start + 1)
    return TurnRecord(
        **told,
        finish_reason="length",
        prompt_tokens=100,
        output_tokens=made.tokens,
        output_ids=[number] * made.tokens,
        token_source="ids",
        sent_s=start,
        first_token_s=chunk_s[0],
        last_token_s=chunk_s[-1],
        done_s=chunk_s[-1],
        chunk_s=chunk_s,
        chunk_tokens=[1, *(delivered for _, delivered in steps)],
        steps=StepColumns(
            drafted=[drafted for drafted, _ in steps],
            accepted=[delivered - 1 for _, delivered in steps],
            delivered=[delivered for _, delivered in steps],
            **({} if made.drafting_s is None else _split(made, len(steps), step_s, pace, drafts=length > 0)),
        ),
    )


def _split(made: Made, steps: int, step_s: float, pace: float, *, drafts: bool) -> dict[str, Any]:
    """Return the times of a turn's steps: drafting, the target's pass, and both."""
    drafting_s = (made.drafting_s or 0.0) * pace if drafts else 0.0
    times = {"verify_s": [step_s - drafting_s] * steps, "step_s": [step_s] * steps}
    return times | ({"draft_s": [drafting_s] * steps} if drafts else {})


def _fault(cell: CellRecord, number: int) -> Divergence:
    return Divergence(
        cell_id=cell.cell_id,
        question_id=f"q{number:03d}",
        turn_index=0,
        repeat=0,
        position=3,
        baseline_id=1,
        arm_id=2,
        verdict="fault",
        reason="the tokens are not the target's two likeliest",
    )
