"""Where an arm stands, and why its speed may not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.records import Arm
from draftmark.results.standing import not_counted, standing
from draftmark.results.summary import CellSummary, Lamp, MetricValue, RunSummary

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import CellRecord, RunManifest


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.01, 1.2, "faster"),
        (0.8, 0.99, "slower"),
        (0.9, 1.1, "no clear difference"),
        (1.0, 1.2, "no clear difference"),
        (None, None, None),
    ],
)
def test_an_arm_stands_where_its_whole_interval_lies(low: float | None, high: float | None, said: str | None) -> None:
    assert standing(MetricValue(value=1.0, low=low, high=high, n=8, unit="1")) == said


def test_a_speed_up_that_was_not_measured_stands_nowhere() -> None:
    assert standing(None) is None
    assert standing(MetricValue(value=None, n=0, unit="1", reason="why")) is None


ARMS = {
    "none": Arm(drafter="none", draft_length=0),
    "right": Arm(drafter="ngram", draft_length=3),
    "wrong": Arm(drafter="suffix", draft_length=8),
    "gone": Arm(drafter="eagle3", draft_length=3),
}


def summary_of(
    make_cell: Callable[..., CellRecord], make_manifest: Callable[..., RunManifest], faulty: list[str]
) -> RunSummary:
    """A run of four arms, of which one lost its engine; the output lamp is a fault for the cells named."""
    records = [make_cell(name, arm, lost="killed" if name == "gone" else None) for name, arm in ARMS.items()]
    cells = [
        CellSummary.model_construct(cell_id=name, drafter=arm.drafter, control=False, category=None)
        for name, arm in ARMS.items()
    ]
    lamps = [
        Lamp(name="losslessness", level="fault", text="2 answers left the baseline's.", cells=faulty),
        Lamp(name="losslessness", level="warning", text="Not compared.", cells=["right"]),
        Lamp(name="values", level="fault", text="Impossible.", cells=["right"]),
    ]
    return RunSummary.model_construct(manifest=make_manifest(records), cells=cells, lamps=lamps)


def test_what_changes_the_output_or_lost_its_engine_does_not_count(
    make_cell: Callable[..., CellRecord], make_manifest: Callable[..., RunManifest]
) -> None:
    assert not_counted(summary_of(make_cell, make_manifest, ["wrong", "gone"])) == {
        "wrong": "changes the output",
        "gone": "changes the output and lost its engine",
    }


def test_a_fault_of_all_cells_speaks_of_those_that_draft(
    make_cell: Callable[..., CellRecord], make_manifest: Callable[..., RunManifest]
) -> None:
    assert set(not_counted(summary_of(make_cell, make_manifest, []))) == {"right", "wrong", "gone"}
