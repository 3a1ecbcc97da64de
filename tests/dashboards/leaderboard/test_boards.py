"""Who shares a ranking with whom, in which order, and what becomes of what was measured twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.dashboards.leaderboard.boards import NOT_DISCLOSED, boards_of
from draftmark.results.records import Sampling
from draftmark.results.records.loads import ClosedLoad

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from draftmark.dashboards.leaderboard.boards import Table
    from draftmark.dashboards.leaderboard.entries import Entry

    Entered = Callable[..., list[Entry]]


def ranks(table: Table) -> list[tuple[str, str]]:
    return [(one.ranks.text, one.label) for one in table.ranked]


def only_table(entries: list[Entry]) -> Table:
    ((table,),) = [board.tables for board in boards_of(entries)]
    return table


def test_entries_are_ranked_by_measured_speed_up_and_share_ranks_where_they_must(entered: Entered) -> None:
    # Single questions are up to 4% off: that tells 2 from 1.5, but not 1.51 from 1.5.
    table = only_table(entered({"none": 1.0, "ngram": 1.5, "suffix": 1.51, "eagle3": 2.0, "mtp": 0.8}))
    assert ranks(table) == [("1", "eagle3 D=3"), ("2-3", "suffix D=3"), ("2-3", "ngram D=3"), ("4", "mtp D=3")]


def test_with_too_few_conversations_nobody_is_ahead(entered: Entered) -> None:
    table = only_table(entered({"none": 1.0, "ngram": 1.5, "eagle3": 3.0}, questions=6))
    assert ranks(table) == [("1-2", "eagle3 D=3"), ("1-2", "ngram D=3")]


def test_runs_on_one_machine_are_ranked_together_by_their_own_baselines(entered: Entered) -> None:
    # Twice as fast in absolute terms, but the gain over its own baseline is smaller.
    quick = entered({"none": 1.0, "suffix": 1.2}, run="quick", plain_s=0.02)
    slow = entered({"none": 1.0, "ngram": 1.8}, run="slow", plain_s=0.05)
    assert ranks(only_table(quick + slow)) == [("1", "ngram D=3"), ("2", "suffix D=3")]


@pytest.mark.parametrize("change", [{"target": "other"}, {"suite": "chat"}, {"machine": "Other CPU"}])
def test_another_target_suite_or_machine_is_another_page(
    entered: Entered, folders: ModuleType, change: dict[str, Any]
) -> None:
    if "machine" in change:
        change = {"machine": folders.environment(cpu=change["machine"])}
    boards = boards_of(entered(run="one") + entered(run="two", **change))
    assert len(boards) == 2
    assert len({board.file for board in boards}) == 2
    assert all(ranks(table) == [("1", "ngram D=3")] for board in boards for table in board.tables)


def test_one_gpu_and_two_are_different_machines(entered: Entered, folders: ModuleType) -> None:
    boards = boards_of(entered(run="one", **folders.gpus(1)) + entered(run="two", **folders.gpus(2)))
    assert [board.hardware for board in boards] == ["1x NVIDIA H100", "2x NVIDIA H100"]


@pytest.mark.parametrize(
    ("change", "titles"),
    [
        ({"suite_hash": "6" * 64}, ["suite hash 555555555555", "suite hash 666666666666"]),
        ({"sampling": Sampling(max_tokens=128)}, ["max tokens 64", "max tokens 128"]),
        ({"sampling": Sampling(stop=("END",))}, ["stop none", 'stop ["END"]']),
        ({"load": ClosedLoad(concurrency=8)}, ["concurrency 1", "concurrency 8"]),
        ({"plan": {"chat_template": "none"}}, ["chat template not stated", "chat template none"]),
        (
            {"thinking": "off (enable_thinking)"},
            ["chat template not stated", "chat template not stated, thinking off (enable_thinking)"],
        ),
        (
            {"plan": {"earlier_reasoning": "kept"}},
            ["chat template not stated", "chat template not stated, earlier reasoning kept"],
        ),
        (
            {"plan": {"template_options": {"thinking_budget": 0}}},
            ["chat template not stated", 'chat template not stated, options {"thinking_budget": 0}'],
        ),
    ],
)
def test_what_was_asked_otherwise_stands_in_a_table_named_by_what_differs(
    entered: Entered, change: dict[str, Any], titles: list[str]
) -> None:
    (board,) = boards_of(entered(run="one") + entered(run="two", **change))
    assert [table.title for table in board.tables] == titles
    assert all(len(table.placed) == 1 for table in board.tables)


def test_other_weights_under_the_same_name_are_another_table(entered: Entered) -> None:
    (board,) = boards_of(entered(run="one") + entered(run="two", weights="00" * 32))
    first, second = (table.title for table in board.tables)
    assert first != second
    assert first.startswith("weights ")
    assert second.startswith("weights ")


def test_of_one_cell_measured_twice_the_latest_counts_and_the_other_is_named(entered: Entered) -> None:
    old = entered({"none": 1.0, "ngram": 3.0}, run="old", started_at="2026-11-28T21:00:00Z")
    new = entered({"none": 1.0, "ngram": 1.5}, run="new", started_at="2026-11-29T21:00:00Z")
    for order in (old + new, new + old):
        (placed,) = only_table(order).placed
        assert placed.entry.source.run_id == "new"
        assert placed.speedup == pytest.approx(1.5)
        assert [one.source.run_id for one in placed.earlier] == ["old"]


def test_an_unfinished_repetition_does_not_take_the_place_of_a_finished_one(entered: Entered) -> None:
    old = entered(run="old", started_at="2026-11-28T21:00:00Z")
    new = entered(run="new", started_at="2026-11-29T21:00:00Z", answered={"ngram": 3}, status="interrupted")
    (placed,) = only_table(old + new).placed
    assert (placed.entry.source.run_id, [one.source.run_id for one in placed.earlier]) == ("old", ["new"])


def test_a_later_finished_fault_takes_the_place_of_an_earlier_success(entered: Entered) -> None:
    old = entered(run="old", started_at="2026-11-28T21:00:00Z")
    new = entered(run="new", started_at="2026-11-29T21:00:00Z", faults=("ngram",))
    table = only_table(old + new)
    assert table.ranked == ()
    assert [one.entry.source.run_id for one in table.unfit] == ["new"]


def test_arms_that_look_alike_are_told_apart_by_options_then_by_the_engines_settings(entered: Entered) -> None:
    one = entered(run="one", options={"max_match": 3})
    two = entered(run="two", options={"max_match": 4})
    assert [one.label for one in only_table(one + two).placed] == ["ngram D=3 (max_match=3)", "ngram D=3 (max_match=4)"]
    three = entered(run="three", engine={"device": "cpu", "threads": 1})
    four = entered(run="four", engine={"device": "cpu", "threads": 2})
    labels = [one.label for one in only_table(three + four).placed]
    assert labels == ["ngram D=3 (threads=1)", "ngram D=3 (threads=2)"]


def test_nothing_is_dropped_and_each_entry_stands_in_one_list(entered: Entered) -> None:
    entries = entered({"none": 1.0, "ngram": 1.5, "suffix": 2.0}, run="one", faults=("suffix",))
    entries += entered({"ngram": 1.5}, run="two", resolved={"process": "a server"}, compared=False)
    first, second = boards_of(entries)
    (known,), (unknown,) = first.tables, second.tables
    assert [len(part) for part in (known.ranked, known.undisclosed, known.unfit)] == [1, 0, 1]
    assert second.hardware == NOT_DISCLOSED
    assert [len(part) for part in (unknown.ranked, unknown.undisclosed, unknown.unfit)] == [0, 1, 0]
