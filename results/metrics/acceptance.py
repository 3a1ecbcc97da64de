"""How many tokens each run of the target yields, and how the drafts fare.

Step i of a turn had d_i drafts, the target accepted a_i and e_i tokens reached the answer; u_i and v_i are the accepted
and drafted tokens that could be of use (see `Evidence`), n is the number of decode steps, D the draft length.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing

if TYPE_CHECKING:
    from draftmark.results.columns import Floats
    from draftmark.results.metrics.evidence import Evidence

_NO_DRAFTS = "this arm drafts nothing"
_NEVER_DRAFTED = "no step had a draft"


def _over_steps(
    evidence: Evidence, numerator: Floats, bounds: tuple[float | None, float | None], *notes: str
) -> Outcome:
    return evidence.pooled(
        numerator, evidence.steps, source=evidence.count_source, bounds=bounds, notes=(*evidence.step_notes, *notes)
    )


def _length_bounds(evidence: Evidence) -> tuple[float, float]:
    return 1.0, evidence.draft_length + 1.0


def _no_drafts(evidence: Evidence) -> str | None:
    if (reason := evidence.no_steps()) is not None:
        return reason
    if not evidence.drafts:
        return _NO_DRAFTS
    return None if evidence.drafting.any() else _NEVER_DRAFTED


@declare(
    "acceptance_length",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="Tokens that one run of the target yields on average; 1 means that speculation gave nothing.",
)
def acceptance_length(evidence: Evidence) -> Outcome:
    """AL = sum e_i / n over all decode steps, drafting or not; the token from prefill is excluded. In 1..D+1."""
    if reason := evidence.no_steps():
        return evidence.counted_by_engine("acceptance_length") or missing(reason)
    return _over_steps(evidence, evidence.delivered, _length_bounds(evidence))


@declare(
    "acceptance_length_verified",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="What the target agreed to per step, were no answer ever cut short.",
)
def acceptance_length_verified(evidence: Evidence) -> Outcome:
    """Mean of 1 + a_i over uncut steps. In 1..D+1."""
    if reason := evidence.no_steps():
        return missing(reason)
    whole = ~evidence.cut
    agreed = evidence.counted.per_turn((evidence.counted.accepted + 1) * whole)
    return evidence.pooled(
        agreed,
        evidence.counted.per_turn(whole),
        source=evidence.count_source,
        bounds=_length_bounds(evidence),
        notes=evidence.step_notes,
        nothing="every decode step was cut short by the end of its answer",
    )


@declare(
    "acceptance_length_when_drafted",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="Tokens per step counting only steps that had a draft; hides how often there was none.",
)
def acceptance_length_when_drafted(evidence: Evidence) -> Outcome:
    """Mean of 1 + u_i over steps with d_i > 0: 1 + sum over k of joint_acceptance[k]. In 1..D+1."""
    if reason := _no_drafts(evidence):
        return evidence.counted_by_engine("acceptance_length_when_drafted") or missing(reason)
    with_bonus = evidence.drafting + evidence.counted.per_turn(evidence.useful)
    return evidence.pooled(
        with_bonus,
        evidence.drafting,
        source="engine",
        bounds=_length_bounds(evidence),
        notes=(*evidence.known_notes, *evidence.draft_notes),
    )


@declare(
    "acceptance_length_request_mean",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="Mean of the answers' own acceptance lengths; favours short answers.",
)
def acceptance_length_request_mean(evidence: Evidence) -> Outcome:
    """Mean over turns of the turn's sum e_i / n; turns without a decode step do not count. In 1..D+1."""
    if reason := evidence.no_steps():
        return missing(reason)
    some = evidence.steps > 0
    own = np.divide(evidence.delivered, evidence.steps, out=np.zeros(len(some)), where=some)
    return evidence.pooled(
        own,
        some.astype(float),
        source=evidence.count_source,
        bounds=_length_bounds(evidence),
        notes=evidence.step_notes,
    )


@declare(
    "acceptance_length_token_weighted",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="Answers' acceptance lengths weighted by their decoded tokens; favours answers that drafting suits.",
)
def acceptance_length_token_weighted(evidence: Evidence) -> Outcome:
    """Sum over turns of E * E / n over sum of E, with E = sum e_i of the turn. In 1..D+1."""
    if reason := evidence.no_steps():
        return missing(reason)
    squared = np.divide(
        evidence.delivered**2, evidence.steps, out=np.zeros(len(evidence.steps)), where=evidence.steps > 0
    )
    return evidence.pooled(
        squared,
        evidence.delivered,
        source=evidence.count_source,
        n=int((evidence.steps > 0).sum()),
        bounds=_length_bounds(evidence),
        notes=evidence.step_notes,
    )


@declare(
    "acceptance_length_specdec_bench",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="As NVIDIA's specdec_bench prints it: prefill counts as a step, and each answer counts alike.",
)
def acceptance_length_specdec_bench(evidence: Evidence) -> Outcome:
    """Mean over turns of (1 + sum e_i) / (1 + n). In 1..D+1."""
    if reason := evidence.no_steps():
        return missing(reason)
    known = evidence.counted.has_steps & (evidence.counted.tokens != 0)
    own = (1 + evidence.delivered) / (1 + evidence.steps) * known
    return evidence.pooled(
        own,
        known.astype(float),
        source=evidence.count_source,
        bounds=_length_bounds(evidence),
        notes=evidence.step_notes,
    )


