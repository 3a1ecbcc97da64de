"""The page's colours and marks: the same for a drafter everywhere, and readable in light and dark."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.palette import looks

if TYPE_CHECKING:
    from types import ModuleType


STYLE = files("draftmark.dashboards").joinpath("assets", "page.css").read_text(encoding="utf-8")
PAIRS = dict(re.findall(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", STYLE))


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast of two colours `#rrggbb`."""

    def luminance(color: str) -> float:
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_on_white_is_twenty_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", ["ink", "muted", "accent", "good", "warn", "bad"])
@pytest.mark.parametrize("ground", ["bg", "panel", "sunk"])
def test_text_is_readable_on_every_ground(scheme: int, text: str, ground: str) -> None:
    assert contrast(PAIRS[text].split(", ")[scheme], PAIRS[ground].split(", ")[scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("place", [f"d{i}" for i in range(9)])
def test_marks_stand_out_from_their_ground(scheme: int, place: str) -> None:
    assert contrast(PAIRS[place].split(", ")[scheme], PAIRS["panel"].split(", ")[scheme]) >= 3


def test_a_known_drafter_looks_the_same_whatever_runs_beside_it(specimen: ModuleType) -> None:
    alone = looks([specimen.cell("suffix", 8)])["suffix D=8"]
    among = looks([specimen.cell("ngram", 3), specimen.cell("mine", 2), specimen.cell("suffix", 8)])["suffix D=8"]
    assert alone == among


def test_no_two_arms_of_a_run_look_the_same(specimen: ModuleType) -> None:
    arms = [specimen.cell(drafter, d) for drafter in ("ngram", "suffix", "draft-model", "mine") for d in (2, 4, 8)]
    found = looks([*arms, specimen.baseline()])
    assert len(set(found.values())) == 13


def test_unknown_drafters_take_free_places(specimen: ModuleType) -> None:
    found = looks([specimen.cell("mine", 2), specimen.cell("ngram", 2), specimen.cell("yours", 2)])
    assert len({look.color for look in found.values()}) == 3


def test_more_drafters_than_places_still_get_a_look(specimen: ModuleType) -> None:
    assert len(looks([specimen.cell(f"drafter-{i}", 2) for i in range(40)])) == 40
