"""The page's section on where acceptance comes from: what its cells say, and what is told once beneath."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.details.acceptance_table import MAX_CATEGORIES, acceptance_tables
from draftmark.dashboards.site import render

if TYPE_CHECKING:
    from types import ModuleType

    from draftmark.results.summary import CellSummary

REASON = "the engine does not tell"


def arm(
    specimen: ModuleType,
    al: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    n: int = 40,
    suite: str = "coding",
    category: str | None = None,
    **at: float | None,
) -> CellSummary:
    metrics = {"acceptance_length": specimen.value(al, low, high, n=n, unit="tokens", source="engine")}
    for name, value in at.items():
        metrics[f"acceptance_length@{name}"] = specimen.value(value, n=n, unit="tokens", reason=REASON)
    return specimen.cell("ngram", 3, suite=suite, category=category, metrics=metrics)


def test_a_cell_has_its_number_interval_steps_and_bar(specimen: ModuleType) -> None:
    cells = [
        arm(specimen, 2.0, 1.5, 2.5, n=1400),
        arm(specimen, 3.0, category="coding/edit"),
        arm(specimen, 1.0, category="coding/write"),
    ]
    (table,) = acceptance_tables(specimen.run(specimen.baseline(), *cells)).tables
    assert [name for name, _ in table.arms] == ["ngram D=3"]
    found = [(row.heading, row.label, *row.entries) for row in table.rows]
    assert [(heading, label, entry.text, entry.interval, entry.n) for heading, label, entry in found] == [
        (None, "all turns", "2.00", "[1.50, 2.50]", "1,400"),
        ("Category", "edit", "3.00", None, "40"),
        (None, "write", "1.00", None, "40"),
    ]
    # 3 tokens a step are 2 beyond the first, the most of the table: a whole bar. 2 are half of it, and 1 none.
    assert [entry.share for _, _, entry in found] == [0.5, 1.0, 0.0]


def test_what_several_suites_lack_is_told_once(specimen: ModuleType) -> None:
    suites = ("coding", "summarization")
    cells = [arm(specimen, 2.0, suite=suite, thinking=None, answer=None) for suite in suites]
    found = acceptance_tables(specimen.run(*map(specimen.baseline, suites), *cells))
    assert [table.title for table in found.tables] == ["coding", "summarization"]
    assert found.notes == (f"not measured: thinking and answer ({REASON})",)


def test_what_one_suite_lacks_names_it(specimen: ModuleType) -> None:
    cells = [
        arm(specimen, 2.0, thinking=None, answer=None),
        arm(specimen, 2.0, suite="math", thinking=1.5, answer=2.5),
    ]
    found = acceptance_tables(specimen.run(*cells))
    assert found.notes == (f"coding: not measured: thinking and answer ({REASON})",)
    assert [row.label for row in found.tables[1].rows] == ["all turns", "thinking", "answer"]


def test_a_run_without_acceptance_has_no_section(specimen: ModuleType) -> None:
    summary = specimen.run(specimen.baseline(), arm(specimen, None))
    assert acceptance_tables(summary).tables == ()
    assert 'id="places"' not in render(summary)
    assert 'id="places"' in render(specimen.run(specimen.baseline(), arm(specimen, 2.0)))


def test_of_very_many_categories_the_rest_is_counted(specimen: ModuleType) -> None:
    cells = [arm(specimen, 2.0, category=f"c{n:03}") for n in range(MAX_CATEGORIES + 3)]
    found = acceptance_tables(specimen.run(arm(specimen, 2.0), *cells))
    assert len(found.tables[0].rows) == 1 + MAX_CATEGORIES
    assert found.notes == ("3 more categories are in the table of every arm.",)


def test_names_from_a_run_are_escaped(specimen: ModuleType) -> None:
    cells = [arm(specimen, 2.0), *(arm(specimen, 2.0, category=f"<b>{n}</b>") for n in range(2))]
    page = render(specimen.run(*cells))
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    assert "<b>0</b>" not in page
