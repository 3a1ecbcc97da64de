"""What was in flight when: the times at which a load was as it should be, and what happened within them.

Stamps of different sessions are on different clocks, so that every stretch of time belongs to one session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.columns import segment_sums
from draftmark.results.records.loads import ClosedLoad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.results.columns import CellColumns, Floats, Ints, Mask
    from draftmark.results.records.loads import Load, OpenLoad


@dataclass(frozen=True, eq=False)
class Times:
    """Stretches of one session's clock, in order and without overlap."""

    session: int
    begins: Floats
    ends: Floats


def seconds_of(times: Sequence[Times]) -> float:
    """Return how long stretches are together."""
    return float(sum((part.ends - part.begins).sum() for part in times))


def ends_of(cell: CellColumns) -> Floats:
    """Return when each turn was over: done, else its last token; NaN where neither is known."""
    return np.where(np.isnan(cell.done_s), cell.last_s, cell.done_s)


def flown(cell: CellColumns) -> Mask:
    """Return the turns that were in flight for some time, failed ones too."""
    with np.errstate(invalid="ignore"):
        known: Mask = ends_of(cell) > cell.sent_s
    return known


def stairs(cell: CellColumns, session: int) -> tuple[Floats, Ints]:
    """Return the stamps at which turns began or ended, ascending, and how many were in flight between each two."""
    turns = flown(cell) & (cell.session == session)
    stamps = np.concatenate([cell.sent_s[turns], ends_of(cell)[turns]])
    order = np.argsort(stamps, kind="stable")  # one that begins as another ends comes before it, and leaves no gap
    steps = np.repeat(np.array([1, -1], dtype=np.int32), len(stamps) // 2)[order]
    return stamps[order], np.cumsum(steps, dtype=np.int32)[:-1]


def steady_times(cell: CellColumns, needed: int) -> list[Times]:
    """Return when `needed` turns at least were in flight."""
    found = []
    for session in np.unique(cell.session[flown(cell)]).tolist():
        stamps, in_flight = stairs(cell, session)
        steady = np.concatenate([[False], in_flight >= needed, [False]])
        begins, ends = np.flatnonzero(steady[1:] & ~steady[:-1]), np.flatnonzero(steady[:-1] & ~steady[1:])
        found.append(Times(session, stamps[begins], stamps[ends]))
    return found


def times_of(cell: CellColumns, load: OpenLoad) -> list[Times]:
    """Return the measured times of an open loop: in each launch from its first arrival to its last, less both limits.

    What comes after the last arrival, when the engine runs empty, is never among them. A resumed run has such times for
    each of its sessions.
    """
    first = (cell.turn_index == 0) & np.isfinite(cell.scheduled_s)
    found = []
    for session in np.unique(cell.session[first]).tolist():
        here = first & (cell.session == session)
        due = [cell.scheduled_s[here & (cell.launch == launch)] for launch in np.unique(cell.launch[here])]
        spans = sorted((stamps.min() + load.warm_up_s, stamps.max() - load.cool_down_s) for stamps in due)
        spans = [span for span in spans if span[0] < span[1]]
        if spans:
            begins, ends = np.array(spans).T
            found.append(Times(session, begins, ends))
    return found


def counted_turns(cell: CellColumns, load: Load) -> Mask:
    """Return the turns of conversations that began neither in warm-up nor in cool-down; all where there is neither."""
    if isinstance(load, ClosedLoad) or (load.warm_up_s == 0 and load.cool_down_s == 0):
        return np.ones(len(cell), dtype=bool)
    return _of_conversations(cell, _within(cell.scheduled_s, cell.session, times_of(cell, load), last=True))


def begun_within(cell: CellColumns, times: Sequence[Times]) -> Mask:
    """Return the turns of conversations that began within stretches, their ends not included."""
    return _of_conversations(cell, _within(cell.scheduled_s, cell.session, times, last=False))


def sent_within(cell: CellColumns, times: Sequence[Times]) -> int:
    """Return how many turns were sent within stretches, their ends not included."""
    return int(_within(cell.sent_s, cell.session, times, last=False).sum())


def _within(stamps: Floats, sessions: Ints, times: Sequence[Times], *, last: bool) -> Mask:
    """Return which stamps lie in [begin, end), or with `last` in [begin, end]."""
    inside = np.zeros(len(stamps), dtype=bool)
    for part in times:
        place = np.searchsorted(part.begins, stamps, side="right") - 1
        ends = part.ends[np.maximum(place, 0)] if len(part.ends) else np.full(len(stamps), -np.inf)
        with np.errstate(invalid="ignore"):
            before = stamps <= ends if last else stamps < ends
        inside |= (sessions == part.session) & (place >= 0) & before
    return inside


def _of_conversations(cell: CellColumns, begun: Mask) -> Mask:
    """Return all turns of the conversations whose first turn is marked."""
    repeats = 1 + int(cell.repeat.max(initial=0))
    key = cell.question.astype(np.int64) * repeats + cell.repeat
    return np.isin(key, key[begun & (cell.turn_index == 0)])


def request_seconds(cell: CellColumns, times: Sequence[Times]) -> float:
    """Return the seconds that all turns together were in flight within stretches."""
    total = 0.0
    for part in times:
        turns = flown(cell) & (cell.session == part.session)
        sent, end = cell.sent_s[turns], ends_of(cell)[turns]
        for begins_s, ends_s in zip(part.begins, part.ends, strict=True):
            total += float(np.maximum(np.minimum(end, ends_s) - np.maximum(sent, begins_s), 0.0).sum())
    return total


def most_in_flight(cell: CellColumns, times: Sequence[Times] | None) -> int:
    """Return the most turns that were in flight within stretches, or ever."""
    most = 0
    for session in np.unique(cell.session[flown(cell)]).tolist():
        stamps, in_flight = stairs(cell, session)
        lasting = np.diff(stamps) > 0
        if times is not None:
            here = [part for part in times if part.session == session]
            overlaps = [
                (stamps[:-1] < ends_s) & (stamps[1:] > begins_s)
                for part in here
                for begins_s, ends_s in zip(part.begins, part.ends, strict=True)
            ]
            lasting &= np.any(overlaps, axis=0) if overlaps else False
        most = max(most, int(in_flight[lasting].max(initial=0)))
    return most


@dataclass(frozen=True)
class Delivered:
    """Tokens that were made within stretches."""

    tokens: float
    shared_out: float
    """How many may lie on the other side of an end: of each share of a chunk, or of an answer of which only the total
    is known, the lesser of the part within and the part without."""
    unknown: bool
    """Some answer's tokens, or the stamps of its chunks, are unknown."""


def delivered_within(cell: CellColumns, times: Sequence[Times]) -> Delivered:
    """Return the tokens that were made within stretches.

    A chunk's tokens were made after the answer's chunk before it (the first's: after the request was sent) and before
    its own stamp, evenly as far as anybody knows. So a chunk that was made wholly within counts wholly, and one whose
    making crosses an end counts by the share of its time. By its stamp alone, an answer that ends a moment after
    another, which ended the stretch, would lose tokens that were made within. Where the tokens of an answer's chunks
    are unknown, each is taken to hold as many.
    """
    tokens = shared_out = 0.0
    unknown = False
    for block in cell.blocks():
        shares, sizes = _shares_within(block, times), block.chunk_count
        within = segment_sums(shares, block.chunk_offsets)
        known = segment_sums(block.chunk_tokens < 0, block.chunk_offsets) == 0
        held = np.maximum(block.chunk_tokens, 0)
        totals = np.maximum(block.tokens, 0)
        spread = np.divide(within * totals, sizes, out=np.zeros(len(block)), where=sizes > 0)
        tokens += float(np.where(known, segment_sums(held * shares, block.chunk_offsets), spread).sum())
        crossing = segment_sums(held * np.minimum(shares, 1.0 - shares), block.chunk_offsets)
        beyond = np.where(sizes > 0, np.maximum(totals - spread, 0.0), 0.0)
        shared_out += float(np.where(known, crossing, np.minimum(spread, beyond)).sum())
        unknown |= bool((block.ok & np.where(sizes > 0, ~known & (block.tokens < 0), block.tokens != 0)).any())
    return Delivered(tokens, shared_out, unknown)


def _shares_within(cell: CellColumns, times: Sequence[Times]) -> Floats:
    """Return for each chunk the share of its time of making that lies within stretches.

    A chunk without such a time (when its request was sent is unknown, or stamps go back) counts by its stamp.
    """
    ends, begins = cell.chunk_s, _made_from(cell)
    sessions = np.repeat(cell.session, cell.chunk_count)
    shares = np.zeros(len(ends))
    with np.errstate(invalid="ignore"):
        lasting = ends > begins
    for part in times:
        if len(part.begins) == 0:
            continue
        here = sessions == part.session
        place = np.searchsorted(part.begins, ends, side="left") - 1
        begin_of, end_of = part.begins[np.maximum(place, 0)], part.ends[np.maximum(place, 0)]
        arrived = (place >= 0) & (ends <= end_of)
        whole = arrived & (~lasting | (begins >= begin_of))
        shares[here & whole] = 1.0
        rest = here & lasting & ~whole
        covered = _covered(part, ends[rest]) - _covered(part, begins[rest])
        shares[rest] = np.clip(covered / (ends[rest] - begins[rest]), 0.0, 1.0)
    return shares


def _made_from(cell: CellColumns) -> Floats:
    """Return for each chunk since when it was made: the answer's last stamp before its own, or when it was sent.

    Chunks of one stamp came in one read, and were made in one time.
    """
    stamps, count = cell.chunk_s, len(cell.chunk_s)
    opens = np.zeros(count, dtype=bool)
    opens[cell.chunk_offsets[:-1][cell.chunk_count > 0]] = True
    fresh = opens.copy()
    fresh[1:] |= stamps[1:] != stamps[:-1]
    read = np.maximum.accumulate(np.where(fresh, np.arange(count), 0))
    before = stamps[np.maximum(read - 1, 0)]
    return np.where(opens[read], np.repeat(cell.sent_s, cell.chunk_count), before) if count else stamps


def _covered(part: Times, stamps: Floats) -> Floats:
    """Return how much of the stretches lies before each stamp."""
    lengths = np.concatenate([[0.0], np.cumsum(part.ends - part.begins)])
    place = np.searchsorted(part.begins, stamps, side="right")
    beyond = np.where(place > 0, np.maximum(part.ends[np.maximum(place - 1, 0)] - stamps, 0.0), 0.0)
    covered: Floats = lengths[place] - beyond
    return covered
