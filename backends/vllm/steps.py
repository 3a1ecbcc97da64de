"""From what vLLM's worker tells of one request to the decode steps of a turn, and the totals of its statistics.

The worker's records are exact: every step, with drafts or without. What its statistics alone imply is inferred
(`inferred_steps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draftmark.results.records import ReportedCounts, StepColumns

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Told:
    """What is known of one turn's steps."""

    steps: StepColumns | None
    inferred: bool = False
    prefill_s: float | None = None
    draft_prefill_s: float | None = None
    padding_steps: int = 0
    """Steps, the prefill included, in which the target ran over padding alone; vLLM counts them as drafting."""
    padding_tokens: int = 0
    """All padding that vLLM counts as drafted tokens."""
    problem: str | None = None
    """Why the worker's records could not be used."""


def from_worker(rows: Mapping[str, Any], tokens: int, *, drafts: bool) -> Told:
    """Return the steps of a turn of T = `tokens` tokens from the probe's rows, in which the prefill comes first.

    Rows that come after the last token (an asynchronous scheduler runs ahead) are left out. Rows that do not add up to
    the tokens give no steps, with the reason.
    """
    generated = rows["generated"]
    first = next((index for index, count in enumerate(generated) if count), None)
    mismatch = Told(None, problem=f"the worker saw {sum(generated)} tokens of a request that gave {tokens}")
    if first is None or generated[first] != 1 or tokens < 1:
        return mismatch
    kept: list[int] = []
    delivered: list[int] = []
    left = tokens - 1
    for index in range(first + 1, len(generated)):
        if left and generated[index]:
            kept.append(index)
            delivered.append(min(generated[index], left))
            left -= delivered[-1]
    if left:
        return mismatch
    accepted = [generated[index] - 1 for index in kept]
    verified = [rows["drafted"][index] + rows["placeholders"][index] for index in kept]
    if any(a > tried for a, tried in zip(accepted, verified, strict=True)):
        return Told(None, problem="the worker saw a step give more tokens than it had drafts for, and one")
    # Padding that happened to be right was accepted without having been drafted.
    drafted = [max(rows["drafted"][index], a) for index, a in zip(kept, accepted, strict=True)]
    counted_by_vllm = [rows["drafted"][first] + rows["placeholders"][first], *verified]
    steps = StepColumns.model_construct(  # checked once, by the process that records it
        drafted=drafted,
        accepted=accepted,
        delivered=delivered,
        draft_s=_chosen(rows["draft_s"], kept) if drafts else None,
        verify_s=_chosen(rows["verify_s"], kept),
        step_s=_chosen(rows["step_s"], kept),
        batch=_chosen(rows["batch"], kept),
        prefill_tokens=_chosen(rows["prefill_tokens"], kept),
    )
    alone = all(size == 1 for size in rows["batch"][: first + 1])
    prefill = range(first + 1)
    return Told(
        steps,
        prefill_s=_sum(rows["verify_s"], prefill) if alone else None,
        draft_prefill_s=_sum(rows["draft_s"], prefill) if alone and drafts else None,
        padding_steps=sum(count > 0 for count in counted_by_vllm) - sum(count > 0 for count in drafted),
        padding_tokens=sum(counted_by_vllm) - sum(drafted),
    )


def reported(statistics: Mapping[str, Any] | None, told: Told | None = None) -> ReportedCounts | None:
    """Return the totals of a request's own statistics, as `RequestSpecDecodeMetrics.to_dict` gives them.

    `told` says how much of them is padding, where the worker saw it.
    """
    if statistics is None:
        return None
    return ReportedCounts(
        drafting_steps=statistics["num_spec_steps"],
        drafted=statistics["num_draft_tokens"],
        accepted=statistics["num_accepted_draft_tokens"],
        padding_steps=0 if told is None else told.padding_steps,
        padding_tokens=0 if told is None else told.padding_tokens,
    )


def _chosen(values: list[Any] | None, kept: list[int]) -> list[Any] | None:
    return None if values is None else [values[index] for index in kept]


def _sum(values: list[float] | None, indices: range) -> float | None:
    return None if values is None else sum(values[index] for index in indices)
