"""A job summary: escaped, within its size, the gravest first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from draftmark.bench.reporting.markdown import MOST_BYTES, escaped, verdict_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.gating import Verdict


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a&#124;b"),
        ("<b>", "&lt;b&gt;"),
        ("*x*", r"\*x\*"),
        ("[a](b)", r"\[a\]\(b\)"),
        ("@team", "&#64;team"),
        ("http://x", "http&#58;//x"),
        ("`x`", r"\`x\`"),
        ("two\nlines", r"two\\x0alines"),
        ("plain words", "plain words"),
    ],
)
def test_markup_is_shown_and_not_followed(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_hostile_names_make_no_html_and_no_table_cells(verdict: Callable[..., Verdict]) -> None:
    text = verdict_markdown(verdict())
    assert "<script" not in text
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {10}
    assert not re.search(r"^# ", text, re.MULTILINE)


def test_the_outcome_is_first_and_the_gravest_row_next(verdict: Callable[..., Verdict]) -> None:
    lines = verdict_markdown(verdict()).splitlines()
    assert lines[0] == "## ❌ regression"
    rows = [line for line in lines if line.startswith("| ")][1:]
    order = [re.search(r"\*\*(.*?)\*\*", row)[1] for row in rows]
    assert order == ["regression", "impossible", "missing", "not comparable", "not gated", "pass"]


def test_a_row_by_hand(verdict: Callable[..., Verdict]) -> None:
    row = next(line for line in verdict_markdown(verdict()).splitlines() if "**regression**" in line and line[0] == "|")
    assert "| 20.0 ms | 21.0 ms | +5.0% [+4.0%, +6.0%] | 3.0% | 1.2% | **regression** |" in row


def test_what_does_not_fit_is_cut_from_the_least_grave_end_and_said(verdict: Callable[..., Verdict]) -> None:
    text = verdict_markdown(verdict(2_000))
    assert len(text.encode()) <= MOST_BYTES
    assert text.count("**regression**") >= 2_000
    assert re.search(r"[1-9]\d* lines are cut here to stay within 1,048,576 bytes", text)
    assert "cut" not in verdict_markdown(verdict(3))


def test_findings_are_limited_too(verdict: Callable[..., Verdict]) -> None:
    from draftmark.results.gating import Finding

    many = [Finding(level="told", text=f"cell {number} is new") for number in range(1_000)]
    text = verdict_markdown(verdict(findings=many, settings=[]))
    assert text.count("is new") == 200
    assert "and 800 more of these, cut here" in text
