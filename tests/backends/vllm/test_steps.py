"""From the worker's rows to the steps of a turn, and the totals of statistics per request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.backends.vllm.steps import Told, from_worker, reported
from draftmark.results.columns import CellColumns
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.records import ReportedCounts, TurnRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

D = 4


def rows(*seen: tuple[int, int], **columns: Any) -> dict[str, Any]:
    """The probe's rows from (drafted, generated) pairs, each alone in its step: 10 s, of which 1 s drafting."""
    n = len(seen)
    made: dict[str, Any] = {
        "drafted": [drafted for drafted, _ in seen],
        "placeholders": [0] * n,
        "generated": [generated for _, generated in seen],
        "batch": [1] * n,
        "prefill_tokens": [20] + [0] * (n - 1),
        "step_s": [10.0] * n,
        "draft_s": [1.0] * n,
        "verify_s": [8.0] * n,
    }
    return made | columns


def counts(told: Told) -> tuple[list[int], list[int], list[int]]:
    assert told.steps is not None, told.problem
    return told.steps.drafted, told.steps.accepted, told.steps.delivered


class TestWorker:
    def test_the_prefill_gives_the_first_token_and_is_no_step(self) -> None:
        told = from_worker(rows((0, 1), (3, 4), (0, 1), (2, 1)), 7, drafts=True)
        assert counts(told) == ([3, 0, 2], [3, 0, 0], [4, 1, 1])
        assert not told.inferred
        assert told.problem is None

    def test_an_answer_of_one_token_has_no_step(self) -> None:
        assert counts(from_worker(rows((0, 1)), 1, drafts=True)) == ([], [], [])

    def test_the_end_of_the_answer_cuts_the_last_step_and_its_raw_acceptance_stays(self) -> None:
        assert counts(from_worker(rows((0, 1), (4, 5)), 3, drafts=True)) == ([4], [4], [2])

    def test_steps_run_ahead_of_the_end_are_left_out(self) -> None:
        told = from_worker(rows((0, 1), (3, 2), (3, 4), (3, 1)), 3, drafts=True)
        assert counts(told) == ([3], [1], [2])
        assert told.steps is not None
        assert told.steps.step_s == [10.0]

    def test_a_step_run_ahead_of_a_one_token_answer_is_left_out_too(self) -> None:
        assert counts(from_worker(rows((0, 1), (3, 4)), 1, drafts=True)) == ([], [], [])

    def test_parts_of_a_prompt_belong_to_the_prefill(self) -> None:
        told = from_worker(rows((0, 0), (0, 0), (0, 1), (3, 4)), 5, drafts=True)
        assert counts(told) == ([3], [3], [4])
        assert (told.prefill_s, told.draft_prefill_s) == (24.0, 3.0)

    def test_a_preempted_request_has_a_step_for_each_token_it_got_and_none_for_reading_again(self) -> None:
        seen = rows((0, 1), (3, 2), (0, 0), (0, 1), (3, 4), prefill_tokens=[20, 0, 20, 4, 0])
        told = from_worker(seen, 8, drafts=True)
        assert counts(told) == ([3, 0, 3], [1, 0, 3], [2, 1, 4])
        assert told.steps is not None
        assert told.steps.prefill_tokens == [0, 4, 0]

    def test_what_shared_the_steps_is_kept(self) -> None:
        told = from_worker(rows((0, 1), (3, 4), batch=[3, 2], prefill_tokens=[20, 7]), 5, drafts=True)
        assert told.steps is not None
        assert (told.steps.batch, told.steps.prefill_tokens) == ([2], [7])
        assert (told.prefill_s, told.draft_prefill_s) == (None, None)

    def test_times_of_an_arm_without_a_drafter_have_no_drafting(self) -> None:
        told = from_worker(rows((0, 1), (0, 1)), 2, drafts=False)
        assert told.steps is not None
        assert (told.steps.draft_s, told.steps.verify_s) == (None, [8.0])
        assert told.draft_prefill_s is None

    def test_steps_that_were_not_split_have_their_whole_time(self) -> None:
        told = from_worker(rows((0, 1), (3, 4), draft_s=None, verify_s=None), 5, drafts=True)
        assert told.steps is not None
        assert (told.steps.draft_s, told.steps.verify_s, told.steps.step_s) == (None, None, [10.0])
        assert told.prefill_s is None

    @pytest.mark.parametrize(
        ("seen", "tokens"),
        [
            (rows((0, 1), (3, 2)), 9),  # fewer than were delivered
            (rows((0, 2), (3, 2)), 4),  # a prefill of two tokens
            (rows((0, 0), (0, 0)), 1),  # no token at all
            (rows((0, 1), (3, 2)), 0),
            (rows(), 3),
        ],
    )
    def test_rows_that_do_not_add_up_give_no_steps(self, seen: dict[str, Any], tokens: int) -> None:
        told = from_worker(seen, tokens, drafts=True)
        assert told.steps is None
        assert told.problem == f"the worker saw {sum(seen['generated'])} tokens of a request that gave {tokens}"

    def test_more_tokens_than_drafts_can_give_are_no_steps(self) -> None:
        told = from_worker(rows((0, 1), (1, 4)), 5, drafts=True)
        assert told.steps is None
        assert "more tokens than it had drafts for" in str(told.problem)


