from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards import tables
from draftmark.results.records import Divergence

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

    assert [mark(1.01, 1.2), mark(0.8, 0.99), mark(0.9, 1.1)] == ["faster", "slower", "unclear"]


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
    assert tables.arms_table(specimen.run(*arms)).notes == (("speedup", "rough", 2),)


def test_changes_equal_in_all_suites_are_one_row(specimen: ModuleType) -> None:
    cells = [specimen.cell("eagle3", 4, suite=suite, changed={"async": (True, False)}) for suite in ("a", "b")]
    cells.append(specimen.cell("ngram", 4, suite="a", changed={"blocks": (100, 80)}))
    assert tables.changes(specimen.run(*cells)) == [
        tables.Change("eagle3 D=4", "all", "async", "true", "false"),
        tables.Change("ngram D=4", "a", "blocks", "100", "80"),
    ]


def test_lists_of_what_went_wrong_are_capped_and_tell_the_true_number(
    specimen: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 3)
    failed = [{"cell_id": "coding/ngram D=3", "question_id": f"q{i}", "kind": "timeout"} for i in range(10)]
    listing = tables.failures(specimen.run(specimen.cell(), failures=failed))
    assert (len(listing.rows), listing.total) == (3, 10)
    assert listing.rows[0] == ("ngram D=3 on coding", "q0 turn , repeat ", "timeout", "")


def test_faults_come_before_numeric_ties_and_ended_answers_are_said(specimen: ModuleType) -> None:
    def leaving(verdict: str, arm_id: int | None) -> Divergence:
        where = {"cell_id": "coding/ngram D=3", "question_id": "q", "turn_index": 0, "repeat": 0, "position": 7}
        return Divergence(**where, baseline_id=11, arm_id=arm_id, verdict=verdict, reason="because")

    found = [leaving("numeric-tie", 12), leaving("unknown", 13), leaving("fault", None)]
    rows = tables.divergences(specimen.run(specimen.cell(), divergences=found)).rows
    assert [(row[3], row[4]) for row in rows] == [
        ("11 → end", "fault"),
        ("11 → 13", "unknown"),
        ("11 → 12", "numeric-tie"),
    ]
