"""Prompts of a file with one JSON object a line, every fault named by file, line and field."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.files import line_parts, rows_of
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import choose_prompts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.files import Read
    from draftmark.suites.reading.rows import Row


@dataclass(frozen=True)
class LineTable:
    """Rows of one file, whatever its name ends in."""

    path: Path

    @property
    def origin(self) -> str:
        """The path."""
        return str(self.path)

    def rows(self, only: Collection[int] | None = None) -> Iterator[Read]:
        """Yield the rows; raises `SuiteError` for what is no file."""
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError as fault:
            raise SuiteError(f"there is no file {self.path} (looked from {Path.cwd()})") from fault
        except (OSError, ValueError) as fault:
            raise SuiteError(f"{self.path} cannot be read: {fault}") from fault
        if not stat.S_ISREG(mode):
            sort = "folder" if stat.S_ISDIR(mode) else "pipe or device"
            raise SuiteError(f"{self.path} is a {sort}; a jsonl suite needs a file, which it reads twice")
        yield from rows_of([self.path], line_parts, only)


def read_prompts(
    path: Path, *, limit: int | None, seed: int, allow_repeats: bool = False
) -> tuple[tuple[Prompt, ...], str]:
    """Read a file's prompts and say in words which were taken.

    Raises `SuiteError` for a file that cannot be opened or holds no rows, and for bad rows as `choose_prompts` does.
    """
    chosen = choose_prompts(LineTable(path), _prompt, limit=limit, seed=seed, allow_repeats=allow_repeats)
    return chosen.prompts, chosen.selection


def _prompt(row: Row, number: int) -> Prompt:
    del number  # rows have ids of their own
    return row_prompt(row)
