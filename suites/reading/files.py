"""Rows of files, one at a time: parquet as NVIDIA's preparer writes it, JSON lines as other preparers do.

No file is ever held in memory: parquet is read in small batches, JSON lines line by line. A row that is not asked for
is passed over without being parsed.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.lines import numbered_lines
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import json_object

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from draftmark.suites.reading.rows import Row

    Read = tuple[int, str, Row | RowFault]
    """Number from 0 over the whole table, place in words, and the row or what is wrong with it."""

    Parts = Iterator[tuple[str, Callable[[], Row | RowFault]]]
    """Place of a row in words, and what reads it, to be called before the next one is taken."""

BATCH_ROWS = 32
"""Rows of a parquet file that are held at once."""


def rows_of(
    files: Sequence[Path], parts: Callable[[Path], Parts], only: Collection[int] | None = None
) -> Iterator[Read]:
    """Yield the rows of files one after the other, or those of these numbers alone.

    `parts` takes a file apart. Raises `SuiteError` for a file that cannot be read at all.
    """
    number = 0
    for path in files:
        try:
            for place, read in parts(path):
                if only is None or number in only:
                    yield number, place, read()
                number += 1
        except FileNotFoundError as fault:
            raise SuiteError(f"there is no file {path}") from fault
        except OSError as fault:
            raise SuiteError(f"{path} cannot be read: {fault}") from fault


def prepared_parts(path: Path) -> Parts:
    """Yield the rows of a file as preparers write them: parquet by its name, and else JSON lines."""
    return parquet_parts(path) if path.suffix == ".parquet" else line_parts(path)


def line_parts(path: Path) -> Parts:
    """Yield the lines of a file of JSON objects."""
    with path.open("rb") as handle:
        for number, _, line in numbered_lines(handle, path):
            yield f"{path}, line {number}", partial(_object, line)


def parquet_parts(path: Path) -> Parts:
    """Yield the rows of a parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=BATCH_ROWS):
                batch_rows = cache(batch.to_pylist)
                for place in range(batch.num_rows):
                    number += 1
                    yield f"{path}, row {number}", partial(_pick, batch_rows, place)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as fault:
        raise SuiteError(f"{path} is no parquet file that can be read: {fault}") from fault


def _pick(batch_rows: Callable[[], list[Row]], place: int) -> Row:
    return batch_rows()[place]


def _object(line: bytes) -> Row | RowFault:
    try:
        return json_object(line)
    except RowFault as fault:
        return fault
