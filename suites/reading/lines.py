"""Lines of a file as bytes, one at a time and bounded; they end at the line feed byte alone.

Other line separators of Unicode belong to the text.
"""

from __future__ import annotations

import codecs
from typing import IO, TYPE_CHECKING

from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_LINE_BYTES = 64 * 2**20
"""A longer line, or element of an array, is an error, not a reason to hold the file in memory."""


def numbered_lines(handle: IO[bytes], path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number from 1, byte offset, and bytes of every line that is not blank, without its end.

    The first is without byte order mark. Raises `SuiteError` for a line that is too long.
    """
    number, offset = 0, 0
    while raw := handle.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if len(raw) > LONGEST_LINE_BYTES:
            raise SuiteError(
                f"{path}, line {number} is longer than {LONGEST_LINE_BYTES // 2**20} MiB; is it JSON lines?"
            )
        line = _content(raw, offset)
        if line.strip():
            yield number, offset, line
        offset += len(raw)


def line_at(handle: IO[bytes], offset: int) -> bytes:
    """Return the line that begins at an offset which `numbered_lines` gave."""
    handle.seek(offset)
    return _content(handle.readline(LONGEST_LINE_BYTES + 1), offset)


def _content(raw: bytes, offset: int) -> bytes:
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(codecs.BOM_UTF8) if offset == 0 else line
