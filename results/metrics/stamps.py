"""What a turn's stamps say: spans, the decode phase, and the gaps between reads; contradictory stamps say nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draftmark.results.columns import segment_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from draftmark.results.columns import CellColumns, Floats, Ints, Keys, Mask


@dataclass(frozen=True, eq=False)
class Decoding:
    """The decode phase of each turn: from the first token to the last."""

    valid: Mask
    """The turn has one: two tokens and two stamps at least, in order."""
    seconds: Floats
    """Last - first; 0 where not valid."""
    tokens: Floats
    """T less those of the first chunk, which is taken to hold one where its size is unknown; 0 where not valid."""
    assumed: bool
    """Some first chunk was taken to hold one token."""


def decoding(cell: CellColumns) -> Decoding:
    """Return the decode phase of each turn."""
    unknown = cell.first_chunk_tokens < 0
    tokens = cell.tokens - np.where(unknown, 1, cell.first_chunk_tokens)
    with np.errstate(invalid="ignore"):
        seconds = cell.last_s - cell.first_s
        valid = cell.ok & (cell.tokens > 0) & (tokens > 0) & (seconds > 0) & (cell.chunk_count != 1)
    return Decoding(valid, np.where(valid, seconds, 0.0), np.where(valid, tokens, 0), bool(unknown[valid].any()))


def span(cell: CellColumns, start: str, end: str) -> tuple[Mask, Floats]:
    """Return which turns have both stamps in order, and the seconds between (0 for the others)."""
    with np.errstate(invalid="ignore"):
        seconds = getattr(cell, end) - getattr(cell, start)
        valid = cell.ok & (seconds > 0)
    return valid, np.where(valid, seconds, 0.0)


def union_seconds(cell: CellColumns, counted: Mask, ends: Floats) -> Floats:
    """Return per turn its share of the union of [sent, end] of the counted turns; they add up to the union.

    Turns of different sessions are on different clocks and never overlap.
    """
    shares = np.zeros(len(cell))
    for session in np.unique(cell.session[counted]):
        turns = np.flatnonzero(counted & (cell.session == session))
        turns = turns[np.lexsort((ends[turns], cell.sent_s[turns]))]
        sent, end = cell.sent_s[turns], ends[turns]
        covered = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
        shares[turns] = np.maximum(end - np.maximum(sent, covered), 0.0)
    return shares


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps between reads that brought tokens, turn by turn.

    Chunks with one stamp came in one read and are one: a coalesced read has no gap, not zero.
    """

    offsets: Keys
    """Gaps of turn t are `[offsets[t], offsets[t + 1])`."""
    seconds: Floats
    tokens: Ints
    """Tokens of the read after the gap; -1 where a chunk's are unknown."""

    def per_turn(self, values: NDArray[Any]) -> Floats:
        """Sum values given per gap over each turn."""
        return segment_sums(values, self.offsets)


def gaps(cell: CellColumns) -> Gaps:
    """Return the gaps between the reads of every successful turn."""
    seconds, tokens = np.empty(len(cell.chunk_s)), np.empty(len(cell.chunk_s), dtype=np.int32)
    offsets = np.zeros(len(cell) + 1, dtype=np.int64)
    turns = size = 0
    for part in map(_of_block, cell.blocks()):
        more = len(part.seconds)
        seconds[size : size + more], tokens[size : size + more] = part.seconds, part.tokens
        offsets[turns : turns + len(part.offsets)] = size + part.offsets
        turns, size = turns + len(part.offsets) - 1, size + more
    return Gaps(offsets, seconds[:size], tokens[:size])


def _of_block(cell: CellColumns) -> Gaps:
    turn = np.repeat(np.arange(len(cell), dtype=np.int32), cell.chunk_count)
    stamps, sizes = cell.chunk_s, cell.chunk_tokens
    empty = sizes == 0
    if empty.any():
        turn, stamps, sizes = turn[~empty], stamps[~empty], sizes[~empty]
    starts = np.ones(len(stamps), dtype=bool)
    starts[1:] = (turn[1:] != turn[:-1]) | (stamps[1:] != stamps[:-1])
    reads = np.flatnonzero(starts)
    if len(reads) < len(stamps):
        unknown = np.add.reduceat(sizes < 0, reads, dtype=np.int32) > 0
        sizes = np.where(unknown, -1, np.add.reduceat(sizes, reads, dtype=np.int32))
        turn, stamps = turn[reads], stamps[reads]
    seconds = np.diff(stamps)
    forward = (turn[1:] == turn[:-1]) & (seconds > 0)
    counts = np.bincount(turn[1:][forward], minlength=len(cell))
    return Gaps(np.concatenate([[0], np.cumsum(counts)]), seconds[forward], sizes[1:][forward])
