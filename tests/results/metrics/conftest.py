"""Turns whose every number is plain to see, and cells made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import StepColumns, TurnRecord
    from draftmark.results.summary import MetricValue


@pytest.fixture
def stepped_turn(
    make_turn: Callable[..., TurnRecord], make_steps: Callable[..., StepColumns]
) -> Callable[..., TurnRecord]:
    """A turn from (drafted, accepted) pairs, its token count as the steps say."""

    def build(*pairs: tuple[int, int], cut: int = 0, **changes: Any) -> TurnRecord:
        steps = make_steps(*pairs, cut=cut)
        return make_turn(**({"output_tokens": 1 + sum(steps.delivered), "steps": steps} | changes))

    return build


@pytest.fixture
def timed_turn(
    make_turn: Callable[..., TurnRecord], make_steps: Callable[..., StepColumns]
) -> Callable[..., TurnRecord]:
    """A turn sent at `sent`, its first token 0.5 s later, then a step per pair: drafting, verifying, the rest."""

    def build(
        *pairs: tuple[int, int],
        sent: float = 0.0,
        draft: float = 0.0,
        verify: float = 0.1,
        rest: float = 0.0,
        cut: int = 0,
        **changes: Any,
    ) -> TurnRecord:
        n, step = len(pairs), draft + verify + rest
        steps = make_steps(*pairs, cut=cut, draft_s=[draft] * n, verify_s=[verify] * n, step_s=[step] * n)
        stamps = [sent + 0.5 + step * i for i in range(n + 1)]
        tokens = 1 + sum(steps.delivered)
        seen = {
            "output_tokens": tokens,
            "output_ids": list(range(tokens)),
            "prompt_tokens": 100,
            "sent_s": sent,
            "first_token_s": stamps[0],
            "last_token_s": stamps[-1],
            "done_s": stamps[-1],
            "chunk_s": stamps,
            "chunk_tokens": [1, *steps.delivered],
            "prefill_s": 0.4,
            "steps": steps,
        }
        return make_turn(**(seen | changes))

    return build


@pytest.fixture
def measured() -> Callable[..., dict[str, MetricValue]]:
    """Every metric of the given turns, as an arm with D = 5 unless told otherwise; `none` is its own baseline."""

    def build(*turns: TurnRecord, **facts: Any) -> dict[str, MetricValue]:
        for name in ("baseline", "control"):
            if name in facts:
                facts[name] = CellColumns.from_turns(facts[name])
        cell = CellColumns.from_turns(turns)
        if facts.get("drafter") == "none":
            facts = {"baseline": cell} | facts
        return measure(Evidence(cell, **({"drafter": "ngram", "draft_length": 5} | facts)))

    return build
