"""Do the engine's counts add up, turn by turn? They are independent observations, and metrics.md ties them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.columns import segment_sums
from draftmark.results.metrics.identities import broken_identities
from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

OK = "The engine's own counts add up on every turn: tokens, steps, drafts and accepted drafts."


def check_counts(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield the first broken identity of a cell and how many more there are, or that all hold."""
    if not cell.ran:
        return
    columns, summary = cell.columns, cell.summary
    broken = broken_identities(columns, drafter=summary.drafter, draft_length=summary.draft_length, limit=1)
    if broken:
        yield cell.lamp(
            "identities", "fault", f"The engine's counts do not add up: {'; '.join(broken)}. Do not use its acceptance."
        )
    chunks = int(wrong_chunks(columns).sum())
    if chunks:
        text = (
            f"In {counted(chunks, 'turn')} the pieces that arrived hold another number of tokens than the answer. "
            "Do not use times per token."
        )
        yield cell.lamp("identities", "fault", text)
    fewer = int(fewer_than_pieces(columns).sum())
    if fewer:
        text = (
            f"In {counted(fewer, 'turn')} more pieces of output arrived than the engine counted tokens, and each piece "
            "holds one at least: its count is too low, and times per token are too long. Use no speed of it."
        )
        yield cell.lamp("identities", "warning", text)
    if not broken and not chunks and not fewer and columns.has_steps[columns.ok].any():
        yield cell.lamp("identities", "ok", OK)


def fewer_than_pieces(columns: CellColumns) -> Mask:
    """Return which successful turns have fewer tokens than pieces, those left out that are said to hold none."""
    pieces = segment_sums(columns.chunk_tokens != 0, columns.chunk_offsets)
    fewer: Mask = columns.ok & (columns.tokens >= 0) & (columns.tokens < pieces)
    return fewer


def wrong_chunks(columns: CellColumns) -> Mask:
    """Return which successful turns' chunks, all of known size, do not hold the answer's tokens together."""
    turn_of_chunk = np.repeat(np.arange(len(columns)), columns.chunk_count)
    unknown = np.bincount(turn_of_chunk, weights=columns.chunk_tokens < 0, minlength=len(columns)) > 0
    held = np.bincount(turn_of_chunk, weights=columns.chunk_tokens, minlength=len(columns))
    told = columns.ok & (columns.chunk_count > 0) & ~unknown & (columns.tokens >= 0)
    wrong: Mask = told & (held != columns.tokens)
    return wrong
