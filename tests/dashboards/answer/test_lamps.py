from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.answer.lamps import WORDS, lamp_lines
from draftmark.results.summary import LAMP_NAMES, Lamp

if TYPE_CHECKING:
    from types import ModuleType


def test_the_five_lamps_every_run_owes_are_shown_even_when_not_checked(specimen: ModuleType) -> None:
    found = lamp_lines(specimen.run(specimen.baseline()))
    assert [lamp.title for lamp in found] == [
        "Speculation really on",
        "Baseline sane",
        "Output unchanged beyond the control",
        "Client on time",
        "Launches",
    ]
    assert {(lamp.level, lamp.word) for lamp in found} == {("unjudged", "not checked")}


def test_the_gravest_decides_and_comes_first(specimen: ModuleType) -> None:
    lit = [
        Lamp(name="speculation", level="ok", text="ngram drafts.", cells=[]),
        Lamp(name="speculation", level="fault", text="suffix never drafted.", cells=[]),
        Lamp(name="speculation", level="warning", text="coverage is 2%.", cells=[]),
    ]
    lamp = lamp_lines(specimen.run(specimen.baseline(), lamps=lit))[0]
    assert (lamp.level, lamp.word) == ("fault", "fault")
    assert lamp.texts == ("suffix never drafted.", "coverage is 2%.", "ngram drafts.")


def test_a_lamp_of_some_cells_names_their_arms_and_suites(specimen: ModuleType) -> None:
    cells = [specimen.baseline(), specimen.cell("ngram", 3), specimen.cell("ngram", 8)]
    lamp = Lamp(name="failures", level="warning", text="1 turn failed.", cells=["coding/ngram D=8"])
    assert lamp_lines(specimen.run(*cells, lamps=[lamp]))[-1].texts == ("1 turn failed. (ngram D=8)",)
    other = specimen.baseline("summarization")
    assert lamp_lines(specimen.run(*cells, other, lamps=[lamp]))[-1].texts == ("1 turn failed. (ngram D=8 on coding)",)


def test_a_green_lamp_names_cells_only_where_some_suite_has_none_of_them(specimen: ModuleType) -> None:
    arms = [specimen.cell("ngram", 3, suite=suite) for suite in ("coding", "summarization")]
    cells = [*arms, *map(specimen.baseline, ("coding", "summarization"))]
    everywhere = Lamp(name="speculation", level="ok", text="On.", cells=[arm.cell_id for arm in arms])
    assert lamp_lines(specimen.run(*cells, lamps=[everywhere]))[0].texts == ("On.",)
    once = Lamp(name="speculation", level="ok", text="On.", cells=[arms[0].cell_id])
    assert lamp_lines(specimen.run(*cells, lamps=[once]))[0].texts == ("On. (ngram D=3 on coding)",)


def test_what_could_not_be_judged_is_not_called_ok(specimen: ModuleType) -> None:
    text = "As fast as itself. Whether it drifted is not judged."
    lit = [
        Lamp(name="baseline", level="ok", text="As fast as itself.", cells=[]),
        Lamp(name="baseline", level="unjudged", text=text, cells=[]),
    ]
    lamp = lamp_lines(specimen.run(specimen.baseline(), lamps=lit))[1]
    assert (lamp.title, lamp.level, lamp.word) == ("Baseline sane", "unjudged", "not judged")
    assert lamp.texts == (text, "As fast as itself.")
    worse = [*lit, Lamp(name="baseline", level="note", text="More than chance.", cells=[])]
    assert lamp_lines(specimen.run(specimen.baseline(), lamps=worse))[1].word == "note"


def test_the_page_has_words_for_every_lamp_there_is() -> None:
    assert tuple(WORDS) == LAMP_NAMES


def test_extra_lamps_appear_only_when_raised(specimen: ModuleType) -> None:
    lamp = Lamp(name="identities", level="fault", text="T is not 1 + sum e.", cells=[])
    titles = [lamp.title for lamp in lamp_lines(specimen.run(specimen.baseline(), lamps=[lamp]))]
    assert titles[-1] == "Counts add up"
    assert "Every turn finished" not in titles
