"""Prompts of a file with one JSON object a line, every fault named by file, line and field.

The file is read as a stream, twice: first every row is checked and only its id, strata and digest are kept, then the
chosen rows are read. So a limit on a file of gigabytes holds no more text than it asks for. Lines end at the line feed
byte alone; other line separators of Unicode belong to the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from draftmark.suites.prompt import Prompt, SuiteError
from draftmark.suites.reading.checked import Checked, repeated
from draftmark.suites.reading.rows import RowFault, parse_row
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE_BYTES = 64 * 2**20
"""A longer line is an error, not a reason to hold the file in memory."""

MOST_FAULTS = 20
"""Bad lines that one error lists; reading stops there."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class _Row:
    """Where a checked row is."""

    line: int
    offset: int
    checked: Checked


def read_prompts(
    path: Path, *, limit: int | None, seed: int, allow_repeats: bool = False
) -> tuple[tuple[Prompt, ...], str]:
    """Read a file's prompts and say in words which were taken.

    Raises `SuiteError` for a file that cannot be opened, holds no rows, or holds rows that are wrong (all of them, up
    to `MOST_FAULTS`, in one error), share an id, or ask the same thing more than `checked.MOST_REPEATS` times.
    """
    if path.exists() and not path.is_file():
        sort = "folder" if path.is_dir() else "pipe or device"
        raise SuiteError(f"{path} is a {sort}; a jsonl suite needs a file, which it reads twice")
    try:
        with path.open("rb") as handle:
            rows = _index(handle, path, allow_repeats=allow_repeats)
            chosen = [rows[index] for index in choose([row.checked for row in rows], limit, seed)]
            prompts = tuple(_fetch(handle, path, row) for row in chosen)
    except FileNotFoundError as fault:
        raise SuiteError(f"there is no file {path} (looked from {Path.cwd()})") from fault
    except (OSError, ValueError) as fault:
        raise SuiteError(f"{path} cannot be read: {fault}") from fault
    return prompts, describe(len(prompts), len(rows), seed)


def _index(handle: IO[bytes], path: Path, *, allow_repeats: bool) -> list[_Row]:
    rows: list[_Row] = []
    faults: list[str] = []
    first_line: dict[str, int] = {}
    for number, offset, line in numbered_lines(handle, path):
        try:
            prompt = parse_row(line)
            earlier = first_line.setdefault(prompt.question_id, number)
            if earlier != number:
                raise RowFault(f"question_id {prompt.question_id!a} is already taken by line {earlier}")
        except RowFault as fault:
            faults.append(f"line {number}: {fault}")
            if len(faults) == MOST_FAULTS:
                faults.append("(stopped here; there may be more)")
                break
            continue
        rows.append(_Row(number, offset, Checked.of(prompt)))
    if faults:
        raise SuiteError(f"{path} has bad lines, so nothing of it was taken:\n  " + "\n  ".join(faults))
    if not rows:
        raise SuiteError(f"{path} has no rows; it needs one JSON object a line")
    if not allow_repeats:
        _refuse_repeats(path, rows)
    return rows


def numbered_lines(handle: IO[bytes], path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, byte offset and bytes of every line that is not blank, without byte order mark and line end."""
    number, offset = 0, 0
    while raw := handle.readline(LONGEST_LINE_BYTES + 1):
        number += 1
        if len(raw) > LONGEST_LINE_BYTES:
            raise SuiteError(
                f"{path}, line {number} is longer than {LONGEST_LINE_BYTES // 2**20} MiB; is it JSON lines?"
            )
        line = line_content(raw, offset)
        if line.strip():
            yield number, offset, line
        offset += len(raw)


def line_content(raw: bytes, offset: int) -> bytes:
    """Return a line without its end, and the first without byte order mark."""
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    return line.removeprefix(_BOM) if offset == 0 else line


def _fetch(handle: IO[bytes], path: Path, row: _Row) -> Prompt:
    handle.seek(row.offset)
    try:
        prompt = parse_row(line_content(handle.readline(LONGEST_LINE_BYTES + 1), row.offset))
    except RowFault as fault:
        raise SuiteError(f"{path}, line {row.line} changed while it was read; run again") from fault
    if Checked.of(prompt) != row.checked:
        raise SuiteError(f"{path}, line {row.line} changed while it was read; run again")
    return prompt


def _refuse_repeats(path: Path, rows: list[_Row]) -> None:
    lines = [rows[place].line for place in repeated(row.checked.digest for row in rows)]
    if not lines:
        return
    shown = ", ".join(map(str, lines[:MOST_FAULTS])) + (", ..." if len(lines) > MOST_FAULTS else "")
    rest = len(rows) - len(lines)
    raise SuiteError(
        f"{path}: {len(lines)} rows ask the same thing as at least two others (lines {shown}), as stand-ins for "
        f"withheld texts do; {rest} rows are real. Fetch the texts, take the rows out, or set allow_repeats: true"
    )
