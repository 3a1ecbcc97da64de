"""How commands write to the terminal: text from outside made harmless, and a reader that went away left alone."""

from __future__ import annotations

import os
import sys
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that a terminal may act on, reorder or not show."""


def harmless(text: str, *, keep_newlines: bool = False) -> str:
    r"""Return a text in which every control, format and unassigned character is spelt out, such as `\x1b`.

    Escapes, carriage returns, bidirectional overrides and zero-width characters stay visible and do nothing.
    """
    return "".join(_shown(character, keep_newlines) for character in text)


def cell_text(text: object, *, limit: int = 200) -> Text:
    """Return a value as one harmless line for a table, cut with an ellipsis; markup in it stays text."""
    from rich.text import Text

    line = harmless(str(text))
    return Text(line if len(line) <= limit else line[: limit - 1] + "…")


def _shown(character: str, keep_newlines: bool) -> str:
    if character == "\n" and keep_newlines:
        return character
    if unicodedata.category(character) not in _UNSAFE:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def emit(text: str) -> None:
    """Write a line (or lines) to standard output; where its reader has gone, write nothing from then on, quietly."""
    try:
        sys.stdout.write(text + "\n")
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
