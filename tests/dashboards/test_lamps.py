from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.lamps import lamps
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from types import ModuleType


def test_the_five_lamps_every_run_owes_are_shown_even_when_not_checked(specimen: ModuleType) -> None:
    found = lamps(specimen.run(specimen.baseline()))
    assert [lamp.title for lamp in found] == [
        "Speculation really on",
        "Baseline sane",
        "Output unchanged beyond the control",
        "Client on time",
        "Launches",
    ]
    assert {(lamp.level, lamp.word) for lamp in found} == {("unknown", "not checked")}


def test_the_gravest_flag_decides_a_lamp_and_comes_first(specimen: ModuleType) -> None:
    lamps = [
        Lamp(name="speculation", level="ok", text="ngram drafts.", cells=[]),
        Lamp(name="speculation", level="fault", text="suffix never drafted.", cells=[]),
        Lamp(name="speculation", level="warning", text="coverage is 2%.", cells=[]),
    ]
    lamp = lamps(specimen.run(specimen.baseline(), lamps=lamps))[0]
    assert (lamp.level, lamp.word) == ("fault", "fault")
    assert lamp.texts == ("suffix never drafted.", "coverage is 2%.", "ngram drafts.")


def test_a_flag_of_some_cells_names_their_arms_and_suites(specimen: ModuleType) -> None:
    cells = [specimen.baseline(), specimen.cell("ngram", 3), specimen.cell("ngram", 8)]
    lamp = Lamp(name="failures", level="warning", text="1 turn failed.", cells=["coding/ngram D=8"])
    assert lamps(specimen.run(*cells, lamps=[lamp]))[-1].texts == ("1 turn failed. (ngram D=8 on coding)",)


def test_extra_lamps_appear_only_when_raised(specimen: ModuleType) -> None:
    lamp = Lamp(name="identities", level="fault", text="T is not 1 + sum e.", cells=[])
    titles = [lamp.title for lamp in lamps(specimen.run(specimen.baseline(), lamps=[lamp]))]
    assert titles[-1] == "Counts add up"
    assert "Every turn finished" not in titles


def test_a_flag_of_many_cells_gives_their_number(specimen: ModuleType) -> None:
    cells = [specimen.cell("ngram", d) for d in range(1, 7)]
    lamp = Lamp(name="failures", level="warning", text="Not finished.", cells=[one.cell_id for one in cells[:5]])
    assert lamps(specimen.run(*cells, lamps=[lamp]))[-1].texts == ("Not finished. (5 of 6 cells)",)
