"""Tokens per second of a cell, and its spread over repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


def test_time_between_turns_belongs_to_nobody(make_turn: Build, measured: Measure) -> None:
    # Other arms ran between 2 and 10: 30 tokens in 2 + 1 seconds.
    first = make_turn("a", output_tokens=20, sent_s=0.0, first_token_s=0.5, last_token_s=2.0)
    second = make_turn("b", output_tokens=10, sent_s=10.0, first_token_s=10.5, last_token_s=11.0)
    found = measured(first, second)

    assert found["output_tps"].value == pytest.approx(10)
    assert found["output_tps_whole_run"].value == pytest.approx(10)


def test_overlapping_turns_share_the_time(make_turn: Build, measured: Measure) -> None:
    first = make_turn("a", output_tokens=20, sent_s=0.0, first_token_s=0.5, last_token_s=4.0)
    within = make_turn("b", output_tokens=10, sent_s=1.0, first_token_s=1.5, last_token_s=3.0)
    later = make_turn("c", output_tokens=10, sent_s=3.5, first_token_s=3.6, last_token_s=5.0)

    assert measured(first, within, later)["output_tps"].value == pytest.approx(40 / 5)


def test_clocks_of_sessions_are_never_mixed(make_turn: Build, measured: Measure) -> None:
    first = make_turn("a", output_tokens=20, sent_s=0.0, first_token_s=0.5, last_token_s=2.0, session=0)
    resumed = make_turn("b", output_tokens=20, sent_s=0.0, first_token_s=0.5, last_token_s=3.0, session=1)

    assert measured(first, resumed)["output_tps"].value == pytest.approx(40 / 5)


def test_failed_turns_give_no_tokens(make_turn: Build, measured: Measure) -> None:
    good = make_turn("a", output_tokens=20, sent_s=0.0, first_token_s=0.5, last_token_s=2.0)
    failed = make_turn("b", output_tokens=500, sent_s=2.0, first_token_s=2.1, last_token_s=2.2, status="failed")

    found = measured(good, failed)
    assert found["output_tps"].value == pytest.approx(10)
    assert found["output_tokens"].value == 20


def test_above_one_in_flight_only_the_steady_window_counts(make_turn: Build, measured: Measure) -> None:
    # Both in flight from 1 to 4, a alone before, b alone after. Made then: of a's tokens 2 and half of the one from 0.5
    # to 1.5, of b's 6 and a third of the two from 3 to 6.
    a = make_turn(
        "a",
        output_tokens=4,
        sent_s=0.0,
        first_token_s=0.5,
        last_token_s=3.5,
        done_s=4.0,
        chunk_s=[0.5, 1.5, 2.5, 3.5],
        chunk_tokens=[1, 1, 1, 1],
    )
    b = make_turn(
        "b",
        output_tokens=8,
        sent_s=1.0,
        first_token_s=2.0,
        last_token_s=6.0,
        done_s=6.0,
        chunk_s=[2.0, 3.0, 6.0],
        chunk_tokens=[3, 3, 2],
    )
    found = measured(a, b, concurrency=2)

    assert found["output_tps"].value == pytest.approx((2.5 + 6 + 2 / 3) / 3)
    assert "steady window" in str(found["output_tps"].note)
    assert found["output_tps_whole_run"].value == pytest.approx(12 / 6)
    assert measured(a, b, concurrency=3)["output_tps"].reason == (
        "3 requests were never in flight at once, as concurrency 3 wants"
    )


def test_the_last_chunk_counts_where_nothing_came_after_it(make_turn: Build, measured: Measure) -> None:
    # Both in flight from 0 to 4, when 4 tokens of each arrived, the last of them at 4 itself.
    turns = [
        make_turn(
            name,
            output_tokens=4,
            sent_s=0.0,
            first_token_s=1.0,
            last_token_s=4.0,
            done_s=None,
            chunk_s=[1.0, 2.0, 3.0, 4.0],
            chunk_tokens=[1, 1, 1, 1],
        )
        for name in "ab"
    ]
    assert measured(*turns, concurrency=2)["output_tps"].value == pytest.approx(8 / 4)


def test_per_gpu_needs_the_number_of_gpus(timed_turn: Build, measured: Measure) -> None:
    turn = timed_turn((3, 1))
    whole = measured(turn)["output_tps"].value
    assert whole is not None
    assert measured(turn, gpus=4)["output_tps_per_gpu"].value == pytest.approx(whole / 4)
    assert measured(turn)["output_tps_per_gpu"].reason == "how many GPUs the engine used is not recorded"
    assert measured(turn, gpus=0)["output_tps_per_gpu"].reason == "the engine ran on no GPU"


class TestRepeats:
    def test_spread_and_distinct_outputs(self, make_turn: Build, measured: Measure) -> None:
        # 10, 20 and 30 tokens a second: mean 20, standard deviation 10; two different answers.
        turns = [
            make_turn(
                repeat=repeat,
                output_tokens=61,
                output_ids=[7] * 60 + [last],
                sent_s=0.0,
                first_token_s=1.0,
                last_token_s=1.0 + 60 / speed,
                chunk_s=[1.0, 1.0 + 60 / speed],
                chunk_tokens=[1, 60],
            )
            for repeat, (speed, last) in enumerate([(10, 1), (20, 1), (30, 2)])
        ]
        found = measured(*turns)

        assert found["output_tps_repeat_cv"].value == pytest.approx(0.5)
        assert found["output_tps_repeat_cv"].n == 3
        assert found["output_tps_repeat_cv"].note is None
        assert found["distinct_outputs"].value == 2
        assert measured(*turns[:2])["output_tps_repeat_cv"].note == "only 2 repeats"

    def timed(self, build: Build, question: str, repeat: int, speed: float) -> TurnRecord:
        return build(
            question,
            repeat=repeat,
            output_tokens=61,
            sent_s=0.0,
            first_token_s=1.0,
            last_token_s=1.0 + 60 / speed,
            chunk_s=[1.0, 1.0 + 60 / speed],
            chunk_tokens=[1, 60],
        )

    def test_only_turns_of_every_repeat_are_compared(self, make_turn: Build, measured: Measure) -> None:
        # `a` ran at 20 tokens a second both times; the slow `b` was answered in the first repeat alone.
        turns = [self.timed(make_turn, *which) for which in (("a", 0, 20), ("a", 1, 20), ("b", 0, 5))]
        assert measured(*turns)["output_tps_repeat_cv"].value == pytest.approx(0)

    def test_repeats_without_a_common_turn_show_no_spread(self, make_turn: Build, measured: Measure) -> None:
        turns = [self.timed(make_turn, *which) for which in (("a", 0, 20), ("b", 1, 5))]
        found = measured(*turns)["output_tps_repeat_cv"]
        assert found.value is None
        assert found.reason == "no turn has a decode time in every repeat"

    def test_one_repeat_shows_no_spread(self, timed_turn: Build, measured: Measure) -> None:
        found = measured(timed_turn((3, 1)))
        for name in ("output_tps_repeat_cv", "distinct_outputs"):
            assert found[name].value is None
            assert found[name].reason == "no prompt was answered more than once"

    def test_answers_to_different_prompts_are_not_compared(self, timed_turn: Build, measured: Measure) -> None:
        first = timed_turn((3, 1), prompt_hash="a")
        other = timed_turn((3, 2), prompt_hash="b", repeat=1)
        assert measured(first, other)["distinct_outputs"].value is None


class TestImpossibleCounts:
    """A turn with more tokens than max_tokens allows has none that are known."""

    def of(self, turns: list[TurnRecord], **facts: Any) -> dict[str, MetricValue]:
        return measure(Evidence(CellColumns.from_turns(turns, max_tokens=16), drafter="ngram", draft_length=3, **facts))

    def turn(self, build: Build, name: str, tokens: int, sent: float = 0.0) -> TurnRecord:
        return build(
            name,
            output_tokens=tokens,
            sent_s=sent,
            first_token_s=sent + 1,
            last_token_s=sent + 2,
            done_s=sent + 2,
            chunk_s=[sent + 1, sent + 2],
            chunk_tokens=[1, tokens - 1],
        )

    def test_its_numbers_are_null_with_the_reason(self, make_turn: Build) -> None:
        for concurrency in (1, 2):
            turns = [self.turn(make_turn, name, 100_000) for name in "ab"]
            found = self.of(turns, concurrency=concurrency)
            for name in ("output_tps", "output_tps_whole_run", "tpot", "output_tokens"):
                assert found[name].value is None
                assert "2 of 2 turns have more tokens than max_tokens allows" in str(found[name].reason)

    def test_others_keep_theirs(self, make_turn: Build) -> None:
        # b's 16 tokens from 2 to 4 alone.
        found = self.of([self.turn(make_turn, "a", 17), self.turn(make_turn, "b", 16, sent=2.0)])
        assert found["output_tokens"].value == 16
        assert found["output_tps"].value == pytest.approx(16 / 2)
        assert found["tpot"].value == pytest.approx(1 / 15)

    def test_steps_inferred_from_it_are_unknown(self, make_turn: Build) -> None:
        steps = {"drafted": [0] * 16, "accepted": [0] * 16, "delivered": [1] * 16}
        turn = make_turn(output_tokens=17, steps=steps, steps_inferred=True)
        assert self.of([turn])["acceptance_length"].value is None
        assert self.of([turn.model_copy(update={"steps_inferred": False})])["acceptance_length"].value == 1
