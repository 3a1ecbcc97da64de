"""Writes the page of a run: one file with its data, style and scripts inside, which asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from draftmark.dashboards.answer.caveat import caveats
from draftmark.dashboards.answer.lamps import lamp_lines
from draftmark.dashboards.answer.notices import notices
from draftmark.dashboards.answer.verdict import VERDICTS, answers
from draftmark.dashboards.charts.sections import sections
from draftmark.dashboards.details.arms_table import arms_table
from draftmark.dashboards.details.facts import blocks, definitions, headline_facts, plan_text
from draftmark.dashboards.details.glossary import SYMBOLS, WORDS
from draftmark.dashboards.details.listings import divergences, failures
from draftmark.dashboards.details.settings import changes, resolved_settings
from draftmark.dashboards.sharing import without_local_paths
from draftmark.results.errors import DraftmarkError
from draftmark.results.metrics import METRICS

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment
    from markupsafe import Markup

    from draftmark.results.summary import RunSummary


class PageWriteError(DraftmarkError):
    """A page that cannot be written: disk full, read-only, or a file where the folder should be (exit 3)."""

    exit_code = 3


def write_site(summary: RunSummary, out: Path, *, command: str | None = None, made_at: datetime | None = None) -> Path:
    """Write a run's page to `out/index.html`, whole or not at all, and return its path.

    Args:
        summary: The derived view of the run.
        out: Folder of the page; made where it does not exist.
        command: The command that repeats the run, as shown under the answer. Null names a run of the plan that the page
            holds.
        made_at: When the page is made, as the page of an unfinished run says; null asks the clock.

    Raises:
        PageWriteError: The folder or the file cannot be written; an older page is left as it was.
    """
    page = render(summary, command=command, made_at=made_at)
    path = out / "index.html"
    draft = out / f".index.html.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("x", encoding="utf-8", newline="\n") as file:
                file.write(page)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as fault:
        raise PageWriteError(
            f"cannot write the page {path}: {fault.strerror or fault}; free space or name another folder with --out"
        ) from fault
    return path


def render(summary: RunSummary, *, command: str | None = None, made_at: datetime | None = None) -> str:
    """Return a run's page as HTML text, local paths cut to their ends; see `write_site`."""
    plan = summary.manifest.plan
    summary = without_local_paths(summary)
    head = _script("theme.js")
    body = (_script("tips.js"), _script("table.js"), _script("wide.js"), _plotly(), _script("charts.js"))
    return (
        _templates()
        .get_template("page.html.j2")
        .render(
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
            style=_asset("page.css"),
            head_script=head.markup,
            body_scripts=[script.markup for script in body],
            policy=content_policy([script.digest for script in (head, *body)]),
        )
    )


def embedded_json(value: Any) -> Markup:
    """Return strict JSON that cannot end its script element: no NaN, and `<`, `>` and `&` as escapes.

    Raises ValueError for a number that is not finite.
    """
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - every sign that HTML could read is escaped above


def content_policy(digests: list[str]) -> str:
    """Return the page's content security policy: its own scripts by digest, nothing from anywhere else."""
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class _Script:
    markup: Markup
    digest: str


def _inline(text: str) -> _Script:
    """Ready a script of ours or plotly's for a script element: nothing in it may look like the element's end."""
    from markupsafe import Markup

    safe = text.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    digest = base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()
    return _Script(Markup(safe), digest)  # noqa: S704 - packaged scripts, no data of a run


@cache
def _script(name: str) -> _Script:
    return _inline(files("draftmark.dashboards").joinpath("assets", name).read_text(encoding="utf-8"))


@cache
def _plotly() -> _Script:
    from plotly.offline import get_plotlyjs

    return _inline(get_plotlyjs())


@cache
def _asset(name: str) -> Markup:
    from markupsafe import Markup

    text = files("draftmark.dashboards").joinpath("assets", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a packaged style sheet, no data of a run


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files("draftmark.dashboards").joinpath("templates")
    loader = FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8"))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["embedded_json"] = embedded_json
    return environment
