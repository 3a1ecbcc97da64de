"""A request log to two files: a jsonl suite of its requests, and a trace of when each was sent.

The log is read as a stream, twice: first every line is checked and its time kept, then the requests are written in the
order of their times. So a log of gigabytes is never held in memory.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from draftmark.results.run_folder.durable import make_folder, write_fault
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.checked import MOST_REPEATS, digest
from draftmark.suites.reading.lines import line_at, numbered_lines
from draftmark.suites.reading.row_faults import MOST_NAMED, RowFault, listed
from draftmark.suites.reading.rows import json_object, row_prompt
from draftmark.suites.traffic.hashed_request import (
    hashed_format,
    hashed_messages,
    hashed_tools,
    parameter_names,
    tool_names,
)
from draftmark.suites.traffic.requests import REPLAYED, LoggedRequest, NotReplayable, logged_request

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from draftmark.suites.traffic.hashed_text import Hasher

TOLD = ("temperature", "max_tokens", "top_p")
"""Settings whose values a report counts, by a plan's names."""

PARTS = ("tools", "response_format", "sampling")
"""What requests may have besides messages, and may be left out for."""


@dataclass(frozen=True, slots=True)
class _Place:
    line: int
    offset: int
    at_s: float | None


@dataclass
class Report:
    """What became of a log."""

    suite: Path
    trace: Path | None
    """Null where no request has a time."""
    written: int = 0
    left_out: dict[str, list[int]] = field(default_factory=dict)
    """Why to the lines of the log."""
    over_limit: int = 0
    """Requests in order that came after the limit was reached."""
    without_time: int = 0
    span_s: float = 0.0
    repeated: bool = False
    """Whether more than `MOST_REPEATS` requests ask the same thing, so that a plan must allow it."""
    sampling: dict[str, Counter[str]] = field(default_factory=dict)
    """Setting to how often each value was asked for, as JSON; "not set" among them."""
    bad: list[str] = field(default_factory=list)
    """Bad lines that were skipped, the first `MOST_NAMED` of them, each with what is wrong."""
    parts: Counter[str] = field(default_factory=Counter)
    """How many requests have each of `PARTS`."""
    not_replayed: Counter[str] = field(default_factory=Counter)
    """Setting that no run replays to how many requests have it."""
    tool_names: set[str] = field(default_factory=set)
    """Names of tools, which hashing leaves readable."""
    parameter_names: set[str] = field(default_factory=set)
    """Names of parameters, likewise."""
    hashed: bool = False


def trace_path(suite: Path) -> Path:
    """Return where the trace of a suite is written: `name.trace.jsonl` beside `name.jsonl`."""
    return suite.with_name(suite.name.removesuffix(".jsonl") + ".trace.jsonl")


def convert_log(
    log: Path,
    out: Path,
    *,
    hasher: Hasher | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    without: Collection[str] = (),
) -> Report:
    """Write suite and trace of a log; with a limit the first ones by time, since a sample would thin the arrivals out.

    Requests with pictures and the like, and those that have one of the `PARTS` in `without`, are left out and reported.
    Raises `SuiteError` for a log that cannot be read,
    for bad lines unless they are to be skipped, and for a log without a request that can be replayed;
    `StoreWriteError` where a file cannot be written. Nothing is written then.
    """
    for target in (out, trace_path(out)):
        if target.exists():
            raise SuiteError(f"{target} exists already; choose another --out, or remove it first")
    if log.exists() and not log.is_file():
        raise SuiteError(f"{log} is no regular file; a log is read twice")
    try:
        with log.open("rb") as handle:
            places, left_out, bad = _check(handle, log, without, skip_bad=skip_bad)
            if not places:
                raise SuiteError(f"{log} has no request that can be replayed{_why(left_out)}")
            timed = sorted((place for place in places if place.at_s is not None), key=lambda place: place.at_s or 0.0)
            ordered = timed + [place for place in places if place.at_s is None]
            kept = ordered[:limit]
            report = Report(
                out, None, left_out=left_out, bad=bad, over_limit=len(ordered) - len(kept), hashed=hasher is not None
            )
            _write(handle, log, kept, report, hasher)
    except FileNotFoundError as fault:
        raise SuiteError(f"there is no file {log}") from fault
    except OSError as fault:
        raise SuiteError(f"{log} cannot be read: {fault}") from fault
    return report


def _check(
    handle: IO[bytes], log: Path, without: Collection[str], *, skip_bad: bool
) -> tuple[list[_Place], dict[str, list[int]], list[str]]:
    places: list[_Place] = []
    left_out: defaultdict[str, list[int]] = defaultdict(list)
    faults: list[str] = []
    for number, offset, line in numbered_lines(handle, log):
        try:
            request = logged_request(json_object(line))
            if unwanted := [part for part in PARTS if part in without and part in _parts(request)]:
                raise NotReplayable(f"has {' and '.join(unwanted)} (--without)")
            row_prompt(_row(f"line-{number}", request, None))  # or no plan could read what is written
            places.append(_Place(number, offset, request.at_s))
        except NotReplayable as fault:
            left_out[str(fault)].append(number)
        except RowFault as fault:
            left_out["is no request that can be read (--skip-bad)"].append(number)
            if len(faults) < MOST_NAMED:
                faults.append(f"line {number}: {fault}")
            if len(faults) == MOST_NAMED and not skip_bad:
                break
    if faults and not skip_bad:
        raise SuiteError(f"{log} has bad lines, so nothing was written (--skip-bad leaves them out):{listed(faults)}")
    return places, dict(left_out), faults