class TestPadding:
    def test_placeholders_are_no_drafts(self) -> None:
        told = from_worker(rows((0, 1), (0, 1), (3, 2), placeholders=[0, 3, 0]), 4, drafts=True)
        assert counts(told) == ([0, 3], [0, 1], [1, 2])
        assert (told.padding_steps, told.padding_tokens) == (1, 3)

    def test_a_padded_prefill_is_a_drafting_step_to_vllm_alone(self) -> None:
        told = from_worker(rows((0, 1), (3, 2), placeholders=[3, 0]), 3, drafts=True)
        assert counts(told) == ([3], [1], [2])
        assert (told.padding_steps, told.padding_tokens) == (1, 3)

    def test_padding_that_happened_to_be_right_was_accepted_as_far_as_it_was(self) -> None:
        told = from_worker(rows((0, 1), (0, 2), placeholders=[0, 3]), 3, drafts=True)
        assert counts(told) == ([1], [1], [2])
        assert (told.padding_steps, told.padding_tokens) == (0, 2)

    def test_part_of_a_draft_may_be_padding(self) -> None:
        told = from_worker(rows((0, 1), (2, 3), placeholders=[0, 3]), 4, drafts=True)
        assert counts(told) == ([2], [2], [3])
        assert (told.padding_steps, told.padding_tokens) == (0, 3)


def test_totals_are_taken_as_vllm_names_them_with_the_padding_that_the_worker_saw() -> None:
    statistics = {"num_spec_steps": 5, "num_draft_tokens": 15, "num_accepted_draft_tokens": 3, "other": 1}
    assert reported(statistics) == ReportedCounts(drafting_steps=5, drafted=15, accepted=3)
    assert reported(statistics, Told(None, padding_steps=1, padding_tokens=3)) == ReportedCounts(
        drafting_steps=5, drafted=15, accepted=3, padding_steps=1, padding_tokens=3
    )
    assert reported(None, Told(None)) is None


# Any answer -------------------------------------------------------------------------------------------------------

steps = st.integers(0, D).flatmap(lambda drafted: st.tuples(st.just(drafted), st.integers(0, drafted)))


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    """The (drafted, accepted) pairs of an answer's steps, and its tokens; the last step may be cut."""
    pairs = draw(st.lists(steps, max_size=12))
    cut = draw(st.integers(0, pairs[-1][1])) if pairs else 0
    return pairs, 1 + sum(accepted + 1 for _, accepted in pairs) - cut


def broken(told: Told, tokens: int) -> list[str]:
    turn = TurnRecord(cell_id="c", question_id="q", prompt_hash="h", output_tokens=tokens, steps=told.steps)
    return broken_identities(CellColumns.from_turns([turn]), drafter="ngram", draft_length=D)


@settings(deadline=None)
@given(answers(), st.lists(steps, max_size=3), st.integers(0, 2))
def test_the_worker_gives_back_every_answer(
    answer: tuple[list[tuple[int, int]], int], ahead: Sequence[tuple[int, int]], parts: int
) -> None:
    pairs, tokens = answer
    seen = [(0, 0)] * parts + [(0, 1)] + [(drafted, accepted + 1) for drafted, accepted in [*pairs, *ahead]]
    told = from_worker(rows(*seen), tokens, drafts=True)

    drafted, accepted, delivered = counts(told)
    assert list(zip(drafted, accepted, strict=True)) == pairs
    assert sum(delivered) == tokens - 1
    assert broken(told, tokens) == []
