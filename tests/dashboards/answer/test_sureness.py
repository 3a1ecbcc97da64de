"""What stands beside an answer: how many pairs, what is unfinished, and which lamps are not green for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.answer.sureness import sureness
from draftmark.dashboards.groups import groups_of
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from types import ModuleType


def said(specimen: ModuleType, lamps: tuple[Lamp, ...] = (), *, rivals: int = 1, **run: object) -> tuple[str, ...]:
    metrics = {"speedup": specimen.value(1.3, 1.1, 1.5, n=1)}
    summary = specimen.run(specimen.baseline(), specimen.cell("ngram", 3, metrics=metrics), **run)
    (group,) = groups_of(summary)
    return sureness(group.arms[0], group, lamps, rivals=rivals)


def test_an_interval_names_the_pairs_it_stands_on(specimen: ModuleType) -> None:
    assert said(specimen) == ("95% interval from 1 pair of answers",)


def test_a_choice_among_arms_is_said(specimen: ModuleType) -> None:
    assert said(specimen, rivals=4)[1:] == ("best of 4 arms, and picking the best flatters it",)


def test_a_baseline_that_lost_its_engine_is_said(specimen: ModuleType) -> None:
    assert said(specimen, lost={"coding/none": "killed"})[1:] == ("the arm without speculation lost its engine",)


def test_one_kind_of_lamp_is_named_once(specimen: ModuleType) -> None:
    lamps = tuple(Lamp(name="values", level="warning", text=text, cells=[]) for text in ("a", "b"))
    assert said(specimen, lamps)[1:] == ("warning about values",)