def _parts(request: LoggedRequest) -> set[str]:
    """Return which of `PARTS` a request has; calls of tools and their answers count as tools."""
    calls = any(message.role == "tool" or message.tool_calls for message in request.messages)
    had = {"tools": request.tools or calls, "response_format": request.response_format, "sampling": request.sampling}
    return {part for part, value in had.items() if value}


def _write(handle: IO[bytes], log: Path, kept: Sequence[_Place], report: Report, hasher: Hasher | None) -> None:
    trace = trace_path(report.suite) if kept[0].at_s is not None else None
    make_folder(report.suite.parent)
    parts = [path.with_name(path.name + ".part") for path in (report.suite, trace_path(report.suite))]
    try:
        with parts[0].open("wb") as suite, parts[1].open("wb") as times:
            for row, at_s in _rows(handle, log, kept, report, hasher):
                suite.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                if at_s is not None:
                    moment = {"time_s": round(at_s, 6), "question_id": row["question_id"]}
                    times.write(json.dumps(moment).encode() + b"\n")
        parts[0].replace(report.suite)
        if trace is not None:
            parts[1].replace(trace)
    except OSError as fault:
        raise write_fault(report.suite, fault) from fault
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    report.trace = trace


def _rows(
    handle: IO[bytes], log: Path, kept: Sequence[_Place], report: Report, hasher: Hasher | None
) -> Iterator[tuple[dict[str, Any], float | None]]:
    """Yield the suite's rows with seconds since the first, and fill the report in."""
    first_s = kept[0].at_s or 0.0
    names: set[str] = set()
    asked: Counter[bytes] = Counter()
    report.sampling = {name: Counter() for name in TOLD}
    for number, place in enumerate(kept, start=1):
        request = _again(handle, log, place)
        own = f"traffic-{number:06d}"
        name = request.name if hasher is None and request.name is not None and request.name not in names else own
        while name in names:
            name += "-again"
        names.add(name)
        row = _row(name, request, hasher)
        asked[digest(row_prompt(row))] += 1
        for setting, counts in report.sampling.items():
            counts[json.dumps(request.replayed.get(setting, "not set"))] += 1
        report.parts.update(_parts(request))
        report.not_replayed.update(request.sampling.keys() - set(REPLAYED) - {"max_completion_tokens"})
        report.tool_names |= tool_names(request)
        report.parameter_names |= parameter_names(request)
        report.written += 1
        report.without_time += place.at_s is None
        if place.at_s is not None:
            report.span_s = place.at_s - first_s
        yield row, None if place.at_s is None else place.at_s - first_s
    report.repeated = max(asked.values()) > MOST_REPEATS


def _again(handle: IO[bytes], log: Path, place: _Place) -> LoggedRequest:
    try:
        return logged_request(json_object(line_at(handle, place.offset)))
    except RowFault as fault:
        raise SuiteError(f"{log}, line {place.line} changed while it was read; run again") from fault


def _row(name: str, request: LoggedRequest, hasher: Hasher | None) -> dict[str, Any]:
    messages = request.messages if hasher is None else hashed_messages(request, hasher)
    row: dict[str, Any] = {"question_id": name}
    roles = [message.role for message in messages]
    if roles == ["user"]:
        row["turns"] = [messages[0].content]
    elif roles == ["system", "user"]:
        row |= {"system": messages[0].content, "turns": [messages[1].content]}
    else:
        row |= {"messages": [message.as_sent() for message in messages], "asked": [len(messages)]}
    return row | _besides(request, hasher)


def _besides(request: LoggedRequest, hasher: Hasher | None) -> dict[str, Any]:
    """Return what a row has besides its messages: tools, the answer's form, and settings, of which one is a text."""
    tools, form = list(request.tools or ()), request.response_format
    replayed, sampling = request.replayed, request.sampling
    if hasher is not None:
        tools = hashed_tools(request, hasher)
        form = hashed_format(request, hasher)
        replayed = {key: list(map(hasher.text, value)) if key == "stop" else value for key, value in replayed.items()}
        sampling = {key: value for key, value in sampling.items() if isinstance(value, int | float)}
    found = {"tools": tools, "response_format": form, "sampling": replayed, "recorded_sampling": sampling}
    return {key: value for key, value in found.items() if value}


def _why(left_out: dict[str, list[int]]) -> str:
    return "".join(f"; {len(lines)} of its requests: {reason}" for reason, lines in left_out.items())
