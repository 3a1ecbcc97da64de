"""The place where an answer is cut, whatever ends it, found by rules that look at one token at a time."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from draftmark.backends.reference.stopping import StopRules

LETTERS = "abcdefghij"


def rules(*, eos: set[int] = frozenset(), stop: tuple[str, ...] = (), most: int = 99, room: int = 99) -> StopRules:
    return StopRules(frozenset(eos), stop, most, room, lambda tokens: "".join(LETTERS[token] for token in tokens))


def test_a_block_that_nothing_ends_is_delivered_whole() -> None:
    assert rules(eos={9}, stop=("xyz",)).cut([0, 1], [2, 3]) == (2, None)


def test_the_first_eos_counts() -> None:
    assert rules(eos={3, 4}).cut([0], [1, 4, 3]) == (2, "eos")


def test_a_stop_string_ends_with_the_token_that_completes_it() -> None:
    assert rules(stop=("cde",)).cut([0, 1, 2], [3, 4, 5]) == (2, "stop")


def test_a_stop_string_that_an_earlier_step_completed_is_not_passed_by() -> None:
    """`ab` is complete with the answer's last token already: the very next token is the cut."""
    assert rules(stop=("ab",)).cut([0, 1], [5]) == (1, "stop")


def test_the_earliest_of_several_stop_strings_counts() -> None:
    assert rules(stop=("fg", "de")).cut([0], [3, 4, 5, 6]) == (2, "stop")


def test_at_one_token_eos_goes_before_stop_and_both_before_the_limits() -> None:
    assert rules(eos={1}, stop=("b",), most=2, room=2).cut([0], [1]) == (1, "eos")
    assert rules(stop=("b",), most=2, room=2).cut([0], [1]) == (1, "stop")
    assert rules(most=2, room=2).cut([0], [1]) == (1, "length")


def test_an_earlier_limit_wins_over_a_later_eos() -> None:
    assert rules(eos={3}, most=3).cut([0], [1, 2, 3]) == (2, "length")
    assert rules(eos={3}, room=2).cut([0], [1, 2, 3]) == (1, "context")


@given(
    answer=st.lists(st.integers(0, 4), max_size=6),
    block=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    eos=st.sets(st.integers(0, 4), max_size=1),
    stop=st.lists(st.text("abcde", min_size=1, max_size=3), max_size=2),
    left=st.tuples(st.integers(1, 12), st.integers(1, 12)),
)
def test_a_block_ends_where_its_tokens_one_by_one_would_have_ended(
    answer: list[int], block: list[int], eos: set[int], stop: list[str], left: tuple[int, int]
) -> None:
    """Speculation must not move the end: cutting a block is cutting its tokens in turn."""
    rule = rules(eos=eos, stop=tuple(stop), most=len(answer) + left[0], room=len(answer) + left[1])
    assume(not any(text in "".join(LETTERS[token] for token in answer) for text in stop))  # it had ended before
    one_by_one = [rule.cut([*answer, *block[:place]], block[place : place + 1])[1] for place in range(len(block))]
    ended = next((place + 1 for place, why in enumerate(one_by_one) if why), len(block))
    assert rule.cut(answer, block) == (ended, one_by_one[ended - 1])
