"""The layout of a table: which columns, what is called out, and where intervals lie on their axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.leaderboard.boards import boards_of
from draftmark.dashboards.leaderboard.rows import columns_of, definition, repeated, rows_of, workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from draftmark.dashboards.leaderboard.boards import Table
    from draftmark.dashboards.leaderboard.entries import Entry

    Entered = Callable[..., list[Entry]]


def only_table(entries: list[Entry]) -> Table:
    ((table,),) = [board.tables for board in boards_of(entries)]
    return table


def column(table: Table, label: str) -> list[str]:
    place = [one.label for one in columns_of(table)].index(label)
    return [row.numbers[place].text for row in rows_of(table)]


def test_the_numbers_are_those_of_the_runs(entered: Entered) -> None:
    table = only_table(entered({"none": 1.0, "ngram": 1.25, "eagle3": 2.0}))
    assert column(table, "speed-up") == ["2.00", "1.25"]
    assert column(table, "AL") == ["2.00", "2.00"]
    assert column(table, "draft overhead") == ["0.10", "0.10"]
    assert column(table, "no speculation") == ["50.0", "50.0"]
    assert column(table, "D") == ["3", "3"]


def test_speeds_are_per_gpu_where_there_is_one_and_of_the_machine_where_there_is_none(
    entered: Entered, folders: ModuleType
) -> None:
    on_cpu = [one.label for one in columns_of(only_table(entered(run="one")))]
    on_gpu = [one.label for one in columns_of(only_table(entered(run="two", **folders.gpus(2))))]
    assert on_cpu[1:3] == ["whole machine", "per user"]
    assert on_gpu[1:3] == ["per GPU", "per user"]


def test_a_weak_baseline_is_called_out(entered: Entered) -> None:
    quick = entered({"none": 1.0, "suffix": 1.2}, run="quick", plain_s=0.02)
    slow = entered({"none": 1.0, "ngram": 1.8}, run="slow", plain_s=0.05)
    table = only_table(quick + slow)
    place = [one.label for one in columns_of(table)].index("no speculation")
    found = {row.placed.label: (row.numbers[place].text, row.numbers[place].aside) for row in rows_of(table)}
    assert found == {"ngram D=3": ("50.0", "2.5x the quickest here"), "suffix D=3": ("20.0", "")}


def test_all_intervals_lie_on_one_axis_of_ratios(entered: Entered) -> None:
    fast, slow = rows_of(only_table(entered({"none": 1.0, "ngram": 0.5, "eagle3": 2.0})))
    assert fast.whisker.one == slow.whisker.one
    # 2 and 0.5 are equally far from 1 on the scale of ratios, and about at the axis' ends.
    assert fast.whisker.value - fast.whisker.one == pytest.approx(slow.whisker.one - slow.whisker.value, abs=0.3)
    assert 0 < slow.whisker.low < slow.whisker.value < slow.whisker.high < fast.whisker.one
    assert fast.whisker.low < fast.whisker.value < fast.whisker.high < 100
    assert all(math.isfinite(row.whisker.value) for row in (fast, slow))


def test_without_an_interval_there_is_a_mark_and_no_bar(entered: Entered) -> None:
    (row,) = rows_of(only_table(entered(questions=6)))
    assert (row.whisker.low, row.whisker.high, row.whisker.rough) == (None, None, True)
    assert row.numbers[0].interval is None
    assert row.numbers[0].mark is None


def test_a_workload_is_split_into_its_categories(entered: Entered) -> None:
    (placed,) = only_table(entered()).ranked
    assert [(share.category, share.turns) for share in workload(placed)] == [("edit", 5), ("write", 5)]


def test_the_definition_of_al_is_named_with_how_steps_are_known(entered: Entered) -> None:
    (placed,) = only_table(entered()).ranked
    said = definition(placed.entry.cell)
    assert "acceptance_length" in said
    assert "steps: engine" in said


def test_repetitions_are_told_run_by_run(entered: Entered) -> None:
    both = {"none": 1.0, "ngram": 1.5, "suffix": 2.0}
    entries = entered(both, run="old", started_at="2026-11-28T21:00:00Z")
    entries += entered(both, run="new", started_at="2026-11-29T21:00:00Z")
    (one,) = repeated(only_table(entries))
    assert (one.counts, one.others, len(one.placed)) == ("new", ("old",), 2)
