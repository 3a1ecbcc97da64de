"""Real run folders with known numbers: every arm's speed-up, AL and draft overhead are arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.results.records import (
    Arm,
    CellKey,
    CellRecord,
    Divergence,
    Environment,
    ModelIdentity,
    PromptRecord,
    RunManifest,
    Sampling,
    Session,
    StepColumns,
    SuiteIdentity,
    TurnRecord,
)
from draftmark.results.records.loads import ClosedLoad
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLAIN_S = 0.05
"""Seconds per token of the baseline."""
STEPS = 10
"""Decode steps of a speculating turn; each yields two tokens of three drafted, so AL is 2."""
JITTER = {
    "none": (0,),
    "ngram": (3, -2, 1, -3, 2, -1, 4, -4, 2, -2),
    "suffix": (-3, 3, -1, 2, -2, 4, -4, 1, -1, 1),
    "eagle3": (1, -1, 3, 2, -3, -2, 0, 4, -4, 0),
    "mtp": (2, -2, -1, 1, 4, -4, 3, -3, 1, -1),
}
"""By drafter: by how many percent each question in turn is slower than the arm's mean."""


def environment(**changes: Any) -> Environment:
    known = {
        "draftmark": "0.1.0",
        "commit": "0f6d9c1",
        "python": "3.11.9",
        "platform": "Linux",
        "cpu": "Example CPU",
        "cores": 2,
        "memory_bytes": 8 * 2**30,
        "packages": {"torch": "2.13.0"},
    }
    return Environment(**{**known, **changes})


def gpus(count: int, name: str = "NVIDIA H100") -> dict[str, Any]:
    """What a run on GPUs of this machine has: pass it on as `write_run(..., **gpus(2))`."""
    return {
        "resolved": {"gpus": count, "vllm": "0.32.0"},
        "backend": "vllm",
        "machine": environment(gpus=[f"{name}, 81559 MiB, 570.1"] * count, packages={"vllm": "0.32.0"}),
    }


def write_run(
    folder: Path,
    speedups: Mapping[str, float],
    *,
    questions: int = 10,
    answered: Mapping[str, int] | None = None,
    control: float | None = None,
    plain_s: float = PLAIN_S,
    backend: str = "reference",
    engine: dict[str, Any] | None = None,
    target: str = "tiny",
    weights: str = "ab12" * 16,
    suite: str = "coding",
    suite_hash: str = "5" * 64,
    sampling: Sampling | None = None,
    load: ClosedLoad | None = None,
    resolved: dict[str, Any] | None = None,
    machine: Environment | None = None,
    timed: bool = True,
    compared: bool = True,
    faults: tuple[str, ...] = (),
    options: dict[str, Any] | None = None,
    started_at: str = "2026-11-29T21:04:07Z",
    **of_manifest: Any,
) -> Path:
    """Write a finished run of one suite and return its folder.

    Args:
        folder: The run folder; its name is the run's id.
        speedups: By drafter (a key of `JITTER`); D is 3. A run without `none` has no baseline.
        questions: Conversations, one turn each, in two categories.
        answered: By drafter: how many of the questions were answered; the others are missing.
        control: How many times slower the second run of the baseline is than the first; null leaves it out.
        plain_s: Seconds per token without speculation.
        faults: Drafters whose first answer left the baseline's without excuse.
        timed: Whether the engine timed its steps, so that there is a draft overhead: 0.1.
        compared: Whether answers were held against the baseline's.
        options: Of every drafter.
    """
    rates = {name: plain_s / gain for name, gain in speedups.items()}
    arms = {name: _arm(name, options) for name in rates}
    if control is not None:
        arms["control"], rates["control"] = Arm(drafter="none", draft_length=0, control=True), plain_s * control
    key = {
        "backend": backend,
        "engine": {"device": "cpu"} if engine is None else engine,
        "target": target,
        "suite": suite,
        "suite_hash": suite_hash,
        "load": load or ClosedLoad(),
        "sampling": sampling or Sampling(),
    }
    cells = [
        CellRecord(
            cell_id=name,
            key=CellKey(**key, arm=arm),
            expected_turns=questions,
            resolved={"gpus": 0} if resolved is None else resolved,
        )
        for name, arm in arms.items()
    ]
    manifest = {
        "run_id": folder.name,
        "name": "made",
        "status": "complete",
        "plan": {"name": "made", "target": target},
        "plan_hash": "9b1d",
        "target": ModelIdentity(name=target, files={"model.safetensors": weights}),
        "suites": [SuiteIdentity(name=suite, hash=suite_hash, prompts=questions, turns=questions, selection="all")],
        "cells": cells,
        "sessions": [
            Session(started_at=started_at, ended_at=started_at, elapsed_s=9.0, environment=machine or environment())
        ],
    }
    with RunStore.create(folder, RunManifest(**{**manifest, **of_manifest})) as store:
        store.write_prompts(
            PromptRecord(suite=suite, question_id=f"q{n}", turn_index=0, category=_category(n), text_hash=f"{n}" * 8)
            for n in range(questions)
        )
        for name, arm in arms.items():
            for n in range((answered or {}).get(name, questions)):
                store.append_turn(_turn(name, arm, n, rates[name], plain_s, timed=timed, changed=name in faults))
            if compared and name != "none":
                store.write_divergences(name, [_fault(name)] if name in faults else [])
    return folder


def _arm(drafter: str, options: dict[str, Any] | None) -> Arm:
    plain = drafter == "none"
    return Arm(drafter=drafter, draft_length=0 if plain else 3, options={} if plain else options or {})


def _category(question: int) -> str:
    return ("edit", "write")[question % 2]


def _turn(name: str, arm: Arm, n: int, rate: float, plain_s: float, *, timed: bool, changed: bool) -> TurnRecord:
    """One turn of 21 tokens: the first from prefill after half a second, then 20 at the arm's rate."""
    plain = arm.drafter == "none"
    steps, each = (20, 1) if plain else (STEPS, 2)
    drift = JITTER[arm.drafter][n % len(JITTER[arm.drafter])] / 100
    step_s = rate * each * (1 + drift)
    stamps = [n * 10 + 0.5 + step_s * i for i in range(steps + 1)]
    draft_s = 0.0 if plain else 0.1 * plain_s
    times = {"draft_s": [draft_s] * steps, "verify_s": [step_s - draft_s] * steps, "step_s": [step_s] * steps}
    counts = {
        "drafted": [0 if plain else 3] * steps,
        "accepted": [each - 1] * steps,
        "delivered": [each] * steps,
    }
    ids = list(range(21))
    if changed and n == 0:
        ids[5] = 99
    return TurnRecord(
        cell_id=name,
        question_id=f"q{n}",
        category=_category(n),
        prompt_hash=f"{n:x}" * 64,
        finish_reason="eos",
        prompt_tokens=100,
        output_tokens=21,
        output_ids=ids,
        token_source="ids",
        sent_s=n * 10.0,
        first_token_s=stamps[0],
        last_token_s=stamps[-1],
        done_s=stamps[-1],
        chunk_s=stamps,
        chunk_tokens=[1, *[each] * steps],
        prefill_s=0.4,
        steps=StepColumns(**counts, **(times if timed else {})),
    )


def _fault(name: str) -> Divergence:
    return Divergence(
        cell_id=name,
        question_id="q0",
        turn_index=0,
        repeat=0,
        position=5,
        baseline_id=5,
        arm_id=99,
        margin=4.0,
        numeric_difference=0.001,
        top_two=(5, 7),
        verdict="fault",
        reason="the margin 4 is far above rounding",
    )
