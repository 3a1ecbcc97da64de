"""What every page is made of: templates, packaged styles and scripts, its content policy, and writing it whole.

All text of a run enters a page here, as a template's value or as a chart's JSON, and is made harmless here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from draftmark.results.errors import DraftmarkError
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jinja2 import Environment
    from markupsafe import Markup


class DocumentWriteError(DraftmarkError):
    """A page that cannot be written: disk full, read-only, or a file where the folder should be (exit 3)."""

    exit_code = 3


@dataclass(frozen=True)
class Script:
    """A packaged script as a page holds it, and its digest for the page's content policy."""

    markup: Markup
    digest: str


def write_whole(path: Path, text: str) -> Path:
    """Write a file whole or not at all, its folder made where it does not exist, and return its path.

    Raises:
        DocumentWriteError: The folder or the file cannot be written; an older file is left as it was.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as fault:
        taken = isinstance(fault, FileExistsError | NotADirectoryError)
        why = "a part of that path is a file, no folder" if taken else fault.strerror or fault
        advice = "name another folder with --out" if taken else "free space or name another folder with --out"
        raise DocumentWriteError(f"cannot write {path}: {why}; {advice}") from fault
    return path


def document(template: str, *, styles: Iterable[str], scripts: Iterable[Script], **values: Any) -> str:
    """Return a page as HTML text: a template with its values, style sheets and scripts, all of them inside.

    Args:
        template: Name of the template; it is given `style`, `head_script`, `body_scripts` and `policy` besides.
        styles: Names of packaged style sheets, in order.
        scripts: What runs at the page's end, in order.
        values: What else the template is given.
    """
    head, body = script("theme.js"), list(scripts)
    return (
        templates()
        .get_template(template)
        .render(
            style=_joined(asset(name) for name in styles),
            head_script=head.markup,
            body_scripts=[one.markup for one in body],
            policy=content_policy([one.digest for one in (head, *body)]),
            **values,
        )
    )


def embedded_json(value: Any) -> Markup:
    """Return strict JSON that cannot end its script element: no NaN, and `<`, `>` and `&` as escapes.

    Texts in it are made harmless as those of templates are, since scripts put them on the page.

    Raises ValueError for a number that is not finite.
    """
    from markupsafe import Markup

    text = json.dumps(_shown(value), allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - every sign that HTML could read is escaped above


def content_policy(digests: list[str]) -> str:
    """Return a page's content security policy: its own scripts by digest, nothing from anywhere else."""
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def inline(text: str) -> Script:
    """Ready a script of ours or a library's for a script element: nothing in it may look like the element's end."""
    from markupsafe import Markup

    safe = text.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    digest = base64.b64encode(hashlib.sha256(safe.encode()).digest()).decode()
    return Script(Markup(safe), digest)  # noqa: S704 - packaged scripts, no data of a run


@cache
def script(name: str) -> Script:
    """Return a packaged script, ready for a script element."""
    return inline(files("draftmark.dashboards").joinpath("assets", name).read_text(encoding="utf-8"))


@cache
def asset(name: str) -> Markup:
    """Return a packaged style sheet."""
    from markupsafe import Markup

    text = files("draftmark.dashboards").joinpath("assets", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - a packaged style sheet, no data of a run


@cache
def templates() -> Environment:
    """Return the packaged templates; what they are given is made harmless and escaped, a name they lack is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files("draftmark.dashboards").joinpath("templates")
    loader = FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8"))
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters["embedded_json"] = embedded_json
    return environment


def _shown(value: Any) -> Any:
    """Return a value with every text in it made harmless, as on a terminal; our own markup stays as it is."""
    if isinstance(value, str):
        return value if hasattr(value, "__html__") else harmless(value, keep_newlines=True)
    if isinstance(value, dict):
        return {_shown(name): _shown(part) for name, part in value.items()}
    return [_shown(part) for part in value] if isinstance(value, list | tuple) else value


def _joined(parts: Iterable[Markup]) -> Markup:
    from markupsafe import Markup

    return Markup("\n").join(parts)
