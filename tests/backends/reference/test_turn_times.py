"""A delay planted in one part of a turn reappears in that part's time and in no other; the test owns the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import TurnRequest
from draftmark.backends.reference.clock import HostClock
from draftmark.backends.reference.engine import Engine
from draftmark.results.records import Observation, Sampling

if TYPE_CHECKING:
    import torch

PROMPT = (91, 92, 93)


class Delays:
    """Seconds that each part takes; time stands still otherwise."""

    def __init__(self, **parts: float) -> None:
        self.now = 100.0
        self.parts = parts

    def spend(self, part: str) -> None:
        self.now += self.parts.get(part, 0.0)


@pytest.fixture
def timed(stand_ins: Any) -> Any:
    """Answer (1 to 8) with two drafts per step while the given parts take their time."""

    def run(**parts: float) -> Observation:
        delays = Delays(**parts)
        reader = stand_ins.follow(PROMPT, [1, 2, 3, 4, 5, 6, 7, 8], stand_ins.Model())
        drafter = stand_ins.Drafter((2, 3), (5, 9), (9, 9), (8, 9))
        extend, propose, decode = reader.extend, drafter.propose, reader.model.decode

        def slow_extend(tokens: torch.Tensor, keep: int) -> torch.Tensor:
            delays.spend("verify" if reader.held else "prefill")
            return extend(tokens, keep)

        def slow_propose(*arguments: Any) -> Any:
            delays.spend("draft")
            return propose(*arguments)

        def slow_decode(tokens: Any) -> str:
            delays.spend("decode")
            return decode(tokens)

        reader.extend, drafter.propose, reader.model.decode = slow_extend, slow_propose, slow_decode
        drafter.begin = lambda prompt: delays.spend("draft_prefill")
        request = TurnRequest(PROMPT, Sampling(max_tokens=8, stop=("never",)), 0)
        return Engine(reader, HostClock(lambda: delays.now)).answer(request, drafter, 2)

    return run


def test_a_delay_in_the_drafter_is_drafting_time(timed: Any) -> None:
    steps = timed(draft=0.25).steps
    assert steps.draft_s == [0.25] * 4
    assert steps.verify_s == [0.0] * 4
    assert steps.step_s == [0.25] * 4


def test_a_delay_in_the_target_is_verification_time(timed: Any) -> None:
    seen = timed(verify=0.5)
    assert seen.steps.verify_s == [0.5] * 4
    assert seen.steps.draft_s == [0.0] * 4
    assert seen.steps.step_s == [0.5] * 4
    assert seen.prefill_s == 0.0


def test_a_delay_elsewhere_in_a_step_is_neither(timed: Any) -> None:
    """Looking for a stop string decodes the answer once per step."""
    steps = timed(decode=0.125).steps
    assert (steps.draft_s, steps.verify_s) == ([0.0] * 4, [0.0] * 4)
    assert steps.step_s == [0.125] * 4


def test_prefills_are_apart_from_steps_and_from_each_other(timed: Any) -> None:
    seen = timed(prefill=2.0, draft_prefill=1.0)
    assert (seen.prefill_s, seen.draft_prefill_s) == (2.0, 1.0)
    assert seen.steps.step_s == [0.0] * 4
    assert seen.first_token_s - seen.sent_s == 3.0


def test_all_delays_together_add_up(timed: Any) -> None:
    seen = timed(prefill=2.0, draft_prefill=1.0, draft=0.25, verify=0.5, decode=0.125)
    assert seen.steps.step_s == [0.875] * 4
    assert sum(seen.steps.step_s) == seen.last_token_s - seen.first_token_s
    assert seen.chunk_s == [103.125, 104.0, 104.875, 105.75, 106.625]
    assert (seen.first_token_s, seen.last_token_s) == (103.125, 106.625)
    assert seen.done_s == 106.75


def test_without_a_drafter_its_prefill_was_not_measured(stand_ins: Any) -> None:
    reader = stand_ins.follow(PROMPT, [1, 2], stand_ins.Model())
    request = TurnRequest(PROMPT, Sampling(max_tokens=2), 0)
    assert Engine(reader, HostClock()).answer(request, stand_ins.Drafter(), 0).draft_prefill_s is None
