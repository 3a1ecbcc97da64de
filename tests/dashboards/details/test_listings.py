"""The lists of failed turns and of divergences: capped, counted, and naming the cell by arm, suite and load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.details import listings
from draftmark.results.records import Divergence

if TYPE_CHECKING:
    from types import ModuleType

    import pytest


def test_lists_of_what_went_wrong_are_capped_and_tell_the_true_number(
    specimen: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listings, "MAX_ROWS", 3)
    failed = [{"cell_id": "coding/ngram D=3", "question_id": f"q{i}", "kind": "timeout"} for i in range(10)]
    listing = listings.failures(specimen.run(specimen.cell(), failures=failed))
    assert (len(listing.rows), listing.total) == (3, 10)
    assert listing.rows[0] == ("ngram D=3 on coding", "q0 turn , repeat ", "timeout", "")


def test_a_failed_turn_says_at_which_load_it_failed(specimen: ModuleType) -> None:
    cells = [specimen.cell(group=str(load), cell_id=str(load), concurrency=load) for load in (1, 16)]
    listing = listings.failures(specimen.run(*cells, failures=[{"cell_id": "16"}]))
    assert listing.rows[0][0] == "ngram D=3 on coding, concurrency 16"


def test_faults_come_before_numeric_ties_and_ended_answers_are_said(specimen: ModuleType) -> None:
    def leaving(verdict: str, arm_id: int | None) -> Divergence:
        where = {"cell_id": "coding/ngram D=3", "question_id": "q", "turn_index": 0, "repeat": 0, "position": 7}
        return Divergence(**where, baseline_id=11, arm_id=arm_id, verdict=verdict, reason="because")

    found = [leaving("numeric-tie", 12), leaving("unknown", 13), leaving("fault", None)]
    rows = listings.divergences(specimen.run(specimen.cell(), divergences=found)).rows
    assert [(row[3], row[4]) for row in rows] == [
        ("11 → end", "fault"),
        ("11 → 13", "unknown"),
        ("11 → 12", "numeric-tie"),
    ]
