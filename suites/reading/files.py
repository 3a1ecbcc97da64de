"""Rows of prepared files, one at a time: parquet as NVIDIA's preparer writes it, JSON lines as other preparers do.

Neither kind of file is ever held in memory: parquet is read in small batches, JSON lines line by line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import json_object

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

LONGEST_LINE_BYTES = 64 * 2**20
BATCH_ROWS = 32
"""Rows of a parquet file that are held at once."""

_BOM = b"\xef\xbb\xbf"

Row = dict[str, Any]


def rows(files: Sequence[Path], only: Collection[int] | None = None) -> Iterator[tuple[int, str, Row | RowFault]]:
    """Yield number (from 0, over all files), place in words, and the row or what is wrong with its line.

    With `only`, rows of other numbers are passed over without being parsed. Raises `SuiteError` for a file that cannot
    be read at all.
    """
    number = 0
    for path in files:
        try:
            parts = _parquet(path, number, only) if path.suffix == ".parquet" else _lines(path, number, only)
            for seen, place, row in parts:
                number = seen + 1
                if row is not None:
                    yield seen, place, row
        except FileNotFoundError as fault:
            raise SuiteError(f"there is no file {path}") from fault
        except OSError as fault:
            raise SuiteError(f"{path} cannot be read: {fault}") from fault


def _wanted(number: int, only: Collection[int] | None) -> bool:
    return only is None or number in only


def _lines(path: Path, number: int, only: Collection[int] | None) -> Iterator[tuple[int, str, Row | RowFault | None]]:
    with path.open("rb") as handle:
        line_number = 0
        while raw := handle.readline(LONGEST_LINE_BYTES + 1):
            line_number += 1
            place = f"{path}, line {line_number}"
            if len(raw) > LONGEST_LINE_BYTES:
                raise SuiteError(f"{place} is longer than {LONGEST_LINE_BYTES // 2**20} MiB; is it JSON lines?")
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            line = line.removeprefix(_BOM) if line_number == 1 else line
            if not line.strip():
                continue
            yield number, place, _parsed(line) if _wanted(number, only) else None
            number += 1


def _parsed(line: bytes) -> Row | RowFault:
    try:
        return json_object(line)
    except RowFault as fault:
        return fault


def _parquet(path: Path, number: int, only: Collection[int] | None) -> Iterator[tuple[int, str, Row | None]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = number
    try:
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=BATCH_ROWS):
                needed = any(_wanted(number + offset, only) for offset in range(batch.num_rows))
                batch_rows = batch.to_pylist() if needed else [None] * batch.num_rows
                for row in batch_rows:
                    place = f"{path}, row {number - first + 1}"
                    yield number, place, row if _wanted(number, only) else None
                    number += 1
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as fault:
        raise SuiteError(f"{path} is no parquet file that can be read: {fault}") from fault
