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


def test_an_interval_names_the_conversations_it_rests_on(specimen: ModuleType) -> None:
    speedup = specimen.value(1.3, 1.1, 1.5, n=37).model_copy(update={"conversations": 22})
    summary = specimen.run(specimen.baseline(), specimen.cell("ngram", 3, metrics={"speedup": speedup}))
    (group,) = groups_of(summary)
    assert sureness(group.arms[0], group, ()) == ("95% interval from 22 conversations, 37 pairs of answers",)


def test_answers_that_were_not_compared_are_told(specimen: ModuleType) -> None:
    def said(compared: int) -> tuple[str, ...]:
        metrics = {"speedup": specimen.value(1.3, 1.1, 1.5, n=9), "divergent_turns": specimen.value(0.0, n=compared)}
        cell = specimen.cell("ngram", 3, metrics=metrics).model_copy(update={"turns_ok": 11})
        (group,) = groups_of(specimen.run(specimen.baseline(), cell))
        return sureness(group.arms[0], group, ())

    assert "7 of 11 answers compared with those of no speculation" in said(7)
    assert not any("compared" in text for text in said(11))


def test_a_choice_among_arms_is_said(specimen: ModuleType) -> None:
    assert said(specimen, rivals=4)[1:] == ("best of 4 arms, and picking the best flatters it",)


def test_a_baseline_that_lost_its_engine_is_said(specimen: ModuleType) -> None:
    assert said(specimen, lost={"coding/none": "killed"})[1:] == ("the arm without speculation lost its engine",)


def test_one_kind_of_lamp_is_named_once(specimen: ModuleType) -> None:
    lamps = tuple(Lamp(name="values", level="warning", text=text, cells=[]) for text in ("a", "b"))
    assert said(specimen, lamps)[1:] == ("warning about values",)
