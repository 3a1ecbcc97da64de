"""What a person sees while a run is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.bench.running.progress import Bar, Lines

if TYPE_CHECKING:
    import pytest


def test_off_a_terminal_the_state_is_a_line_every_half_minute() -> None:
    now = [0.0]
    lines: list[str] = []
    reporter = Lines(lines.append, lambda: now[0])
    for second in (10, 29, 31, 40, 62):
        now[0] = float(second)
        reporter.advance(second, 100, None if second < 40 else 120.0)
    assert lines == ["31 of 100 turns", "62 of 100 turns, about 2 min left"]


def test_sentences_are_written_at_once() -> None:
    lines: list[str] = []
    Lines(lines.append).say("starting")
    assert lines == ["starting"]


def test_the_bar_takes_hostile_sentences_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar() as bar:
        bar.advance(1, 3, 120.0)
        bar.say("[red]not red[/red] [/] \x1b[2J")
    assert "[red]not red[/red] [/] \\x1b[2J" in capsys.readouterr().err
