"""From a cell's record to its evidence: which turns count, and what the record says of the arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.metrics.recorded import counted_columns, evidence_of
from draftmark.results.records import Arm
from draftmark.results.records.loads import ClosedLoad, ConstantLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.columns import CellColumns
    from draftmark.results.records import CellRecord, TurnRecord

    MakeCell = Callable[..., CellRecord]
    MakeTurn = Callable[..., TurnRecord]

NGRAM = Arm(drafter="ngram", draft_length=3)
CONTROL = Arm(drafter="none", draft_length=0, control=True)
OPEN = ConstantLoad(rate=1, warm_up_s=2, cool_down_s=1)


@pytest.fixture
def turns(make_turn: MakeTurn) -> list[TurnRecord]:
    """Six conversations, due at 0 to 5 s."""
    return [make_turn(f"p{n}", output_tokens=9, scheduled_s=float(n)) for n in range(6)]


def names(cell: CellColumns) -> list[str]:
    return [cell.questions[code] for code in cell.question]


def test_warm_up_and_cool_down_of_an_open_loop_do_not_count(turns: list[TurnRecord], make_cell: MakeCell) -> None:
    assert names(counted_columns(turns, make_cell(load=OPEN).key)) == ["p2", "p3", "p4"]


@pytest.mark.parametrize("load", [ClosedLoad(concurrency=2), ConstantLoad(rate=1)])
def test_without_them_every_turn_counts(
    load: ClosedLoad | ConstantLoad, turns: list[TurnRecord], make_cell: MakeCell
) -> None:
    assert len(counted_columns(turns, make_cell(load=load).key)) == 6


def test_more_tokens_than_the_plan_allows_are_no_count(make_turn: MakeTurn, make_cell: MakeCell) -> None:
    turns = [make_turn("p1", output_tokens=64), make_turn("p2", output_tokens=65)]  # the most is 64 by default
    assert counted_columns(turns, make_cell().key).tokens.tolist() == [64, -1]


def test_the_record_tells_of_arm_load_and_gpus(turns: list[TurnRecord], make_cell: MakeCell) -> None:
    record = make_cell("arm", NGRAM, load=ClosedLoad(concurrency=4), resolved={"gpus": 2})
    columns, plain = (counted_columns(turns, record.key) for _ in range(2))
    found = evidence_of(record, columns, baseline=plain, control=None)
    assert (found.drafter, found.draft_length, found.concurrency, found.gpus) == ("ngram", 3, 4, 2)
    assert (found.open_load, found.temperature, found.shares_steps, found.is_baseline) == (None, 0.0, True, False)
    assert found.baseline is plain


def test_in_an_open_loop_the_schedule_stands_for_the_concurrency(turns: list[TurnRecord], make_cell: MakeCell) -> None:
    record = make_cell("arm", NGRAM, load=OPEN, resolved={"gpus": "unknown"})
    found = evidence_of(record, counted_columns(turns, record.key), baseline=None, control=None)
    assert (found.open_load, found.concurrency, found.shares_steps, found.gpus) == (OPEN, 1, True, None)
    assert found.baseline is None


def test_the_baseline_is_its_own_also_when_its_turns_were_chosen_twice(
    turns: list[TurnRecord], make_cell: MakeCell
) -> None:
    record = make_cell(load=OPEN)
    columns, again = (counted_columns(turns, record.key) for _ in range(2))
    assert evidence_of(record, columns, baseline=again, control=None).is_baseline


def test_the_control_has_no_control_and_without_a_baseline_is_its_own(
    turns: list[TurnRecord], make_cell: MakeCell
) -> None:
    record = make_cell("control", CONTROL)
    columns, plain = (counted_columns(turns, record.key) for _ in range(2))
    found = evidence_of(record, columns, baseline=plain, control=columns)
    assert (found.is_baseline, found.control) == (False, None)
    assert evidence_of(record, columns, baseline=None, control=None).is_baseline
