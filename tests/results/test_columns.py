"""Columns hold what the records say, whatever their order, and nothing that cannot be aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from draftmark.results.columns import UNCATEGORISED, CellColumns
from draftmark.results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import StepColumns, TurnRecord

    Build = Callable[..., TurnRecord]
    Steps = Callable[..., StepColumns]


def test_warm_up_is_counted_and_left_out(make_turn: Build) -> None:
    columns = CellColumns.from_turns(
        [make_turn(phase="warmup"), make_turn(phase="warmup", repeat=1), make_turn(output_tokens=7)]
    )
    assert columns.warmup_turns == 2
    assert columns.tokens.tolist() == [7]


def test_records_may_come_from_a_generator(make_turn: Build) -> None:
    assert len(CellColumns.from_turns(make_turn(f"q{i}") for i in range(3))) == 3


def test_no_records_make_empty_columns() -> None:
    columns = CellColumns.from_turns([])
    assert len(columns) == 0
    assert len(columns.step_count) == 0


def test_steps_and_chunks_keep_to_their_turn(make_turn: Build, make_steps: Steps) -> None:
    columns = CellColumns.from_turns(
        [
            make_turn("a", steps=make_steps((3, 2), (3, 0)), chunk_s=[1.0, 2.0, 3.0], chunk_tokens=[1, 3, 1]),
            make_turn("b"),
            make_turn("c", steps=make_steps((1, 1), step_s=[0.5]), chunk_s=[4.0]),
        ]
    )
    assert columns.step_count.tolist() == [2, 0, 1]
    assert columns.chunk_count.tolist() == [3, 0, 1]
    assert columns.has_steps.tolist() == [True, False, True]
    assert columns.per_turn(columns.delivered).tolist() == [4, 0, 2]
    assert columns.first_chunk_tokens.tolist() == [1, -1, -1]
    assert np.isnan(columns.step_s[:2]).all()
    assert columns.step_s[2] == 0.5


def test_failed_turns_keep_their_place_but_neither_steps_nor_chunks(make_turn: Build, make_steps: Steps) -> None:
    columns = CellColumns.from_turns(
        [make_turn(status="failed", steps=make_steps((3, 3)), chunk_s=[1.0], finish_reason="length")]
    )
    assert columns.ok.tolist() == [False]
    assert columns.truncated.tolist() == [False]
    assert len(columns.drafted) == len(columns.chunk_s) == 0


def test_a_selection_is_what_its_records_alone_would_give(make_turn: Build, make_steps: Steps) -> None:
    turns = [
        make_turn(
            f"q{i}", category="ab"[i % 2], steps=make_steps(*[(3, i % 4)] * i), chunk_s=[0.5 * j for j in range(i)]
        )
        for i in range(6)
    ]
    columns = CellColumns.from_turns(turns)
    chosen = columns.select(columns.category == columns.categories.index("b"))
    alone = CellColumns.from_turns(turns[1::2])

    for name in ("accepted", "delivered", "chunk_s", "step_offsets", "chunk_offsets", "prompt_key"):
        assert getattr(chosen, name).tolist() == getattr(alone, name).tolist()
    assert [chosen.questions[code] for code in chosen.question] == ["q1", "q3", "q5"]
    assert columns.select(np.ones(6, dtype=bool)) is columns


def test_names_are_sorted_so_that_codes_do_not_depend_on_the_order(make_turn: Build) -> None:
    turns = [make_turn("b", category="y"), make_turn("a", category="x", sub_category="z"), make_turn("c")]
    columns = CellColumns.from_turns(turns)

    assert columns.questions == ("a", "b", "c")
    assert columns.categories == (UNCATEGORISED, "x", "y")
    assert columns.details == (UNCATEGORISED, "x/z", "y")
    assert [columns.questions[code] for code in columns.question] == ["b", "a", "c"]
    assert [columns.details[code] for code in columns.detail] == ["y", "x/z", UNCATEGORISED]


def test_strata_are_categories_or_the_sub_categories_of_the_only_one(make_turn: Build) -> None:
    several = CellColumns.from_turns([make_turn("a", category="x", sub_category="s"), make_turn("b", category="y")])
    one = CellColumns.from_turns(
        [make_turn("a", category="x", sub_category="s"), make_turn("b", category="x", sub_category="t")]
    )
    assert several.stratum.tolist() == several.category.tolist()
    assert one.stratum.tolist() == one.detail.tolist() == [0, 1]


def test_equal_outputs_have_equal_keys_and_text_is_told_from_ids(make_turn: Build) -> None:
    turns = [
        make_turn("a", output_ids=[1, 2]),
        make_turn("b", output_ids=[1, 2]),
        make_turn("c", output_ids=[2, 1]),
        make_turn("d", output_text="x"),
        make_turn("e"),
    ]
    columns = CellColumns.from_turns(turns)
    keys = columns.output_key.tolist()

    assert keys[0] == keys[1] != keys[2]
    assert columns.output_kind.tolist() == [1, 1, 1, 2, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": {"drafted": [3, 3], "accepted": [1], "delivered": [2, 1]}}, "accepted has 1 entries where 2 belong"),
        ({"steps": {"drafted": [3], "accepted": [1], "delivered": [2], "step_s": []}}, "step_s has 0 entries where 1"),
        ({"chunk_s": [1.0, 2.0], "chunk_tokens": [1]}, "chunk_tokens has 1 entries where 2 belong"),
        ({"steps": {"drafted": [40000], "accepted": [0], "delivered": [1]}}, "drafted has a step of 40000"),
    ],
)
def test_damaged_records_are_refused_by_name(make_turn: Build, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ResultsError, match=message) as caught:
        CellColumns.from_turns([make_turn("q7", turn_index=1, **changes)])
    assert "turn 1 of 'q7'" in str(caught.value)
