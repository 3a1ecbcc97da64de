"""Throughput of loads that share the engine: what counts, where chunks' tokens are unknown, what was in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.columns import CellColumns
from draftmark.results.metrics.flight import counted_turns, delivered_within, seconds_of, steady_times, times_of
from draftmark.results.records.loads import ConstantLoad, PoissonLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]

OPEN = PoissonLoad(rate=1)


@pytest.fixture
def flown(make_turn: Build) -> Build:
    """A turn sent at `sent` whose chunks arrive at `chunks`, one token in each unless told otherwise."""

    def build(
        name: str, sent: float, *chunks: float, tokens: list[int | None] | None = None, **changes: Any
    ) -> TurnRecord:
        sizes = [1] * len(chunks) if tokens is None else tokens
        total = None if None in sizes else sum(size or 0 for size in sizes)
        seen = {
            "output_tokens": total,
            "sent_s": sent,
            "first_token_s": chunks[0],
            "last_token_s": chunks[-1],
            "done_s": chunks[-1],
            "chunk_s": list(chunks),
            "chunk_tokens": sizes,
        }
        return make_turn(name, **(seen | changes))

    return build


def unknown(turn: TurnRecord, tokens: int) -> TurnRecord:
    """The same turn from a server that tells the tokens of the whole answer only."""
    return turn.model_copy(update={"chunk_tokens": [None] * len(turn.chunk_s), "output_tokens": tokens})


class TestUnknownChunks:
    def test_answers_wholly_within_count_exactly(self, flown: Build, measured: Measure) -> None:
        # Two in flight from 1 to 9; all chunks of both are made and arrive then.
        a, b = flown("a", 1.0, 2.0, 5.0, 9.0), flown("b", 1.0, 3.0, 6.0, 9.0)
        found = measured(unknown(a, 12), unknown(b, 12), concurrency=2)["output_tps"]
        assert (found.value, found.source) == (pytest.approx(24 / 8), "timed")
        assert found.note == "steady window; no interval"

    def test_answers_that_cross_an_end_count_by_their_chunks_and_say_so(self, flown: Build, measured: Measure) -> None:
        # Both in flight from 2 to 6: two of a's four chunks and half of the one made from 1 to 3; two of b's four.
        a, b = flown("a", 0.0, 1.0, 3.0, 5.0, 6.0), flown("b", 2.0, 4.0, 6.0, 7.0, 8.0)
        found = measured(unknown(a, 20), unknown(b, 8), concurrency=2)["output_tps"]
        assert found.value == pytest.approx((20 * 2.5 / 4 + 8 * 2 / 4) / 4)
        assert found.source == "inferred"
        assert "69.7% of the tokens" in str(found.note)  # 7.5 of a's and 4 of b's, of 12.5 + 4

    def test_what_is_known_of_one_answer_is_used(self, flown: Build, measured: Measure) -> None:
        a = flown("a", 0.0, 1.0, 2.0, 6.0, tokens=[7, 1, 2])  # two of its chunks came before both were in flight
        b = flown("b", 2.0, 4.0, 6.0)
        found = measured(a, unknown(b, 6), concurrency=2)["output_tps"]
        assert (found.value, found.source) == (pytest.approx((2 + 6) / 4), "timed")

    def test_answers_whose_tokens_nobody_counted_give_no_number(self, flown: Build, measured: Measure) -> None:
        a = flown("a", 0.0, 2.0, 5.0)
        lost = flown("b", 1.0, 3.0, 6.0, tokens=[None, None])
        found = measured(a, lost, concurrency=2)["output_tps"]
        assert found.value is None
        assert "tokens of every answer are needed" in str(found.reason)

    def test_answers_without_chunks_give_no_number(self, flown: Build, measured: Measure) -> None:
        whole = flown("b", 1.0, 3.0).model_copy(update={"chunk_s": [], "chunk_tokens": []})
        assert measured(flown("a", 0.0, 2.0), whole, concurrency=2)["output_tps"].value is None

    @given(
        chunks=st.lists(st.lists(st.floats(0.1, 50), min_size=1, max_size=6), min_size=1, max_size=8),
        needed=st.integers(1, 3),
    )
    def test_equal_chunks_are_counted_alike_known_or_not(self, chunks: list[list[float]], needed: int) -> None:
        from draftmark.results.records import TurnRecord

        def turn(number: int, offsets: list[float], *, known: bool) -> TurnRecord:
            stamps = [number + offset for offset in sorted(offsets)]
            return TurnRecord(
                cell_id="c",
                question_id=f"q{number}",
                prompt_hash="h",
                output_tokens=3 * len(stamps),
                sent_s=float(number),
                first_token_s=stamps[0],
                last_token_s=stamps[-1],
                done_s=stamps[-1],
                chunk_s=stamps,
                chunk_tokens=[3 if known else None] * len(stamps),
            )

        cells = [
            CellColumns.from_turns(turn(number, offsets, known=known) for number, offsets in enumerate(chunks))
            for known in (True, False)
        ]
        exact, spread = (delivered_within(cell, steady_times(cell, needed)) for cell in cells)
        assert spread.tokens == pytest.approx(exact.tokens)
        assert exact.shared_out <= exact.tokens + 1e-9
        assert spread.shared_out <= spread.tokens + 1e-9


class TestEnds:
    """What is in the making when a window ends, or had been begun before it began."""

    def test_answers_that_end_together_lose_nothing(self, flown: Build, measured: Measure) -> None:
        # Four at once, twice; each answer comes in one read at its end, one microsecond after the other's. The window
        # closes with the first of them, when each of the others lacks 1, 2 or 3 of a million parts.
        turns = [
            flown(f"{group}{i}", 2.0 * group, 2.0 * group + 1 + i * 1e-6, tokens=[30])
            for group in (0, 1)
            for i in range(4)
        ]
        found = measured(*turns, concurrency=4)
        assert found["output_tps"].value == pytest.approx(4 * 30, rel=1e-5)
        assert found["output_tps_whole_run"].value == pytest.approx(4 * 30, rel=1e-5)
        assert found["output_tps"].source == "timed"

    def test_unknown_chunks_of_answers_that_end_together_lose_nothing(self, flown: Build, measured: Measure) -> None:
        turns = [unknown(flown(f"q{i}", 0.0, 1 + i * 1e-6), 30) for i in range(4)]
        assert measured(*turns, concurrency=4)["output_tps"].value == pytest.approx(4 * 30, rel=1e-5)

    def test_a_piece_counts_by_the_share_of_its_time_on_both_ends(self, flown: Build) -> None:
        # Two in flight from 1 to 5. Of a's chunks: (0, 4] by 3/4, (4, 5] wholly; of b's: (1, 3] wholly, (3, 7] by 2/4.
        cell = CellColumns.from_turns(
            [flown("a", 0.0, 4.0, 5.0, tokens=[8, 1]), flown("b", 1.0, 3.0, 7.0, tokens=[5, 6])]
        )
        found = delivered_within(cell, steady_times(cell, 2))
        assert found.tokens == pytest.approx(8 * 3 / 4 + 1 + 5 + 6 * 2 / 4)
        assert found.shared_out == pytest.approx(8 * 1 / 4 + 6 * 2 / 4)

    def test_a_piece_made_across_a_pause_between_two_windows_counts_in_both(self, flown: Build) -> None:
        # a and b from 0 to 2, a and c from 3 to 6; a's only chunk is made from 0 to 6, and the pause is 1/6 of that.
        turns = [flown("a", 0.0, 6.0, tokens=[12]), flown("b", 0.0, 2.0, tokens=[2]), flown("c", 3.0, 6.0, tokens=[3])]
        cell = CellColumns.from_turns(turns)
        assert delivered_within(cell, steady_times(cell, 2)).tokens == pytest.approx(12 * 5 / 6 + 2 + 3)

    def test_chunks_of_one_read_were_made_in_one_time(self, flown: Build) -> None:
        # a's three chunks at 4 are all made from 0 to 4, of which both were in flight from 2 on.
        turns = [flown("a", 0.0, 4.0, 4.0, 4.0, tokens=[2, 4, 6]), flown("b", 2.0, 4.0, tokens=[1])]
        cell = CellColumns.from_turns(turns)
        assert delivered_within(cell, steady_times(cell, 2)).tokens == pytest.approx(12 / 2 + 1)

    @given(
        steps=st.lists(st.integers(1, 9), min_size=8, max_size=8),
        pause_s=st.floats(0, 0.4),
        late_s=st.floats(0, 0.001),
    )
    def test_an_even_rate_is_found_however_often_the_window_closes(
        self, steps: list[int], pause_s: float, late_s: float
    ) -> None:
        """Two streams of three tokens a second whose answers end often: the rate within is 6 a second, to the last."""
        from draftmark.results.records import TurnRecord

        turns = []
        for stream in (0, 1):
            at_s = 0.0
            for number, size in enumerate(steps[stream * 4 : stream * 4 + 4]):
                stamps = [at_s + step + 1 + stream * late_s for step in range(size)]
                turns.append(
                    TurnRecord(
                        cell_id="c",
                        question_id=f"q{stream}-{number}",
                        prompt_hash="h",
                        output_tokens=3 * size,
                        sent_s=at_s + stream * late_s,
                        first_token_s=stamps[0],
                        last_token_s=stamps[-1],
                        done_s=stamps[-1],
                        chunk_s=stamps,
                        chunk_tokens=[3] * size,
                    )
                )
                at_s = stamps[-1] - stream * late_s + pause_s
        cell = CellColumns.from_turns(turns)
        times = steady_times(cell, 2)
        assert delivered_within(cell, times).tokens == pytest.approx(6 * seconds_of(times), rel=1e-6)


class TestOpenLoop:
    @pytest.fixture
    def turns(self, flown: Build) -> list[TurnRecord]:
        """Ten conversations a second apart, each of two tokens, 0.6 s and 1.6 s after it was sent at its time."""
        return [flown(f"q{i}", i + 0.0, i + 0.6, i + 1.6, scheduled_s=i + 0.0) for i in range(10)]

    def test_without_limits_the_window_is_from_the_first_arrival_to_the_last(
        self, turns: list[TurnRecord], measured: Measure
    ) -> None:
        # From 0 to 9: first tokens of nine, second tokens of eight and 0.4 of the ninth's, which is made from 8.6 to
        # 9.6; each is 1.6 s in flight, less what lies beyond 9.
        found = measured(*turns, open_load=OPEN)
        assert found["output_tps"].value == pytest.approx((9 + 8 + 0.4) / 9)
        assert found["achieved_request_rate"].value == pytest.approx(1)
        assert found["achieved_concurrency"].value == pytest.approx((9 * 1.6 - 0.6) / 9)
        assert found["achieved_concurrency_most"].value == 2
        assert found["ttft"].n == 10

    def test_warm_up_and_cool_down_are_cut_off(self, turns: list[TurnRecord], measured: Measure) -> None:
        # From 2 to 7: first tokens of q2 to q6; second tokens of q2 to q5, 0.6 of q1's and 0.4 of q6's.
        load = ConstantLoad(rate=1, warm_up_s=2, cool_down_s=2)
        whole = CellColumns.from_turns(turns)
        counted = counted_turns(whole, load)
        assert [whole.questions[code] for code in whole.question[counted]] == ["q2", "q3", "q4", "q5", "q6", "q7"]
        kept = [turn for turn, counts in zip(turns, counted, strict=True) if counts]
        found = measured(*kept, open_load=load, whole=whole)
        assert found["output_tps"].value == pytest.approx(10 / 5)
        assert found["achieved_concurrency"].value == pytest.approx(1.6)
        assert found["achieved_request_rate"].value == pytest.approx(1)
        assert found["achieved_request_rate"].note == "asked for: constant 1/s (conversations)"
        assert found["ttft"].n == 6

    def test_limits_that_leave_nothing_give_a_reason(self, turns: list[TurnRecord], measured: Measure) -> None:
        load = ConstantLoad(rate=1, warm_up_s=5, cool_down_s=5)
        found = measured(*turns, open_load=load)
        for name in ("output_tps", "achieved_concurrency", "achieved_request_rate"):
            assert "leave no time" in str(found[name].reason)

    def test_every_launch_and_session_has_a_window_of_its_own(self, flown: Build) -> None:
        def row(i: int, begin: float, **where: int) -> TurnRecord:
            at_s = begin + i
            return flown(f"q{i}", at_s, at_s + 0.5, scheduled_s=at_s, repeat=where.get("launch", 0), **where)

        turns = [row(i, 0.0) for i in range(4)]
        turns += [row(i, 100.0, launch=1) for i in range(5)]
        turns += [row(i, 0.0, launch=2, session=1) for i in range(3)]
        times = times_of(CellColumns.from_turns(turns), ConstantLoad(rate=1, warm_up_s=1))
        found = [(part.session, part.begins.tolist(), part.ends.tolist()) for part in times]
        assert found == [(0, [1.0, 101.0], [3.0, 104.0]), (1, [1.0], [2.0])]

    def test_later_turns_belong_to_the_time_in_which_their_conversation_began(self, flown: Build) -> None:
        turns = [flown(f"q{i}", float(i), i + 0.5, scheduled_s=float(i)) for i in range(6)]
        late = flown("q3", 30.0, 31.0, scheduled_s=30.0, turn_index=1)
        early = flown("q0", 3.0, 3.5, scheduled_s=3.0, turn_index=1)
        cell = CellColumns.from_turns([*turns, late, early])
        counted = counted_turns(cell, ConstantLoad(rate=1, warm_up_s=2, cool_down_s=1))
        found = [
            (cell.questions[code], index)
            for code, index in zip(cell.question[counted], cell.turn_index[counted], strict=True)
        ]
        assert found == [("q2", 0), ("q3", 0), ("q4", 0), ("q3", 1)]

    def test_failed_requests_are_in_flight_too(self, turns: list[TurnRecord], measured: Measure) -> None:
        failed = turns[4].model_copy(update={"status": "failed", "chunk_s": [], "chunk_tokens": []})
        found = measured(*turns[:4], failed, *turns[5:], open_load=OPEN)
        assert found["achieved_request_rate"].value == pytest.approx(1)
        assert found["output_tps"].value == pytest.approx((9 + 8 + 0.4 - 2) / 9)

    def test_times_of_steps_are_those_of_an_engine_that_is_shared(self, timed_turn: Build, measured: Measure) -> None:
        turn = timed_turn((2, 1), (2, 2), scheduled_s=0.0)
        baseline = [timed_turn((0, 0), (0, 0), (0, 0), (0, 0))]
        alone, shared = measured(turn, baseline=baseline), measured(turn, baseline=baseline, open_load=OPEN)
        assert (alone["step_cost_ratio"].source, shared["step_cost_ratio"].source) == ("timed", "inferred")


class TestAchieved:
    def test_as_many_as_asked_in_a_closed_loop(self, flown: Build, measured: Measure) -> None:
        # C19's kind: 8 requests held 1 s each, all sent at once, or four at a time by a client that caps them.
        together = [flown(f"q{i}", 0.0, 1.0) for i in range(8)]
        capped = [flown(f"q{i}", float(i // 4), i // 4 + 1.0) for i in range(8)]
        for turns, value in ((together, 8.0), (capped, 4.0)):
            found = measured(*turns, concurrency=8)
            assert found["achieved_concurrency"].value == pytest.approx(value)
            assert found["achieved_concurrency_most"].value == value
            assert found["achieved_concurrency"].note == "asked for: 8"

    def test_categories_that_share_the_engine_have_no_speed_of_their_own(self, flown: Build, measured: Measure) -> None:
        a, b = flown("a", 0.0, 1.0, 3.0), flown("b", 0.5, 2.0, 3.0)
        found = measured(a, concurrency=2, whole=CellColumns.from_turns([a, b]), part=True)
        for name in ("output_tps", "achieved_concurrency", "achieved_request_rate"):
            assert "several categories" in str(found[name].reason)

    def test_lateness_is_the_client_s_alone(self, flown: Build, measured: Measure) -> None:
        turns = [
            flown("a", 10.25, 11.0, scheduled_s=10.0),
            flown("b", 15.5, 16.0, scheduled_s=10.0, held_s=5.0),
        ]
        found = measured(*turns, open_load=OPEN)
        assert found["client_lateness"].value == pytest.approx((0.25 + 0.5) / 2)
        assert found["client_lateness"].note == "most: 0.5 s"
        assert found["held_back"].value == 5
        assert found["ttft_from_schedule"].value == pytest.approx((1 + 6) / 2)
        assert found["ttft_from_schedule_p99"].value == pytest.approx(6)
        assert measured(turns[0], open_load=OPEN)["held_back"].reason == "the plan caps no requests that are due"
