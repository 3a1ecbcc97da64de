"""How commands write to the terminal: text from outside made harmless, and a reader that went away left alone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["cell_text", "emit", "emit_rich", "harmless"]


def cell_text(text: object, *, limit: int = 200) -> Text:
    """Return a value as one harmless line for a table, cut with an ellipsis; markup in it stays text."""
    from rich.text import Text

    line = harmless(str(text))
    return Text(line if len(line) <= limit else line[: limit - 1] + "…")


def emit(text: str) -> None:
    """Write a line (or lines) to standard output; where its reader has gone, write nothing from then on, quietly."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        # What the terminal's encoding cannot show is spelt out instead of ending the program.
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_rich(*parts: RenderableType) -> None:
    """Write tables and the like, in colour on a terminal; off a terminal no line is folded to a guessed width."""
    from rich.console import Console

    console = Console() if sys.stdout.isatty() else Console(width=200)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    emit(captured.get().rstrip("\n"))
