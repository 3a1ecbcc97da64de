"""Losslessness: how many answers differ, and what the control excuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.records import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


class TestMetrics:
    def turns(self, build: Build, *changed: str) -> list[TurnRecord]:
        return [build(name, output_tokens=3, output_ids=[1, 2, 9 if name in changed else 3]) for name in "abcd"]

    def test_a_turn_on_which_the_control_differs_too_is_left_out(self, make_turn: Build, measured: Measure) -> None:
        # The arm differs on a, b and c, the control on a: of b, c and d the arm changed two.
        found = measured(
            *self.turns(make_turn, "a", "b", "c"), baseline=self.turns(make_turn), control=self.turns(make_turn, "a")
        )
        assert found["divergent_turns"].value == 3
        assert found["divergent_turns"].n == 4
        assert found["divergent_turns_control"].value == 1
        assert found["divergence_excess"].value == pytest.approx(2 / 3)
        assert found["divergence_excess"].n == 3

    def test_turns_sampled_as_their_requests_were_are_never_compared(self, make_turn: Build, measured: Measure) -> None:
        # All four answers differ; a and b were sampled, so c and d alone count.
        def turns(token: int) -> list[TurnRecord]:
            hot = Sampling(temperature=0.7)
            return [
                make_turn(name, output_tokens=2, output_ids=[1, token], sampling=hot if name in "ab" else None)
                for name in "abcd"
            ]

        found = measured(*turns(5), baseline=turns(6), control=turns(6))
        assert (found["divergent_turns"].value, found["divergent_turns"].n) == (2, 2)
        assert (found["divergent_turns_control"].value, found["divergent_turns_control"].n) == (0, 2)
        assert found["turns_after_divergence"].n == 2

    def test_a_divergence_of_the_control_elsewhere_excuses_nothing(self, make_turn: Build, measured: Measure) -> None:
        # Equal shares, 1 of 4 each, but on different turns: a, c and d were settled, and the arm changed a.
        found = measured(
            *self.turns(make_turn, "a"), baseline=self.turns(make_turn), control=self.turns(make_turn, "b")
        )
        assert found["divergence_excess"].value == pytest.approx(1 / 3)

    def test_where_the_control_differs_everywhere_the_excess_is_unknown(
        self, make_turn: Build, measured: Measure
    ) -> None:
        found = measured(
            *self.turns(make_turn, "a"), baseline=self.turns(make_turn), control=self.turns(make_turn, *"abcd")
        )
        assert found["divergence_excess"].value is None
        assert "on every turn" in str(found["divergence_excess"].reason)

    def test_fewer_divergences_than_the_control_are_no_excess(self, make_turn: Build, measured: Measure) -> None:
        found = measured(*self.turns(make_turn), baseline=self.turns(make_turn), control=self.turns(make_turn, "d"))
        assert found["divergence_excess"].value == 0

    def test_without_a_control_the_excess_is_unknown(self, make_turn: Build, measured: Measure) -> None:
        found = measured(*self.turns(make_turn, "a"), baseline=self.turns(make_turn))
        assert found["divergent_turns"].value == 1
        assert found["divergence_excess"].value is None
        assert "no other run of the baseline" in str(found["divergence_excess"].reason)

    def test_turns_after_a_divergence_are_no_divergences(self, make_turn: Build, measured: Measure) -> None:
        baseline = make_turn(turn_index=1, output_ids=[1], prompt_hash="a")
        arm = make_turn(turn_index=1, output_ids=[2], prompt_hash="b")
        first = make_turn(output_ids=[1], prompt_hash="p")
        found = measured(first, arm, baseline=[first, baseline])
        assert found["turns_after_divergence"].value == 1
        assert found["divergent_turns"].value == 0
        assert found["divergent_turns"].n == 1

    def test_sampled_texts_are_not_compared(self, make_turn: Build, measured: Measure) -> None:
        found = measured(*self.turns(make_turn, "a"), baseline=self.turns(make_turn), temperature=0.5)
        for name in ("divergent_turns", "divergent_turns_control", "divergence_excess", "turns_after_divergence"):
            assert found[name].value is None
            assert "sampled" in str(found[name].reason)

    @pytest.mark.parametrize("side", ["baseline", "arm"])
    def test_failed_turns_are_not_compared(self, make_turn: Build, measured: Measure, side: str) -> None:
        turns = {"baseline": make_turn("b", output_ids=[1]), "arm": make_turn("b", output_ids=[2])}
        turns[side] = turns[side].model_copy(update={"status": "failed"})
        good = make_turn("a", output_ids=[1])
        found = measured(good, turns["arm"], baseline=[good, turns["baseline"]])
        assert (found["divergent_turns"].value, found["divergent_turns"].n) == (0, 1)

    def test_ids_are_never_compared_with_text(self, make_turn: Build, measured: Measure) -> None:
        found = measured(make_turn(output_ids=[1]), baseline=[make_turn(output_text="x")])
        assert found["divergent_turns"].value is None