@declare(
    "acceptance_length_sglang",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="As SGLang prints it: all tokens, the one from prefill included, per decode step.",
)
def acceptance_length_sglang(evidence: Evidence) -> Outcome:
    """Sum of T over n, over turns with decode steps; up to one token per answer too high."""
    if reason := evidence.no_steps():
        return missing(reason)
    with_prefill = evidence.delivered + (evidence.steps > 0)
    return _over_steps(evidence, with_prefill, (1.0, None))


@declare(
    "accepted_per_draft",
    unit="tokens",
    better="higher",
    needs=("steps",),
    about="Accepted tokens per draft, without the token that the target adds itself.",
)
def accepted_per_draft(evidence: Evidence) -> Outcome:
    """Mean of u_i over steps with d_i > 0: acceptance_length_when_drafted - 1. In 0..D."""
    if reason := _no_drafts(evidence):
        return missing(reason)
    accepted = evidence.counted.per_turn(evidence.useful)
    return evidence.pooled(
        accepted,
        evidence.drafting,
        source="engine",
        bounds=(0.0, float(evidence.draft_length)),
        notes=(*evidence.known_notes, *evidence.draft_notes),
    )


@declare(
    "acceptance_rate",
    unit="1",
    better="higher",
    needs=("steps",),
    about="Share of the drafted tokens that the target accepted; says nothing of steps without a draft.",
)
def acceptance_rate(evidence: Evidence) -> Outcome:
    """Sum u_i / sum v_i; null when nothing was drafted. In 0..1."""
    if reason := _no_drafts(evidence):
        return evidence.counted_by_engine("acceptance_rate") or missing(reason)
    accepted = evidence.counted.per_turn(evidence.useful)
    drafted = evidence.counted.per_turn(evidence.useful_drafts)
    return evidence.pooled(
        accepted, drafted, source="engine", bounds=(0.0, 1.0), notes=(*evidence.known_notes, *evidence.draft_notes)
    )


@declare(
    "coverage",
    unit="1",
    better=None,
    needs=("steps",),
    about="Share of the decode steps that had a draft at all.",
)
def coverage(evidence: Evidence) -> Outcome:
    """#(d_i > 0) / n. In 0..1."""
    if reason := evidence.no_steps():
        return evidence.counted_by_engine("coverage") or missing(reason)
    return _over_steps(evidence, evidence.drafting, (0.0, 1.0), *evidence.draft_notes)


@declare(
    "drafted_per_step",
    unit="tokens",
    better=None,
    needs=("steps",),
    about="Tokens drafted per decode step; compare with the draft length D.",
)
def drafted_per_step(evidence: Evidence) -> Outcome:
    """Sum v_i / n. In 0..D."""
    if reason := evidence.no_steps():
        return evidence.counted_by_engine("drafted_per_step") or missing(reason)
    drafted = evidence.counted.per_turn(evidence.useful_drafts)
    return _over_steps(evidence, drafted, (0.0, float(evidence.draft_length)), *evidence.draft_notes)


@declare(
    "drafted_per_draft",
    unit="tokens",
    better=None,
    needs=("steps",),
    about="Tokens per draft, counting only steps that had one.",
)
def drafted_per_draft(evidence: Evidence) -> Outcome:
    """Sum v_i / #(d_i > 0). In 1..D, less on cut steps."""
    if reason := _no_drafts(evidence):
        return missing(reason)
    drafted = evidence.counted.per_turn(evidence.useful_drafts)
    return evidence.pooled(
        drafted,
        evidence.drafting,
        source="engine",
        bounds=(0.0, float(evidence.draft_length)),
        notes=(*evidence.known_notes, *evidence.draft_notes),
    )


def _count(evidence: Evidence, per_turn: Floats) -> Outcome:
    if reason := evidence.no_steps():
        return missing(reason)
    known = int(evidence.counted.has_steps.sum())
    notes = (*evidence.known_notes, *(("inferred, lower bound",) if evidence.infers_steps else ()))
    return Outcome(float(per_turn.sum()), n=known, source=evidence.count_source, notes=notes)


@declare("decode_steps", unit="count", better=None, needs=("steps",), about="Runs of the target after prefill.")
def decode_steps(evidence: Evidence) -> Outcome:
    """The sum of n over turns; the value's n counts the turns."""
    return _count(evidence, evidence.steps)


@declare("drafting_steps", unit="count", better=None, needs=("steps",), about="Decode steps that had a draft.")
def drafting_steps(evidence: Evidence) -> Outcome:
    """#(d_i > 0): what acceptance_histogram adds up to."""
    found = _count(evidence, evidence.drafting)
    return found if not evidence.infers_steps else replace(found, source="engine", notes=evidence.known_notes)


@declare("steps_without_draft", unit="count", better=None, needs=("steps",), about="Decode steps that had no draft.")
def steps_without_draft(evidence: Evidence) -> Outcome:
    """#(d_i = 0), counted apart from acceptance_histogram."""
    return _count(evidence, evidence.steps - evidence.drafting)


ACCEPTANCE: tuple[Metric, ...] = (
    acceptance_length,
    acceptance_rate,
    coverage,
    drafted_per_step,
    acceptance_length_when_drafted,
    acceptance_length_verified,
    accepted_per_draft,
    drafted_per_draft,
    acceptance_length_request_mean,
    acceptance_length_token_weighted,
    acceptance_length_specdec_bench,
    acceptance_length_sglang,
    decode_steps,
    drafting_steps,
    steps_without_draft,
)
