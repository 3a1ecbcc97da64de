"""Reading a trace of arrivals: one row per conversation, JSON lines or CSV, every bad line named.

A row has `time_s`, seconds on any clock, and may have `question_id`, the conversation that begins then. Times count
from the first row, so that a trace cut out of a longer one begins at once.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, ValidationError

from draftmark.bench.plans.arrivals import TraceRow
from draftmark.bench.plans.document import PlanError, Problem
from draftmark.bench.plans.wording import keys_of, problems_of
from draftmark.suites.prompt import LONGEST_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 256 * 2**20
MOST_FAULTS = 20
"""Bad lines that one error lists; reading stops there."""
LONGEST_SPAN_S = 1_000_000.0
"""From the first arrival to the last, as records hold it: more than eleven days."""


def _text(value: object) -> object:
    """Take a whole number for its digits, as suites do, and an empty field for none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None if value == "" else value


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    time_s: Annotated[FiniteFloat, Field(strict=False)]
    question_id: Annotated[Annotated[str, Field(max_length=LONGEST_ID)] | None, BeforeValidator(_text)] = None


class _Twice(Exception):
    """A name that a row or the header has twice, so that one of its values would be dropped in silence."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


_Fault: TypeAlias = ValidationError | _Twice


@dataclass(frozen=True)
class Trace:
    """A file of arrivals."""

    rows: tuple[TraceRow, ...]
    hash: str
    """sha256 of its bytes."""

    @property
    def span_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return self.rows[-1].at_s


def read_trace(path: Path) -> Trace:
    """Read a trace; the name's ending says which format: `.csv`, else JSON lines.

    Raises `PlanError` for a file that cannot be read or is empty, and for bad lines, all of them up to `MOST_FAULTS`.
    """
    data = _bytes(path)
    rows: list[_Row] = []
    problems: list[Problem] = []
    reading = _from_csv(data, path) if path.suffix.lower() == ".csv" else _from_json_lines(data)
    for line, row in reading:
        if isinstance(row, _Twice):
            problems.append(Problem((row.name,), "is there twice; remove one", line))
        elif isinstance(row, ValidationError):
            problems += [Problem(p.place, p.text, line) for p in problems_of(row, (), {(): keys_of(_Row)})]
        elif rows and row.time_s < rows[-1].time_s:
            problems.append(Problem(("time_s",), "is earlier than in the row before; sort the rows by time", line))
        else:
            rows.append(row)
        if len(problems) >= MOST_FAULTS:
            problems.append(Problem((), "(stopped here; there may be more)"))
            break
    if not problems and not rows:
        problems.append(Problem((), "has no rows; it needs one per conversation, with time_s in seconds"))
    if problems:
        raise PlanError(str(path), problems)
    first_s = rows[0].time_s
    span_s = rows[-1].time_s - first_s
    if not span_s <= LONGEST_SPAN_S:
        text = (
            f"spans {span_s:g} seconds from the first row to the last, at most {LONGEST_SPAN_S:,.0f} are allowed; "
            "write the times in seconds, or cut the trace"
        )
        raise PlanError(str(path), [Problem(("time_s",), text)])
    found = tuple(TraceRow(row.time_s - first_s, row.question_id) for row in rows)
    return Trace(found, hashlib.sha256(data).hexdigest())


def _bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise PlanError(str(path), [Problem((), "is no regular file; a trace is one")])
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise PlanError(str(path), [Problem((), f"there is no such file (looked from {Path.cwd()})")]) from None
    except (OSError, ValueError) as fault:
        raise PlanError(str(path), [Problem((), f"cannot be read: {fault}")]) from fault
    if len(data) > MOST_BYTES:
        raise PlanError(str(path), [Problem((), f"has more than {MOST_BYTES // 2**20} MiB; cut it")])
    return data


def _from_json_lines(data: bytes) -> Iterator[tuple[int, _Row | _Fault]]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            yield number, _row_or_fault(line)


def _row_or_fault(line: bytes) -> _Row | _Fault:
    try:
        row = _Row.model_validate_json(line, strict=True)
        json.loads(line, object_pairs_hook=_unique)
    except (ValidationError, _Twice) as fault:
        return fault
    return row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(name)
        found[name] = value
    return found


def _from_csv(data: bytes, path: Path) -> Iterator[tuple[int, _Row | _Fault]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        raise PlanError(str(path), [Problem((), "is not UTF-8 text; save it as UTF-8", line)]) from fault
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="(fields beyond the header)")
    try:
        names = list(reader.fieldnames or ())
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            yield 1, _Twice(name)
        for row in reader:
            try:
                yield reader.line_num, _Row.model_validate(row)
            except ValidationError as fault:
                yield reader.line_num, fault
    except csv.Error as fault:
        raise PlanError(str(path), [Problem((), f"is not CSV: {fault}", reader.line_num)]) from fault
