"""What stands above the answer of a run that is not whole, word by word."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.answer.notices import notices

if TYPE_CHECKING:
    from types import ModuleType

NOW = datetime(2026, 11, 30, 3, 12, 45, tzinfo=UTC)
REST = "Run the same plan into the same folder for the rest."


def test_a_whole_run_needs_no_notice(specimen: ModuleType) -> None:
    assert notices(specimen.demo().model_copy(update={"cells": [specimen.cell()]}), NOW) == []


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (
            "running",
            "this run was still under way, or was killed, when the page was made on 2026-11-30 03:12 UTC from 31 of 48 "
            f"turns. Numbers will change. Killed? {REST}",
        ),
        (
            "interrupted",
            "this run was interrupted before its end, and the page was made on 2026-11-30 03:12 UTC from 31 of 48 "
            f"turns. {REST}",
        ),
        (
            "failed",
            "this run ended before it was finished, and the page was made on 2026-11-30 03:12 UTC from 31 of 48 turns. "
            f"{REST}",
        ),
        (
            "complete",
            "this run ended without some of its turns, and the page was made on 2026-11-30 03:12 UTC from 31 of 48 "
            f"turns. {REST}",
        ),
    ],
)
def test_a_page_of_an_unfinished_run_says_when_and_how_many_turns(specimen: ModuleType, status: str, text: str) -> None:
    part = specimen.cell("ngram", 3, status="partial", status_text="partial 7/24, 1 failed", turns_ok=6, turns_failed=1)
    left_out = specimen.cell("suffix", 8, status="left out", status_text="no compiler", turns_ok=0)
    (notice,) = notices(specimen.run(specimen.baseline(), part, left_out, status=status), NOW)
    assert (notice.title, notice.text, notice.quote) == ("A snapshot:", text, None)


def test_arms_that_lost_their_engine_alike_share_a_notice_with_its_last_words(specimen: ModuleType) -> None:
    words = "the engine was killed (SIGKILL); its last words:\n" + "x" * 400 + "\n  out of memory"
    gone = [
        specimen.cell("eagle3", 3, suite=suite, status="partial", status_text="partial", turns_ok=3)
        for suite in ("coding", "summarization")
    ]
    cells = [specimen.baseline(), specimen.baseline("summarization"), *gone]
    run = specimen.run(*cells, status="failed", lost={one.cell_id: words for one in gone})
    snapshot, lost = notices(run, NOW)
    assert snapshot.title == "A snapshot:"
    assert (lost.title, lost.text) == ("Engine lost:", "eagle3 D=3, after 6 of 48 turns, so no answer rests on it.")
    assert len(lost.quote) == 200
    assert lost.quote.startswith("the engine was killed (SIGKILL); its last words: xxx")
    assert lost.quote.endswith("xxx out of memory")
