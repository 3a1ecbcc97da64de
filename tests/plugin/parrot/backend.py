"""The backend `parrot`: repeats its prompt, on a clock of its own, so that every count and every time is known.

It sleeps for nothing: its stamps say how long each step is meant to have taken.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from draftmark.backends.base import BackendSpec
from draftmark.results.records import Observation, StepColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.backends.base import TieEvidence, TurnRequest
    from draftmark.results.records import Arm

PREFILL_S = 0.5


class ParrotSpec(BackendSpec):
    """`{kind: parrot, step_s: 0.1, draft_s: 0.02}`."""

    kind: Literal["parrot"] = "parrot"
    step_s: Annotated[float, Field(gt=0)] = 0.1
    """Seconds of one pass of the target."""
    draft_s: Annotated[float, Field(ge=0)] = 0.02
    """Seconds that drafting adds to a step."""

    def arm_problem(self, arm: Arm) -> str | None:
        """Refuse drafters of others, and more right drafts than there are drafts."""
        if arm.drafter not in {"none", "mimic"}:
            return f"the parrot has no drafter {arm.drafter!r}; it has none and mimic"
        right = arm.options.get("right", 0)
        if right > arm.draft_length:
            return f"right {right} is above draft_length {arm.draft_length}; lower it"
        return None

    def create(self, target: str) -> ParrotBackend:
        """Build the backend; the target matters only to the tokenizer."""
        return ParrotBackend(self)


class ParrotBackend:
    """Meets the protocol `Backend`."""

    def __init__(self, spec: ParrotSpec) -> None:
        self._spec = spec
        self._now_s = 0.0

    def start(self, arms: Sequence[Arm]) -> None:
        """Set the clock."""
        self._now_s = time.perf_counter()

    def resolved(self, arm: Arm) -> dict[str, Any]:
        """Return what the plan asked for; there is nothing else."""
        return {"step_s": self._spec.step_s}

    async def generate(self, arm: Arm, request: TurnRequest) -> Observation:
        """Repeat the prompt from its start, `max_tokens` tokens in all."""
        tokens = request.sampling.max_tokens
        drafted, right = arm.draft_length, arm.options.get("right", 0)
        draft_s = self._spec.draft_s if drafted else 0.0
        sent_s = self._now_s
        chunk_s, delivered = [sent_s + PREFILL_S], []
        while 1 + sum(delivered) < tokens:
            delivered.append(min(right + 1, tokens - 1 - sum(delivered)))
            chunk_s.append(chunk_s[-1] + self._spec.step_s + draft_s)
        self._now_s = chunk_s[-1]
        steps = len(delivered)
        return Observation(
            finish_reason="length",
            prompt_tokens=len(request.prompt_ids),
            output_tokens=tokens,
            output_ids=[request.prompt_ids[index % len(request.prompt_ids)] for index in range(tokens)],
            token_source="ids",
            sent_s=sent_s,
            first_token_s=chunk_s[0],
            last_token_s=chunk_s[-1],
            done_s=chunk_s[-1],
            chunk_s=chunk_s,
            chunk_tokens=[1, *delivered],
            prefill_s=PREFILL_S,
            steps=StepColumns(
                drafted=[drafted] * steps,
                accepted=[right] * steps,
                delivered=delivered,
                draft_s=[draft_s] * steps,
                verify_s=[self._spec.step_s] * steps,
                step_s=[self._spec.step_s + draft_s] * steps,
            ),
        )

    def tie_evidence(self, arm: Arm, prefix_ids: Sequence[int], tokens: tuple[int, int]) -> TieEvidence | None:
        """A parrot has no logits."""
        return None

    def stop(self) -> None:
        """There is nothing to release."""
