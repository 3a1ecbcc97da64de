"""Elements of a JSON array one at a time, so that the whole is never held in memory."""

from __future__ import annotations

import codecs
import json
import re
from functools import partial
from typing import IO, TYPE_CHECKING

from draftmark.suites.json_values import STRICT
from draftmark.suites.prompt import SuiteError
from draftmark.suites.quoting import quoted
from draftmark.suites.reading.files import line_parts
from draftmark.suites.reading.lines import LONGEST_LINE_BYTES
from draftmark.suites.reading.row_faults import RowFault, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from draftmark.suites.reading.files import Parts
    from draftmark.suites.reading.rows import Row

_READ_BYTES = 2**20
_SPACE = re.compile(r"[ \t\n\r]*")
_STRICT = json.JSONDecoder(**STRICT)
_LENIENT = json.JSONDecoder(parse_int=len, parse_constant=len)
"""Finds the end of an element that is no strict JSON; its value is not used."""


def json_parts(path: Path) -> Parts:
    """Yield the elements of a file that is an array, and the lines of any other; both are read as strictly.

    Raises `SuiteError` for an array that is broken, after which nothing can be told apart.
    """
    with path.open("rb") as handle:
        if _begins_with_bracket(handle):
            for place, value in _elements(_Text(handle), path):
                yield place, partial(_same, value)
            return
    yield from line_parts(path)


def _same(value: Row | RowFault) -> Row | RowFault:
    return value


def _begins_with_bracket(handle: IO[bytes]) -> bool:
    """Read up to and with the first byte that is no space, after a byte order mark; say whether it opens an array."""
    if handle.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        handle.seek(0)
    start = handle.read(1)
    while start and start in b" \t\n\r":
        start = handle.read(1)
    return start == b"["


class _Text:
    """The rest of a file as text; a byte that is no UTF-8 is told of once the text before it was read."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._fault: str | None = None

    def read(self, size: int) -> str:
        """Return the text of about `size` bytes more, empty at the end; raise `ValueError` for what is not UTF-8."""
        text = ""
        while not text and self._fault is None:
            begun = self._decoder.getstate()[0]
            data = self._handle.read(size)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as fault:
                byte = self._handle.tell() - len(data) - len(begun) + fault.start
                found = (begun + data)[fault.start]
                self._fault = f"is not UTF-8 (0x{found:02x} at byte {byte + 1:,} of the file); save the file as UTF-8"
                text = (begun + data)[: fault.start].decode()
            if not data:
                break
        if not text and self._fault is not None:
            raise ValueError(self._fault)
        return text


def _elements(handle: _Text, path: Path) -> Iterator[tuple[str, Row | RowFault]]:
    """Yield the elements after the opening bracket; an element that has not ended yet is tried again with more text."""
    text, at, number, step = "", 0, 1, _READ_BYTES
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if number == 1 and text.startswith("]", at):
            _refuse_more(text[at + 1 :], handle, path)
            return
        try:
            value, end = _element(text, at)
            end = _SPACE.match(text, end).end()  # type: ignore[union-attr]
            separator = text[end]  # IndexError where it is not read yet, since a number may go on
        except (json.JSONDecodeError, IndexError) as fault:
            place = f"{path}, element {number}"
            more = _more(handle, step, place)
            if not more:
                raise SuiteError(f"{place} is not JSON, or the file was cut there") from fault
            if len(text) - at > LONGEST_LINE_BYTES:
                most = LONGEST_LINE_BYTES // 2**20
                raise SuiteError(f"{place} is not JSON, or is longer than {most} MiB") from fault
            text, at, step = text[at:] + more, 0, 2 * step
            continue
        except RecursionError as fault:
            raise SuiteError(f"{path}, element {number} is nested too deeply to be read") from fault
        place = f"{path}, element {number}"
        yield place, value
        if separator == "]":
            _refuse_more(text[end + 1 :], handle, path)
            return
        if separator != ",":
            raise SuiteError(f"{place} is followed by {separator!a} where a comma or ] belongs")
        at, number, step = end + 1, number + 1, _READ_BYTES


def _refuse_more(text: str, handle: _Text, path: Path) -> None:
    """Raise `SuiteError` for anything but space after the array."""
    place = f"{path}, after its array"
    while not (more := text.strip(" \t\n\r")):
        text = _more(handle, _READ_BYTES, place)
        if not text:
            return
    raise SuiteError(f"{place}, holds {quoted(more)}; a file holds one array and nothing else")


def _more(handle: _Text, size: int, place: str) -> str:
    try:
        return handle.read(size)
    except ValueError as fault:
        raise SuiteError(f"{place} {fault}") from fault


def _element(text: str, at: int) -> tuple[Row | RowFault, int]:
    """Return the element that begins there, or what is wrong with it, and where it ends.

    Raises `json.JSONDecodeError` for one that does not end within the text, or is no JSON at all.
    """
    try:
        value, end = _STRICT.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError as fault:
        return RowFault(str(fault)), _LENIENT.raw_decode(text, at)[1]
    return value if isinstance(value, dict) else RowFault(f"is {kind_of(value)}; each element is one object"), end
