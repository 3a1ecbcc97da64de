from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.wording import (
    interval,
    last_words,
    listed,
    number,
    provenance,
    qualifiers,
    shortened,
    squeezed,
    value_of,
)

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize(
    ("stored", "unit", "shown"),
    [
        (0.0123, "s", "12.3"),  # seconds inside, milliseconds on screen
        (0.00123, "s", "1.23"),
        (1.5, "s", "1,500"),
        (1.3249, "1", "1.32"),
        (2.9, "tokens", "2.90"),
        (17.24, "tokens/s", "17.2"),
        (1234.5, "tokens/s", "1,234"),
        (1400.0, "count", "1,400"),
        (-0.5, "1", "-0.50"),
        (0.0123, "1", "0.012"),
        (0.04, "1", "0.04"),
        (0.0994, "1", "0.10"),
        (0.00042, "1", "0.00042"),
        (0.0, "1", "0.00"),
        (0.0, "s", "0.00"),
    ],
)
def test_numbers_have_the_digits_and_the_unit_of_the_screen(stored: float, unit: str, shown: str) -> None:
    assert number(stored, unit) == shown


def test_an_interval_is_written_in_the_unit_of_the_screen(specimen: ModuleType) -> None:
    assert interval(specimen.value(0.05, 0.04, 0.061, unit="s")) == "[40.0, 61.0]"
    assert interval(specimen.value(0.05, unit="s")) is None


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_null_with_a_reason(specimen: ModuleType, broken: float) -> None:
    cell = specimen.cell(metrics={"speedup": specimen.value(broken, 1.0, 2.0)})
    found = value_of(cell, "speedup")
    assert (found.value, found.low, found.high, found.reason) == (None, None, None, "the number is not finite")


def test_half_an_interval_is_none(specimen: ModuleType) -> None:
    cell = specimen.cell(metrics={"speedup": specimen.value(1.2, 1.1, math.inf)})
    found = value_of(cell, "speedup")
    assert (found.value, found.low, found.high) == (1.2, None, None)


def test_a_metric_that_a_cell_lacks_says_why(specimen: ModuleType) -> None:
    assert value_of(specimen.cell(), "ttft").reason == "this run has no such number"
    left_out = specimen.cell(status="left out", status_text="no C++ compiler")
    assert value_of(left_out, "ttft").reason == "no C++ compiler"


def test_provenance_names_observations_source_and_note(specimen: ModuleType) -> None:
    metric = specimen.value(1.2, n=1400, note="rough (9 conversations)", source="engine")
    assert provenance(metric) == "n = 1,400; engine; rough (9 conversations)"


def test_lists_are_joined_as_a_sentence_does() -> None:
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_long_names_are_cut_to_length() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"


def test_names_squeezed_keep_both_ends() -> None:
    assert squeezed("abcdef", 6) == "abcdef"
    assert squeezed("abcdefghij", 6) == "abc…ij"
    assert squeezed("abcdefghij", 7) == "abc…hij"


def test_last_words_are_one_line() -> None:
    assert last_words("killed;\n  its last   words:\n\tgoodbye") == "killed; its last words: goodbye"


def test_notes_come_apart_and_are_said_in_plain_words(specimen: ModuleType) -> None:
    metric = specimen.value(1.2, note="rough (9 conversations); prompt sampling only")
    assert qualifiers(metric) == ["rough (9 conversations)", "one launch of the engine"]
    assert qualifiers(specimen.value(1.2)) == []
