"""What speculation changed besides, and the settings that engines resolved: each said once, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.details.facts import Block
from draftmark.dashboards.details.settings import Change, changes, resolved_settings

if TYPE_CHECKING:
    from types import ModuleType


def test_arms_that_changed_a_setting_alike_share_a_row(specimen: ModuleType) -> None:
    cells = [specimen.baseline(suite) for suite in ("a", "b")]
    cells += [specimen.cell("eagle3", 4, suite=suite, changed={"async": (True, False)}) for suite in ("a", "b")]
    cells.append(specimen.cell("ngram", 4, suite="a", changed={"blocks": (100, 80)}))
    assert changes(specimen.run(*cells)) == [
        Change("async", "true", "false", "eagle3 D=4"),
        Change("blocks", "100", "80", "ngram D=4 on a"),
    ]


def test_what_every_speculating_arm_changed_is_said_so(specimen: ModuleType) -> None:
    arms = [specimen.cell(drafter, 4, changed={"async": (True, False)}) for drafter in ("eagle3", "ngram")]
    assert [one.where for one in changes(specimen.run(specimen.baseline(), *arms))] == ["every speculating arm"]


def test_one_setting_changed_differently_is_two_rows_side_by_side(specimen: ModuleType) -> None:
    arms = [
        specimen.cell("eagle3", 4, changed={"z": (1, 2), "blocks": (100, 80)}),
        specimen.cell("ngram", 4, changed={"blocks": (100, 90)}),
    ]
    found = changes(specimen.run(specimen.baseline(), *arms))
    assert [(one.setting, one.here, one.where) for one in found] == [
        ("blocks", "80", "eagle3 D=4"),
        ("blocks", "90", "ngram D=4"),
        ("z", "2", "eagle3 D=4"),
    ]


def test_settings_are_in_order_with_numbers_as_numbers(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 4, changed=dict.fromkeys(("b", "a.10", "a.9", "a.9.c"), (1, 2)))
    assert [one.setting for one in changes(specimen.run(arm))] == ["a.9", "a.9.c", "a.10", "b"]


def test_settings_that_all_arms_have_equal_are_listed_once(specimen: ModuleType) -> None:
    cells = [specimen.baseline(), specimen.cell("ngram", 3), specimen.cell("ngram", 8)]
    resolved = {
        "coding/none": {"threads": 2, "model.dtype": "float32", "drafter": "none"},
        "coding/ngram D=3": {"threads": 2, "model.dtype": "float32", "drafter": "ngram"},
        "coding/ngram D=8": {"threads": 2, "model.dtype": "float32", "drafter": "ngram"},
    }
    assert resolved_settings(specimen.run(*cells, resolved=resolved)) == [
        Block("Every arm", (("threads", "2"), ("model.dtype", '"float32"'))),
        Block("none", (("drafter", '"none"'),)),
        Block("every speculating arm", (("drafter", '"ngram"'),)),
    ]


def test_a_run_whose_engines_told_nothing_has_no_settings(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 3)
    assert resolved_settings(specimen.run(arm, resolved={arm.cell_id: {}})) == []
