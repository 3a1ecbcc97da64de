"""Measuring needs about as much memory as the columns themselves, however many turns there are."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.records import StepColumns, TurnRecord

TURNS, STEPS = 1_000, 16


def turn(number: int) -> TurnRecord:
    accepted = [(number + step) % 4 for step in range(STEPS)]
    delivered = [count + 1 for count in accepted]
    stamps = [number * 0.5 + 0.1 + 0.02 * step for step in range(STEPS + 1)]
    times = {"draft_s": [0.002] * STEPS, "verify_s": [0.017] * STEPS, "step_s": [0.02] * STEPS}
    return TurnRecord(
        cell_id="c",
        question_id=f"q{number}",
        prompt_hash="p",
        prompt_tokens=100,
        output_tokens=1 + sum(delivered),
        sent_s=number * 0.5,
        first_token_s=stamps[0],
        last_token_s=stamps[-1],
        done_s=stamps[-1],
        chunk_s=stamps,
        chunk_tokens=[1, *delivered],
        steps=StepColumns(drafted=[3] * STEPS, accepted=accepted, delivered=delivered, batch=[2] * STEPS, **times),
    )


@pytest.mark.parametrize("concurrency", [1, 2])
def test_at_most_as_much_again_and_a_quarter(concurrency: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million turns of 16 steps are 0.83 GiB of columns, and the whole process may take 2."""
    monkeypatch.setattr("draftmark.results.columns._BLOCK", 1 << 10)
    cell = CellColumns.from_turns(map(turn, range(TURNS)))
    held = sum(
        getattr(cell, field.name).nbytes for field in fields(cell) if hasattr(getattr(cell, field.name), "nbytes")
    )
    few = cell.select(cell.question < 20)
    measure(Evidence(few, drafter="ngram", draft_length=3, concurrency=concurrency))  # imports

    tracemalloc.start()
    measure(Evidence(cell, drafter="ngram", draft_length=3, baseline=cell, concurrency=concurrency))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.25 * held
