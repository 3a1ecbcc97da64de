"""How much answers repeat themselves, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.columns import CellColumns
from draftmark.results.records import TurnRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]

LOOP = [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]
"""Seven sequences of four: 1212 four times and 2121 three times, so five of them repeated."""
PLAIN = [1, 2, 3, 4, 5, 6, 7, 8]
"""Five sequences, all distinct."""


def test_the_share_is_pooled_over_sequences(make_turn: Build, measured: Measure) -> None:
    found = measured(make_turn("a", output_ids=LOOP), make_turn("b", output_ids=PLAIN))
    assert found["repeated_4grams"].value == pytest.approx(5 / 12)
    assert found["repeated_4grams"].n == 12


def test_an_answer_loops_when_more_than_half_of_it_was_there_before(make_turn: Build, measured: Measure) -> None:
    third = [1, 2, 3, 4, 1, 2, 3, 4, 1]  # 1234 2341 3412 4123 1234 2341: 2 of 6
    another = [1, 1, 1, 1, 1, 2]  # 1111 1111 1112: 1 of 3
    turns = [make_turn(f"q{i}", output_ids=ids) for i, ids in enumerate([LOOP, PLAIN, third, another])]
    found = measured(*turns)["looping_answers"]
    assert (found.value, found.n) == (0.25, 4)


def test_half_of_it_is_not_more_than_half(make_turn: Build, measured: Measure) -> None:
    ids = [7, 7, 7, 7, 7, 7, 7, 8, 9]  # 7777 four times, 7778, 7789: 3 of 6
    assert measured(make_turn(output_ids=ids))["looping_answers"].value == 0
    assert measured(make_turn(output_ids=[7, *ids]))["looping_answers"].value == 1  # 4 of 7


def test_words_stand_for_tokens_where_only_a_text_is_known(make_turn: Build, measured: Measure) -> None:
    found = measured(make_turn(output_text="a b a b a b  a\nb a b"))["repeated_4grams"]
    assert found.value == pytest.approx(5 / 7)
    assert "over words, since token ids are unknown" in str(found.note)


def test_what_failed_or_is_too_short_or_unknown_counts_for_nothing(make_turn: Build, measured: Measure) -> None:
    turns = [
        make_turn("a", output_ids=LOOP, status="failed"),
        make_turn("b", output_ids=[1, 1, 1]),
        make_turn("c"),
    ]
    for name in ("repeated_4grams", "looping_answers"):
        metric = measured(*turns)[name]
        assert metric.value is None
        assert metric.reason == "no answer on record is four tokens long"


@given(st.lists(st.integers(min_value=0, max_value=3), max_size=40))
def test_saying_it_all_again_repeats_all_of_it(ids: list[int]) -> None:
    """A text said twice has no sequence that the text said once, and its beginning, do not have."""
    build = lambda tokens: CellColumns.from_turns(  # noqa: E731
        [TurnRecord(cell_id="c", question_id="q", prompt_hash="c" * 64, output_ids=tokens)]
    )
    once, wrapped, twice = build(ids), build([*ids, *ids[:3]]), build([*ids, *ids])
    assert once.grams[0] == max(0, len(ids) - 3)
    if len(ids) >= 3:
        assert twice.grams[0] - twice.repeated_grams[0] == wrapped.grams[0] - wrapped.repeated_grams[0]
