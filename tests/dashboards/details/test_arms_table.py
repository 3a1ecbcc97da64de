from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.details import arms_table as tables
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from types import ModuleType

    import pytest

    from draftmark.results.summary import RunSummary


def entry(summary: RunSummary, arm: str, key: str) -> tables.Entry:
    table = tables.arms_table(summary)
    place = [column.key for column in table.columns].index(key)
    row = next(row for row in table.rows if row.arm == arm and row.category is None)
    return row.entries[place]


def test_a_number_sorts_by_its_stored_value_and_shows_its_interval(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.32, 1.10, 1.58, note="prompt sampling only"))
    found = entry(specimen.run(specimen.baseline(), arm), "ngram D=8", "speedup")
    assert (found.text, found.sort, found.interval, found.mark) == ("1.32", 1.32, "[1.10, 1.58]", "faster")
    assert found.behind == "n = 24; timed; prompt sampling only"


def test_what_was_not_measured_says_so_and_why_and_has_nothing_to_sort_by(specimen: ModuleType) -> None:
    found = entry(specimen.run(specimen.cell("ngram", 8, metrics=specimen.gain(None))), "ngram D=8", "speedup")
    assert (found.text, found.sort, found.behind) == ("not measured", None, "the baseline failed")


def test_speed_ups_are_marked_by_the_side_of_one_that_their_interval_is_on(specimen: ModuleType) -> None:
    def mark(low: float, high: float) -> str | None:
        arm = specimen.cell("ngram", 8, metrics=specimen.gain((low + high) / 2, low, high))
        return entry(specimen.run(arm), "ngram D=8", "speedup").mark

    assert [mark(1.01, 1.2), mark(0.8, 0.99), mark(0.9, 1.1)] == ["faster", "slower", "no clear difference"]


def test_core_columns_come_first_and_positions_in_numeric_order(specimen: ModuleType) -> None:
    names = ["conditional_acceptance[10]", "conditional_acceptance[2]", "acceptance_length", "speedup", "my_own_metric"]
    arm = specimen.cell(metrics={name: specimen.value(1.0) for name in names})
    assert [column.key for column in tables.arms_table(specimen.run(arm)).columns] == [
        "speedup",
        "acceptance_length",
        "conditional_acceptance[2]",
        "conditional_acceptance[10]",
        "my_own_metric",
    ]


def test_columns_carry_definition_direction_and_the_unit_of_the_screen(specimen: ModuleType) -> None:
    arm = specimen.cell(metrics={"acceptance_length": specimen.value(2.0), "latency": specimen.value(0.1, unit="s")})
    length, latency = tables.arms_table(specimen.run(arm)).columns
    assert length.better == "higher"
    assert length.description
    assert (latency.unit, latency.better) == ("ms", None)
    assert latency.description == "No definition comes with this metric."


def test_rows_over_all_turns_come_before_categories_and_the_cap_is_counted(
    specimen: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    parts = [specimen.cell("ngram", 8, category=f"kind {i}") for i in range(5)]
    table = tables.arms_table(specimen.run(*parts, specimen.baseline(), specimen.cell("ngram", 8)))
    assert [(row.arm, row.category) for row in table.rows] == [("none", None), ("ngram D=8", None)]
    assert table.total == 7


def test_notes_are_listed_once_with_the_numbers_they_qualify(specimen: ModuleType) -> None:
    arms = [specimen.cell("ngram", d, metrics=specimen.gain(1.1, 1.0, 1.2, note="rough")) for d in (3, 8)]
    assert tables.arms_table(specimen.run(*arms)).notes == (tables.Note("rough", "speedup", 2),)


def test_notes_that_differ_in_their_numbers_alone_are_one(specimen: ModuleType) -> None:
    notes = ["rough (9 conversations); different texts", "rough (12 conversations)", "rough (9 conversations)"]
    arms = [
        specimen.cell("ngram", d, metrics=specimen.gain(1.1, 1.0, 1.2, note=note)) for d, note in enumerate(notes, 1)
    ]
    assert tables.arms_table(specimen.run(*arms)).notes == (
        tables.Note("rough (9 conversations), and 1 more like it", "speedup", 3),
        tables.Note("different texts", "speedup", 1),
    )


def test_an_arm_whose_engine_was_lost_has_that_for_its_status(specimen: ModuleType) -> None:
    fast = specimen.gain(2.0, 1.8, 2.2)
    gone = specimen.cell("eagle3", 3, status="partial", status_text="partial 3/24; killed", metrics=fast)
    kept = specimen.cell("ngram", 3, metrics=fast)
    table = tables.arms_table(specimen.run(gone, kept, lost={gone.cell_id: "killed"}))
    assert [row.status for row in table.rows] == ["lost its engine", "complete"]
    assert [row.entries[0].mark for row in table.rows] == [None, "faster"]


def test_an_arm_that_changes_the_output_is_called_that_and_not_faster(specimen: ModuleType) -> None:
    fast = specimen.gain(2.0, 1.8, 2.2)
    wrong, right = specimen.cell("eagle3", 3, metrics=fast), specimen.cell("ngram", 3, metrics=fast)
    fault = Lamp(name="losslessness", level="fault", text="3 answers differ.", cells=[wrong.cell_id])
    table = tables.arms_table(specimen.run(specimen.baseline(), wrong, right, lamps=[fault]))
    assert [row.status for row in table.rows] == ["complete", "changes the output", "complete"]
    assert [row.entries[0].mark for row in table.rows] == [None, None, "faster"]


def test_rows_of_one_suite_at_several_loads_are_told_apart(specimen: ModuleType) -> None:
    cells = [specimen.cell(group=str(load), cell_id=str(load), concurrency=load) for load in (1, 16)]
    assert [row.scope for row in tables.arms_table(specimen.run(*cells)).rows] == [
        "coding, concurrency 1",
        "coding, concurrency 16",
    ]
