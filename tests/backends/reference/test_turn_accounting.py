"""What a turn records of its steps, on a target that follows a script: every count worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import TurnFailed, TurnRequest
from draftmark.backends.reference.clock import HostClock
from draftmark.backends.reference.engine import Engine
from draftmark.results.records import Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_full_partial_and_no_acceptance(play: Any) -> None:
    seen = play([1, 2, 3, 4, 5, 6, 7, 8], (2, 3), (5, 9, 9), (9,), max_tokens=8)
    assert seen.output_ids == [1, 2, 3, 4, 5, 6, 7, 8]
    assert seen.steps.drafted == [2, 3, 1, 0]
    assert seen.steps.accepted == [2, 1, 0, 0]
    assert seen.steps.delivered == [3, 2, 1, 1]
    assert seen.output_tokens == 1 + 3 + 2 + 1 + 1
    assert seen.chunk_tokens == [1, 3, 2, 1, 1]
    assert seen.finish_reason == "length"


def test_absent_drafts_are_no_drafts(play: Any) -> None:
    """Two real drafts, none, five drafts, none, none: 5 accepted of 7, acceptance length 10 / 5 over all steps."""
    script = [10, 11, 12, 13, 14, 21, 22, 23, 26, 27, 28]
    seen = play(script, (11, 12), (), (21, 22, 23, 24, 25), (), ())
    assert seen.steps.drafted == [2, 0, 5, 0, 0]
    assert seen.steps.accepted == [2, 0, 3, 0, 0]
    assert sum(seen.steps.delivered) / len(seen.steps.delivered) == 2.0


def test_without_any_draft_every_step_delivers_one_token(play: Any) -> None:
    seen = play([4, 1, 2, 3, 4])
    assert seen.steps.drafted == [0, 0, 0, 0]
    assert seen.steps.delivered == [1, 1, 1, 1]


def test_eos_inside_an_accepted_block_cuts_the_delivery_and_keeps_the_raw_acceptance(play: Any, stand_ins: Any) -> None:
    """EOS (2) is the third of five accepted drafts: 8 tokens with it, 3.5 a step, though 8 drafts were accepted."""
    script = [5, 7, 8, 9, 10, 11, 12, 2, 13, 14, 15]
    model = stand_ins.Model(eos_ids=frozenset({2}))
    seen = play(script, (7, 8, 9), (11, 12, 2, 13, 14), model=model, max_tokens=50)
    assert seen.output_ids == [5, 7, 8, 9, 10, 11, 12, 2]
    assert seen.finish_reason == "eos"
    assert seen.steps.accepted == [3, 5]
    assert seen.steps.delivered == [4, 3]
    assert seen.output_tokens == 8


def test_eos_as_the_targets_own_token_of_a_block_is_delivered(play: Any, stand_ins: Any) -> None:
    seen = play([5, 7, 2, 8], (7, 9), model=stand_ins.Model(eos_ids=frozenset({2})), max_tokens=50)
    assert seen.output_ids == [5, 7, 2]
    assert (seen.steps.accepted, seen.steps.delivered) == ([1], [2])


def test_eos_as_first_token_leaves_no_step(play: Any, stand_ins: Any) -> None:
    seen = play([2, 3, 4], (3,), model=stand_ins.Model(eos_ids=frozenset({2})), max_tokens=50)
    assert (seen.output_ids, seen.output_tokens, seen.finish_reason) == ([2], 1, "eos")
    assert seen.steps.drafted == []
    assert seen.first_token_s == seen.last_token_s


def test_ignored_eos_is_a_token_like_any_other(play: Any, stand_ins: Any) -> None:
    model = stand_ins.Model(eos_ids=frozenset({2}))
    seen = play([5, 2, 2, 6], (2, 2), model=model, max_tokens=4, ignore_eos=True)
    assert (seen.output_ids, seen.finish_reason) == ([5, 2, 2, 6], "length")


def test_one_token_asked_for_is_the_prefills(play: Any) -> None:
    seen = play([5, 6, 7], (6, 7), max_tokens=1)
    assert (seen.output_ids, seen.steps.drafted, seen.finish_reason) == ([5], [], "length")


def test_drafts_are_not_trimmed_to_max_tokens(play: Any) -> None:
    """Four are asked for; the block of five accepted drafts is cut to three, and the record shows it."""
    seen = play([5, 6, 7, 8, 9, 10, 11], (6, 7, 8, 9, 10), max_tokens=4)
    assert (seen.steps.drafted, seen.steps.accepted, seen.steps.delivered) == ([5], [5], [3])
    assert seen.finish_reason == "length"


def test_a_stop_string_across_tokens_cuts_after_the_token_that_completes_it(play: Any) -> None:
    seen = play([5, 6, 7, 8, 9, 10], (6, 7, 8, 9), stop=("[7][8]",), max_tokens=50)
    assert seen.output_ids == [5, 6, 7, 8]
    assert seen.output_text == "[5][6][7][8]"
    assert (seen.steps.accepted, seen.steps.delivered, seen.finish_reason) == ([4], [3], "stop")


def test_a_stop_string_across_steps_is_found(play: Any) -> None:
    seen = play([5, 6, 7, 8, 9, 10], (6,), (8, 9), stop=("7][8",), max_tokens=50)
    assert (seen.output_ids, seen.finish_reason) == ([5, 6, 7, 8], "stop")


def test_drafts_are_trimmed_only_where_the_context_limit_leaves_less_room(play: Any, stand_ins: Any) -> None:
    """3 prompt tokens, limit 10: after 4 tokens of sequence 5 drafts fit, after 7 only 2."""
    model = stand_ins.Model(context_limit=10)
    script = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    seen = play(script, (2, 3, 0, 0, 0), (5, 6, 7, 8, 9), model=model, draft_length=5, max_tokens=50)
    assert play.drafter.rooms == [5, 2]
    assert seen.steps.drafted == [5, 2]
    assert seen.output_ids == [1, 2, 3, 4, 5, 6, 7]
    assert seen.finish_reason == "context"


def test_the_sequence_never_passes_the_context_limit_and_ends_there(play: Any, stand_ins: Any) -> None:
    seen = play([1] * 30, *[(1, 1, 1, 1)] * 9, model=stand_ins.Model(context_limit=16), draft_length=4, max_tokens=99)
    assert 3 + seen.output_tokens == 16
    assert seen.finish_reason == "context"
    assert seen.steps.delivered == [accepted + 1 for accepted in seen.steps.accepted]


def test_max_tokens_at_the_context_limit_counts_as_what_was_asked_for(play: Any, stand_ins: Any) -> None:
    assert play([1, 2, 3, 4], model=stand_ins.Model(context_limit=6), max_tokens=3).finish_reason == "length"


@pytest.mark.parametrize("prompt", [range(10), range(11)])
def test_a_prompt_that_leaves_no_room_fails_with_the_numbers(prompt: Sequence[int], stand_ins: Any) -> None:
    reader = stand_ins.follow(prompt, [1], stand_ins.Model(context_limit=10))
    request = TurnRequest(tuple(prompt), Sampling(), 0)
    with pytest.raises(TurnFailed, match=rf"prompt's {len(prompt)} tokens.*context limit is 10") as failure:
        Engine(reader, HostClock()).answer(request, stand_ins.Drafter(), 3)
    assert failure.value.kind == "context-limit"


@pytest.mark.parametrize(("prompt", "told"), [((), "no token"), ((5, 100), "token id 100"), ((-1,), "token id -1")])
def test_a_prompt_the_model_cannot_read_fails(prompt: tuple[int, ...], told: str, stand_ins: Any) -> None:
    reader = stand_ins.follow(prompt, [1], stand_ins.Model(vocabulary=100))
    with pytest.raises(TurnFailed, match=told) as failure:
        Engine(reader, HostClock()).answer(TurnRequest(prompt, Sampling(), 0), stand_ins.Drafter(), 3)
    assert failure.value.kind == "bad-prompt"


def test_the_target_holds_exactly_the_accepted_tokens_after_every_step(play: Any) -> None:
    """Each block starts with the last accepted token, and what was held before it is the plan without it."""
    play([1, 2, 3, 4, 5, 6], (2, 9, 9), (4, 5, 9), max_tokens=6)
    assert play.reader.blocks == [[91, 92, 93], [1, 2, 9, 9], [3, 4, 5, 9]]
    assert play.reader.held == [91, 92, 93, 1, 2, 3, 4, 5]


def test_the_drafter_is_told_that_the_turn_ended_even_when_it_failed(stand_ins: Any) -> None:
    drafter = stand_ins.Drafter()
    reader = stand_ins.follow((), [1], stand_ins.Model())
    with pytest.raises(TurnFailed):
        Engine(reader, HostClock()).answer(TurnRequest((), Sampling(), 0), drafter, 3)
    assert drafter.ended == 1
