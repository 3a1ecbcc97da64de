"""From statistics per request to the steps of a turn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.backends.inferred_steps import InferredSteps, from_statistics
from draftmark.results.columns import CellColumns
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.records import TurnRecord

D = 4


def counts(told: InferredSteps) -> tuple[list[int], list[int], list[int]]:
    assert told.steps is not None, told.problem
    return told.steps.drafted, told.steps.accepted, told.steps.delivered


def test_steps_without_a_draft_follow_from_the_tokens() -> None:
    """13 tokens, 5 drafting steps with 3 accepted: 13 - 1 - 3 - 5 = 4 steps had no draft."""
    told = from_statistics([3] * 5, [1, 0, 2, 0, 0], 13)
    drafted, accepted, delivered = counts(told)
    assert (len(drafted), drafted.count(0)) == (9, 4)
    assert (sum(accepted), sum(delivered)) == (3, 12)


def test_the_last_block_is_cut_where_the_tokens_ask_for_it() -> None:
    assert counts(from_statistics([4, 4], [4, 4], 8)) == ([4, 4], [4, 4], [5, 2])


def test_an_answer_of_one_token_has_no_step() -> None:
    assert counts(from_statistics([], [], 1)) == ([], [], [])


def test_an_answer_without_a_draft_is_all_plain_steps() -> None:
    assert counts(from_statistics([], [], 4)) == ([0] * 3, [0] * 3, [1] * 3)


def test_counts_that_do_not_fit_give_no_steps() -> None:
    told = from_statistics([4, 4], [4, 0], 3)
    assert told.steps is None
    assert told.problem == "statistics of 4 accepted tokens do not fit 3 tokens"


steps = st.integers(0, D).flatmap(lambda drafted: st.tuples(st.just(drafted), st.integers(0, drafted)))


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    """The (drafted, accepted) pairs of an answer's steps, and its tokens; the last step may be cut."""
    pairs = draw(st.lists(steps, max_size=12))
    cut = draw(st.integers(0, pairs[-1][1])) if pairs else 0
    return pairs, 1 + sum(accepted + 1 for _, accepted in pairs) - cut


def broken(told: InferredSteps, tokens: int) -> list[str]:
    turn = TurnRecord(cell_id="c", question_id="q", prompt_hash="h", output_tokens=tokens, steps=told.steps)
    return broken_identities(CellColumns.from_turns([turn]), drafter="ngram", draft_length=D)


@settings(deadline=None)
@given(answers())
def test_statistics_give_the_drafting_steps_and_never_too_many_others(
    answer: tuple[list[tuple[int, int]], int],
) -> None:
    pairs, tokens = answer
    drafting = [pair for pair in pairs if pair[0]]
    told = from_statistics([drafted for drafted, _ in drafting], [accepted for _, accepted in drafting], tokens)

    drafted, accepted, delivered = counts(told)
    assert [pair for pair in zip(drafted, accepted, strict=True) if pair[0]] == drafting
    assert sum(delivered) == tokens - 1
    assert broken(told, tokens) == []
    true_steps, cut = len(pairs), 1 + sum(accepted + 1 for _, accepted in pairs) - tokens
    assert true_steps - cut <= len(drafted) <= true_steps
