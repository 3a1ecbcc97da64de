"""Writes the page of a run: one file with its data, style and scripts inside, which asks the network for nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from draftmark.dashboards.answer.caveat import caveats
from draftmark.dashboards.answer.lamps import lamp_lines
from draftmark.dashboards.answer.notices import notices
from draftmark.dashboards.answer.verdict import VERDICTS, answers
from draftmark.dashboards.charts.sections import sections
from draftmark.dashboards.details.acceptance_table import acceptance_tables
from draftmark.dashboards.details.arms_table import arms_table
from draftmark.dashboards.details.facts import blocks, definitions, headline_facts, plan_text
from draftmark.dashboards.details.glossary import SYMBOLS, WORDS
from draftmark.dashboards.details.listings import divergences, failures
from draftmark.dashboards.details.settings import changes, resolved_settings
from draftmark.dashboards.documents import document, inline, script, write_whole
from draftmark.dashboards.sharing import without_local_paths
from draftmark.results.metrics import METRICS

if TYPE_CHECKING:
    from pathlib import Path

    from draftmark.dashboards.documents import Script
    from draftmark.results.summary import RunSummary


def write_site(summary: RunSummary, out: Path, *, command: str | None = None, made_at: datetime | None = None) -> Path:
    """Write a run's page to `out/index.html`, whole or not at all, and return its path.

    Args:
        summary: The derived view of the run.
        out: Folder of the page; made where it does not exist.
        command: The command that repeats the run, as shown under the answer. Null names a run of the plan that the page
            holds.
        made_at: When the page is made, as the page of an unfinished run says; null asks the clock.

    Raises:
        DocumentWriteError: The folder or the file cannot be written; an older page is left as it was.
    """
    return write_whole(out / "index.html", render(summary, command=command, made_at=made_at))


def render(summary: RunSummary, *, command: str | None = None, made_at: datetime | None = None) -> str:
    """Return a run's page as HTML text, local paths cut to their ends; see `write_site`."""
    plan = summary.manifest.plan
    summary = without_local_paths(summary)
    return document(
        "page.html.j2",
        styles=("page.css",),
        scripts=(
            script("tips.js"),
            script("sorting.js"),
            script("table.js"),
            script("wide.js"),
            _plotly(),
            script("charts.js"),
        ),
        manifest=summary.manifest,
        headline_facts=headline_facts(summary),
        notices=notices(summary, made_at or datetime.now(UTC)),
        answers=answers(summary),
        caveats=caveats(summary),
        verdicts=VERDICTS,
        command=command,
        lamps=lamp_lines(summary),
        table=arms_table(summary),
        sections=sections(summary),
        places=acceptance_tables(summary),
        changes=changes(summary),
        failures=failures(summary),
        divergences=divergences(summary),
        blocks=blocks(summary),
        resolved=resolved_settings(summary),
        plan=plan_text(summary.manifest),
        paths_cut=summary.manifest.plan != plan,
        definitions=definitions(METRICS.values()),
        words=WORDS,
        symbols=SYMBOLS,
    )


@cache
def _plotly() -> Script:
    from plotly.offline import get_plotlyjs

    return inline(get_plotlyjs())
