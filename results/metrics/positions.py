"""Acceptance by place: within the draft, within the output, and by the length of the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence

OUTPUT_EDGES = (0, 16, 64, 256, 1024, 4096)
"""Lower edges of the bins of output position, tokens; the last bin is open."""
CONTEXT_EDGES = (0, 256, 1024, 4096, 16384, 65536)
"""Lower edges of the bins of context length, tokens; the last bin is open."""


_WOULD_TELL = "vLLM in process with its probe tells it, and so does a server whose statistics hold every step"


def _reason(evidence: Evidence) -> str | None:
    if (reason := evidence.no_steps()) is not None:
        return reason
    return None if evidence.drafting.any() else "no step had a draft"


@declare(
    "conditional_acceptance[k]",
    unit="1",
    better="higher",
    needs=("steps",),
    about="How often draft token k is accepted when the tokens before it were.",
)
def conditional_acceptance(evidence: Evidence) -> dict[int, Outcome]:
    """#(u_i >= k) / #(u_i >= k-1 and v_i >= k), k = 1..D; null for a position never proposed. In 0..1."""
    reason, cell = _reason(evidence), evidence.counted
    found = {}
    for k in range(1, evidence.draft_length + 1):
        if reason:
            found[k] = missing(reason)
            continue
        found[k] = evidence.pooled(
            cell.per_turn(evidence.useful >= k),
            cell.per_turn((evidence.useful >= k - 1) & (evidence.useful_drafts >= k)),
            source="engine",
            bounds=(0.0, 1.0),
            notes=evidence.known_notes,
            nothing=f"no draft of {k} tokens was accepted up to token {k - 1}" if k > 1 else "nothing was proposed",
        )
    return found


@declare(
    "joint_acceptance[k]",
    unit="1",
    better="higher",
    needs=("steps",),
    about="How often at least k tokens of a draft are accepted.",
)
def joint_acceptance(evidence: Evidence) -> dict[int, Outcome]:
    """#(u_i >= k) / #(d_i > 0), k = 1..D; their sum is acceptance_length_when_drafted - 1. In 0..1."""
    reason, cell = _reason(evidence), evidence.counted
    found = {}
    for k in range(1, evidence.draft_length + 1):
        found[k] = (
            evidence.joint_by_engine(k) or missing(reason)
            if reason
            else evidence.pooled(
                cell.per_turn(evidence.useful >= k),
                evidence.drafting,
                source="engine",
                bounds=(0.0, 1.0),
                notes=evidence.known_notes,
            )
        )
    return found


@declare(
    "acceptance_histogram[j]",
    unit="count",
    better=None,
    needs=("steps",),
    about="Drafting steps in which exactly j draft tokens were accepted.",
)
def acceptance_histogram(evidence: Evidence) -> dict[int, Outcome]:
    """Steps with d_i > 0 and u_i = j, j = 0..D; adds up to drafting_steps. Steps without a draft are counted apart."""
    if reason := evidence.no_steps():
        return {j: missing(reason) for j in range(evidence.draft_length + 1)}
    counts = np.bincount(evidence.useful[evidence.counted.drafted > 0], minlength=evidence.draft_length + 1)
    shown = set(range(evidence.draft_length + 1)) | {int(j) for j in np.flatnonzero(counts)}
    total = int(counts.sum())
    return {j: Outcome(float(counts[j]), n=total, source="engine", notes=evidence.known_notes) for j in sorted(shown)}


@dataclass(frozen=True)
class _Binned:
    """Acceptance length of the steps whose place lies in [low, high)."""

    by: str
    low: int
    high: int | None

    @property
    def label(self) -> str:
        return f"[{self.low}-{'' if self.high is None else self.high})"

    def __call__(self, evidence: Evidence) -> Outcome:
        if reason := evidence.no_steps():
            return missing(reason)
        if evidence.infers_steps:
            return missing(f"the engine did not tell where in the answer the steps without a draft lie; {_WOULD_TELL}")
        places = evidence.output_places if self.by == "output" else evidence.context_places
        if bool((places < 0).all()):
            return missing("the prompts' token counts are unknown, and so is the context length")
        inside = places >= self.low
        if self.high is not None:
            inside &= places < self.high
        where = "output position" if self.by == "output" else "context length"
        return evidence.pooled(
            evidence.counted.per_turn(evidence.counted.delivered * inside),
            evidence.counted.per_turn(inside),
            source=evidence.count_source,
            bounds=(1.0, evidence.draft_length + 1.0),
            notes=evidence.known_notes,
            nothing=f"no decode step had this {where}",
        )


def _bins(by: str, edges: tuple[int, ...], about: str, formula: str) -> list[Metric]:
    bins = [_Binned(by, low, high) for low, high in zip(edges, (*edges[1:], None), strict=True)]
    return [
        Metric(f"acceptance_length@{by}{one.label}", "tokens", "higher", ("steps",), about, formula, one)
        for one in bins
    ]


def _apart(part: str, others: str) -> Metric:
    @declare(
        f"acceptance_length@{part}",
        unit="tokens",
        better="higher",
        needs=("steps",),
        about=f"Acceptance length within the {part} alone.",
    )
    def apart(evidence: Evidence) -> Outcome:
        """AL over the steps whose first token lies in that part of the output; of thinking that never ends, all do.

        Null where steps are inferred and the counts of some turn of both parts do not tell their place: turns without
        a step that lacks a draft, whose counts do, are those that draft more.
        """
        if reason := evidence.no_steps():
            return missing(reason)
        cell = evidence.counted
        known = cell.has_steps & (cell.thinking >= 0)
        if not known.any():
            return missing("neither the engine nor the target's template marks which tokens are thinking")
        told = evidence.steps_placed | (cell.thinking <= 1) | (cell.thinking == cell.tokens)
        untold = int((known & ~told).sum())
        if untold:
            of = f"of {untold} of {int(known.sum())} turns"
            return missing(f"{of} the engine did not tell where in the answer its steps lie; {_WOULD_TELL}")
        inside = evidence.output_places < np.repeat(cell.thinking, cell.step_count)
        inside = np.repeat(known, cell.step_count) & (inside if part == "thinking" else ~inside)
        count = int(known.sum())
        parts_known = () if count == evidence.turns_ok else (f"parts known for {count} of {evidence.turns_ok} turns",)
        return evidence.pooled(
            cell.per_turn(cell.delivered * inside),
            cell.per_turn(inside),
            source=evidence.count_source,
            bounds=(1.0, evidence.draft_length + 1.0),
            notes=(*parts_known, *evidence.bound_notes),
            nothing=f"every decode step lies in the {others}",
        )

    return apart


POSITIONS: tuple[Metric, ...] = (
    conditional_acceptance,
    joint_acceptance,
    acceptance_histogram,
    *_bins(
        "output",
        OUTPUT_EDGES,
        "Acceptance length by place in the answer.",
        "AL over the decode steps whose first token has this position in the output (prefill's token is position 0).",
    ),
    *_bins(
        "context",
        CONTEXT_EDGES,
        "Acceptance length by how much text the model already sees.",
        "AL over the decode steps whose first token follows this many tokens of prompt and output.",
    ),
    _apart("thinking", "answer"),
    _apart("answer", "thinking"),
)
