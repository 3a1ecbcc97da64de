"""Columns hold what the records say, whatever their order, and nothing that cannot be aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from draftmark.results.columns import UNCATEGORISED, CellColumns
from draftmark.results.errors import ResultsError
from draftmark.results.records import ReportedCounts, Sampling

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


def test_what_a_step_was_shared_with_is_kept_and_is_nothing_where_it_is_not_told(
    make_turn: Build, make_steps: Steps
) -> None:
    columns = CellColumns.from_turns(
        [
            make_turn("a", steps=make_steps((3, 2), (3, 0), batch=[2, 1], prefill_tokens=[0, 70_000])),
            make_turn("b", steps=make_steps((3, 2), batch=[1])),
            make_turn("c", steps=make_steps((3, 2))),
        ]
    )
    assert columns.batch.tolist() == [2, 1, 1, 1]
    assert columns.beside_prefill.tolist() == [False, True, False, False]
    assert columns.shared_steps.tolist() == [True, False, False]


def test_where_counts_come_from_is_kept(make_turn: Build, make_steps: Steps) -> None:
    told = ReportedCounts(drafting_steps=5, drafted=15, accepted=3, padding_steps=1, padding_tokens=4)
    columns = CellColumns.from_turns(
        [
            make_turn("a", steps=make_steps((3, 2)), steps_inferred=True, reported=told, finish_reason="stop"),
            make_turn("b", finish_reason="length"),
            make_turn("c", status="failed", steps=make_steps((3, 2)), steps_inferred=True, finish_reason="stop"),
        ]
    )
    assert columns.inferred_steps.tolist() == [True, False, False]
    assert columns.stopped.tolist() == [True, False, False]
    assert columns.reported_drafting.tolist() == [5, -1, -1]
    assert columns.reported_drafted.tolist() == [15, -1, -1]
    assert columns.reported_accepted.tolist() == [3, -1, -1]
    assert columns.padding_steps.tolist() == [1, 0, 0]
    assert columns.padding_tokens.tolist() == [4, 0, 0]


class TestBlocks:
    @pytest.fixture
    def cell(self, make_turn: Build, make_steps: Steps) -> CellColumns:
        """Turns with 0 to 4 steps and 0 to 2 chunks, one of them failed."""
        return CellColumns.from_turns(
            make_turn(
                f"q{i}",
                status="failed" if i == 3 else "ok",
                steps=make_steps(*[(3, i % 4)] * (i % 5), step_s=[0.1 * i] * (i % 5)),
                chunk_s=[float(j) for j in range(i % 3)],
                output_tokens=i,
            )
            for i in range(12)
        )

    @pytest.mark.parametrize("size", [1, 3, 7, 1000])
    def test_together_they_are_the_cell(self, cell: CellColumns, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
        monkeypatch.setattr("draftmark.results.columns._BLOCK", size)
        blocks = list(cell.blocks())
        for name in ("tokens", "ok", "question", "accepted", "step_s", "chunk_s", "step_count", "chunk_count"):
            joined = np.concatenate([getattr(block, name) for block in blocks])
            assert joined.tolist() == getattr(cell, name).tolist()
        assert all(block.step_offsets[0] == block.chunk_offsets[0] == 0 for block in blocks)
        assert (
            np.concatenate([block.per_turn(block.delivered) for block in blocks]).tolist()
            == cell.per_turn(cell.delivered).tolist()
        )

    def test_each_holds_turns_until_it_is_full(self, cell: CellColumns, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("draftmark.results.columns._BLOCK", 7)
        sizes = [len(block.drafted) + len(block.chunk_s) for block in cell.blocks()]
        assert len(sizes) > 3
        assert max(sizes) < 7 + 6  # a turn lies in the block in which it begins

    def test_views_are_handed_out(self, cell: CellColumns, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("draftmark.results.columns._BLOCK", 7)
        assert all(np.shares_memory(block.step_s, cell.step_s) for block in cell.blocks() if len(block.step_s))

    def test_an_empty_cell_is_one_block(self) -> None:
        assert [len(block) for block in CellColumns.from_turns([]).blocks()] == [0]


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


def test_a_category_called_uncategorised_is_not_that_of_prompts_without_one(make_turn: Build) -> None:
    names = ["uncategorised", None, '"uncategorised"', "x"]
    columns = CellColumns.from_turns([make_turn(f"q{n}", category=name) for n, name in enumerate(names)])
    assert [columns.categories[code] for code in columns.category] == [
        '"uncategorised"', "uncategorised", '""uncategorised""', "x",
    ]  # fmt: skip


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
        (
            {"steps": {"drafted": [3], "accepted": [1], "delivered": [2], "batch": [1, 1]}},
            "batch has 2 entries where 1",
        ),
        ({"steps": {"drafted": [3], "accepted": [1], "delivered": [2], "batch": [32768]}}, "batch has a step of 32768"),
        (
            {"steps": {"drafted": [3], "accepted": [1], "delivered": [2], "prefill_tokens": []}},
            "prefill_tokens has 0 entries where 1",
        ),
    ],
)
def test_damaged_records_are_refused_by_name(make_turn: Build, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ResultsError, match=message) as caught:
        CellColumns.from_turns([make_turn("q7", turn_index=1, **changes)])
    assert "turn 1 of 'q7'" in str(caught.value)


def test_more_tokens_than_a_turns_own_max_tokens_are_impossible_whatever_the_cells(make_turn: Build) -> None:
    # The cell allows 5: nine tokens are right where the turn's own limit is 9, and four impossible where it is 3.
    turns = [
        make_turn("a", output_tokens=9, sampling=Sampling(max_tokens=9)),
        make_turn("b", output_tokens=4, sampling=Sampling(max_tokens=3)),
        make_turn("c", output_tokens=6),
    ]
    columns = CellColumns.from_turns(turns, max_tokens=5)
    assert columns.tokens.tolist() == [9, -1, -1]
    assert columns.impossible.tolist() == [0, 4, 6]
