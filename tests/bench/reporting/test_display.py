"""Text from outside, made harmless."""

from __future__ import annotations

import io
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.bench.reporting.display import cell_text, emit, harmless


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ümlaut 日本", "plain ümlaut 日本"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\rb\nc", "a\\x0db\\x0ac"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u200b", "\\u200b"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
    ],
)
def test_what_a_terminal_would_act_on_is_spelt_out(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_line_breaks_are_kept_on_request() -> None:
    assert harmless("a\nb\x1b", keep_newlines=True) == "a\nb\\x1b"


@given(st.text(st.characters(codec=None)))
def test_nothing_unprintable_is_ever_left(text: str) -> None:
    assert all(unicodedata.category(character)[0] != "C" for character in harmless(text))
    harmless(text).encode("utf-8")


@pytest.mark.parametrize("text", ["[red]x[/red]", "[/]", "[link=http://a]b[/link]", "a[b]c\\"])
def test_markup_stays_text(text: str) -> None:
    assert cell_text(text).plain == text


def test_long_text_is_cut() -> None:
    assert cell_text("x" * 300, limit=10).plain == "xxxxxxxxx…"


def test_a_terminal_that_cannot_show_a_character_gets_it_spelt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    emit("1.32x \u2713")
    assert raw.getvalue() == b"1.32x \\u2713\n"
