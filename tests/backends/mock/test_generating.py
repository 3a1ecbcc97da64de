"""Answers against values worked out by hand: D=3, accepted 3, 0 and 2 in turn."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.backends.base import BackendError
from draftmark.backends.mock import MockSettings
from draftmark.backends.mock.asking import read_ask
from draftmark.backends.mock.generating import Answer, answer

CYCLE = {"draft_length": 3, "accepted_cycle": (3, 0, 2), "ttft_s": 0.1, "step_s": 0.025}


def answered(body: dict[str, Any], **settings: Any) -> Answer:
    given = MockSettings(**settings)
    return answer(read_ask("completions", {"prompt": [1, 2], **body}, {}, given), given)


def test_ten_tokens_of_the_cycle() -> None:
    """1 from the prompt, then 3+1, 0+1, 2+1, and a last one for which nothing is drafted: 10."""
    it = answered({"max_tokens": 10}, **CYCLE)
    assert [step.drafted for step in it.steps] == [3, 3, 3, 0]
    assert [step.accepted for step in it.steps] == [3, 0, 2, 0]
    assert [piece.tokens for piece in it.pieces] == [1, 4, 1, 3, 1]
    assert [piece.at_s for piece in it.pieces] == pytest.approx([0.1, 0.125, 0.15, 0.175, 0.2])
    assert (it.tokens, it.finish_reason) == (10, "length")
    assert it.text() == "tok0 tok1 tok2 tok3 tok4 tok5 tok6 tok7 tok8 tok9"


def test_drafts_shrink_before_the_limit() -> None:
    """Of 4 tokens 3 are left after the first: 2 drafted, both accepted, and one more."""
    it = answered({"max_tokens": 4}, **CYCLE)
    assert [(step.drafted, step.accepted, step.tokens) for step in it.steps] == [(2, 2, 3)]


def test_chunks_wait_for_four_tokens_but_the_first_does_not() -> None:
    it = answered({"max_tokens": 10}, **{**CYCLE, "draft_length": 0, "accepted_cycle": (), "tokens_per_chunk": 4})
    assert [piece.tokens for piece in it.pieces] == [1, 4, 4, 1]
    assert [piece.at_s for piece in it.pieces] == pytest.approx([0.1, 0.2, 0.3, 0.325])


def test_natural_end_inside_an_accepted_block_counts_only_what_is_in_the_answer() -> None:
    it = answered({"max_tokens": 100}, output_tokens=3, **CYCLE)
    assert [(step.drafted, step.accepted, step.tokens) for step in it.steps] == [(3, 2, 2)]
    assert (it.tokens, it.finish_reason) == (3, "stop")


def test_ignore_eos_goes_on_to_the_limit() -> None:
    it = answered({"max_tokens": 7, "ignore_eos": True}, output_tokens=3, **CYCLE)
    assert (it.tokens, it.finish_reason) == (7, "length")


def test_a_natural_end_at_the_limit_is_a_stop() -> None:
    assert answered({"max_tokens": 3}, output_tokens=3, **CYCLE).finish_reason == "stop"


def test_a_stop_string_cuts_the_text_and_counts_its_token() -> None:
    it = answered({"max_tokens": 10, "stop": ["k7", "tok4"]}, **CYCLE)
    assert (it.text(), it.tokens, it.finish_reason, it.stopped_by) == ("tok0 tok1 tok2 tok3 ", 5, "stop", "tok4")
    assert "".join(it.text(piece.first, piece.tokens) for piece in it.pieces) == "tok0 tok1 tok2 tok3 "


def test_every_second_step_without_a_draft() -> None:
    it = answered({"max_tokens": 11}, draft_length=1, accepted_cycle=(1,), no_draft_share=0.5)
    assert [step.drafted for step in it.steps] == [
        1,
        0,
        1,
        0,
        1,
        0,
        0,
    ]  # 1 + 2+1+2+1+2+1 = 10: nothing to draft for the last


def test_the_limit_makes_the_last_step_plain() -> None:
    it = answered({"max_tokens": 2}, draft_length=1, accepted_cycle=(1,))
    assert [(step.drafted, step.tokens) for step in it.steps] == [(0, 1)]


def test_rates_are_shares_of_all_drafts_per_position() -> None:
    it = answered({"max_tokens": 20_000}, draft_length=3, accept=(0.7, 0.5, 0.3))
    full = [step.accepted for step in it.steps if step.drafted == 3]
    shares = [sum(count > position for count in full) / len(full) for position in range(3)]
    assert shares == pytest.approx([0.7, 0.5, 0.3], abs=0.03)


def test_equal_prompts_draw_alike_and_others_do_not() -> None:
    rates = {"draft_length": 3, "accept": (0.7, 0.5, 0.3)}
    one, same = (answered({"max_tokens": 200}, **rates) for _ in range(2))
    other = answered({"max_tokens": 200, "prompt": [9, 9]}, **rates)
    assert one.steps == same.steps
    assert one.steps != other.steps


@given(
    limit=st.integers(1, 60),
    cycle=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    idle=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    per_chunk=st.integers(1, 5),
)
def test_tokens_are_one_and_those_of_the_steps(limit: int, cycle: list[int], idle: float, per_chunk: int) -> None:
    it = answered(
        {"max_tokens": limit},
        draft_length=4,
        accepted_cycle=tuple(cycle),
        no_draft_share=idle,
        tokens_per_chunk=per_chunk,
    )
    assert it.tokens == limit == 1 + sum(step.accepted + 1 for step in it.steps)
    assert sum(piece.tokens for piece in it.pieces) == limit
    assert "".join(it.text(piece.first, piece.tokens) for piece in it.pieces) == it.text()
    assert all(step.accepted <= step.drafted <= 4 for step in it.steps)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"dialect": "vlm"}, "no dialect 'vlm'"),
        ({"lies": ("bytewize",)}, "did you mean 'bytewise'?"),
        ({"draft_length": 2}, "without acceptance"),
        ({"draft_length": 2, "accept": (0.2, 0.4)}, "rise"),
        ({"draft_length": 1, "accept": (1.2,)}, "between 0 and 1"),
        ({"draft_length": 1, "accepted_cycle": (2,)}, "beyond a draft length of 1"),
        ({"ttft_s": -1.0}, "ttft_s of -1.0"),
        ({"step_s": float("nan")}, "step_s of nan"),
        ({"tokens_per_chunk": 0}, "tokens_per_chunk of 0"),
        ({"port": 70000}, "port 70000"),
    ],
)
def test_senseless_settings_are_refused_in_a_sentence(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(BackendError, match=r"mock server") as caught:
        MockSettings(**settings)
    assert says in str(caught.value)
