"""Latencies: what a stamp means, what contradicts itself, and what was not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


@pytest.fixture
def streamed(make_turn: Build) -> Build:
    """A turn sent at 0 whose chunks arrived at the given times."""

    def build(*chunks: tuple[float, int | None], tokens: int, question_id: str = "p1") -> TurnRecord:
        stamps = [at for at, _ in chunks]
        return make_turn(
            question_id,
            output_tokens=tokens,
            sent_s=0.0,
            first_token_s=stamps[0] if stamps else None,
            last_token_s=stamps[-1] if stamps else None,
            chunk_s=stamps,
            chunk_tokens=[count for _, count in chunks],
        )

    return build


class TestChunksOfSeveralTokens:
    def test_time_per_token_leaves_out_the_tokens_of_the_first_chunk(self, streamed: Build, measured: Measure) -> None:
        # 2 tokens at 0.2, then 4 and 2 more until 0.8: 6 tokens in 0.6 s.
        found = measured(streamed((0.2, 2), (0.5, 4), (0.8, 2), tokens=8))

        assert found["ttft"].value == 0.2
        assert found["tpot"].value == pytest.approx(0.1)
        assert found["tps_per_user"].value == pytest.approx(10)
        assert found["e2e"].value == 0.8
        assert found["output_tps"].value == pytest.approx(10)
        assert found["tokens_per_chunk"].value == pytest.approx(8 / 3)
        assert "first_chunk_assumed_1" not in str(found["tpot"].note)

    def test_an_unknown_first_chunk_is_taken_as_one_token_and_labelled(
        self, streamed: Build, measured: Measure
    ) -> None:
        found = measured(streamed((0.2, None), (0.5, None), (0.8, None), tokens=7))

        assert found["tpot"].value == pytest.approx(0.1)
        assert "first_chunk_assumed_1" in str(found["tpot"].note)
        assert "first_chunk_assumed_1" in str(found["tpot_p50"].note)

    def test_gaps_between_chunks_are_apart_from_latency_between_tokens(
        self, streamed: Build, measured: Measure
    ) -> None:
        # Gaps of 0.4 s for 4 tokens and 0.1 s for 1: 0.1 s a token; the median token waited 0.1, the median gap is 0.1.
        found = measured(streamed((0.2, 2), (0.6, 4), (0.7, 1), tokens=7))

        assert found["itl"].value == pytest.approx(0.1)
        assert found["chunk_gap"].value == pytest.approx(0.25)
        assert found["chunk_gap_p99"].value == pytest.approx(0.4)
        assert found["itl_p99"].value == pytest.approx(0.1)

    def test_without_token_counts_there_are_gaps_but_no_latency_between_tokens(
        self, streamed: Build, measured: Measure
    ) -> None:
        found = measured(streamed((0.2, None), (0.6, None), tokens=7))

        assert found["itl"].value is None
        assert found["itl"].reason == "how many tokens each chunk holds is unknown"
        assert found["itl_p50"].value is None
        assert found["chunk_gap"].value == pytest.approx(0.4)

    def test_a_coalesced_read_has_no_gap_rather_than_a_gap_of_zero(self, streamed: Build, measured: Measure) -> None:
        # The chunks at 0.6 came in one read of 3 tokens, 0.3 s after the first.
        found = measured(streamed((0.3, 1), (0.6, 1), (0.6, 2), tokens=4))

        assert found["chunk_gap"].n == 1
        assert found["chunk_gap"].value == pytest.approx(0.3)
        assert found["itl"].value == pytest.approx(0.1)
        assert found["itl_p50"].value == pytest.approx(0.1)

    def test_pieces_without_a_token_are_no_chunks_of_output(self, streamed: Build, measured: Measure) -> None:
        # Half a character at 0.4: the 0.3 s until 0.6 belong to the 3 tokens that came then.
        found = measured(streamed((0.3, 1), (0.4, 0), (0.6, 3), tokens=4))

        assert found["chunk_gap"].value == pytest.approx(0.3)
        assert found["itl"].value == pytest.approx(0.1)
        assert found["tpot"].value == pytest.approx(0.1)

    def test_a_first_piece_without_a_token_leaves_the_first_chunk_unknown(
        self, streamed: Build, measured: Measure
    ) -> None:
        found = measured(streamed((0.2, 0), (0.5, 4), (0.8, 3), tokens=7))

        assert found["tpot"].value == pytest.approx(0.1)
        assert "first_chunk_assumed_1" in str(found["tpot"].note)

    def test_an_answer_in_one_read_has_neither(self, streamed: Build, measured: Measure) -> None:
        found = measured(streamed((0.3, 1), (0.3, 1), (0.3, 2), tokens=4))

        for name in ("itl", "chunk_gap", "tpot"):
            assert found[name].value is None


class TestShortAndContradictoryTurns:
    def test_only_turns_with_a_decode_phase_have_a_time_per_token(self, streamed: Build, measured: Measure) -> None:
        nothing = streamed(tokens=0, question_id="a")
        one = streamed((0.4, 1), tokens=1, question_id="b")
        two = streamed((0.4, 1), (0.45, 1), tokens=2, question_id="c")
        burst = streamed((0.7, 12), tokens=12, question_id="d")
        mixed = streamed((0.6, 1), (0.1, 1), tokens=15, question_id="e")
        found = measured(nothing, one, two, burst, mixed)

        assert found["tpot"].value == pytest.approx(0.05)
        assert found["tpot"].n == 1
        assert found["tpot_p99"].value == pytest.approx(0.05)
        assert "1 of 5 turns" in str(found["tpot"].note)

    @pytest.mark.parametrize("tokens", [0, 1, 12])
    def test_alone_each_gives_null_with_a_reason(self, streamed: Build, measured: Measure, tokens: int) -> None:
        found = measured(streamed((0.4, tokens), tokens=tokens) if tokens else streamed(tokens=0))

        assert found["tpot"].value is None
        assert found["tps_per_user"].value is None
        assert found["tpot"].reason == "no turn has two tokens with stamps that differ"

    def test_one_chunk_is_no_decode_phase_whatever_the_stamps(self, make_turn: Build, measured: Measure) -> None:
        turn = make_turn(output_tokens=5, sent_s=0.0, first_token_s=0.4, last_token_s=0.8, chunk_s=[0.4])
        assert measured(turn)["tpot"].value is None

    def test_chunks_that_go_back_in_time_make_no_gap(self, streamed: Build, measured: Measure) -> None:
        found = measured(streamed((0.6, 1), (0.1, 1), (0.4, 3), tokens=5))
        assert found["chunk_gap"].n == 1
        assert found["chunk_gap"].value == pytest.approx(0.3)

    def test_no_stamp_gives_null(self, make_turn: Build, measured: Measure) -> None:
        found = measured(make_turn(output_tokens=5))

        for name in ("ttft", "ttft_p50", "tpot", "itl", "chunk_gap", "e2e", "output_tps", "tokens_per_chunk"):
            assert found[name].value is None
            assert found[name].reason


class TestWarmUp:
    def test_warm_up_is_counted_but_in_no_mean(self, streamed: Build, measured: Measure) -> None:
        cold = streamed((3.1, 1), (3.2, 1), tokens=2).model_copy(update={"phase": "warmup"})
        warm = [streamed((0.5 + i / 100, 1), (2.0, 1), tokens=2, question_id=f"q{i}") for i in range(5)]
        found = measured(cold, *warm)

        assert found["ttft"].value == pytest.approx(0.52)
        assert found["ttft"].n == 5


class TestPercentiles:
    def test_a_percentile_is_an_observed_value_with_its_count(self, streamed: Build, measured: Measure) -> None:
        turns = [streamed(((i + 1) / 10, 1), (9.0, 1), tokens=2, question_id=f"q{i}") for i in range(10)]
        found = measured(*turns)

        assert found["ttft_p50"].value == 0.5
        assert found["ttft_p90"].value == 0.9
        assert found["ttft_p90"].note is None
        assert found["ttft_p99"].value == 1.0
        assert found["ttft_p99"].n == 10
        assert "few for p99" in str(found["ttft_p99"].note)


class TestSchedule:
    def test_with_a_schedule_waiting_counts(self, streamed: Build, measured: Measure) -> None:
        late = streamed((0.5, 1), (0.6, 1), tokens=2).model_copy(update={"scheduled_s": -1.0})

        assert measured(late)["ttft_from_schedule"].value == 1.5
        assert measured(late)["ttft"].value == 0.5

    def test_without_one_there_is_no_such_number(self, streamed: Build, measured: Measure) -> None:
        metric = measured(streamed((0.5, 1), (0.6, 1), tokens=2))["ttft_from_schedule"]
        assert metric.value is None
        assert "no schedule" in str(metric.reason)
