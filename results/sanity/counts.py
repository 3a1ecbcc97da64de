"""Do the engine's counts add up, turn by turn? They are independent observations, and metrics.md ties them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.columns import CellColumns, Mask
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Flag

OK = "The engine's own counts add up on every turn: tokens, steps, drafts and accepted drafts."


def check_counts(cell: CheckedCell) -> Iterator[Flag]:
    """Yield each identity that some turn of the cell breaks, with the first such turn, or that all hold."""
    if not cell.ran:
        return
    columns = cell.columns
    broken = [(said, turns) for said, turns in broken_identities(columns).items() if turns.any()]
    for said, turns in broken:
        first = int(np.flatnonzero(turns)[0])
        name = f"question {columns.questions[columns.question[first]]!r}, turn {columns.turn_index[first]}"
        text = (
            f"The engine's counts do not add up in {counted(int(turns.sum()), 'turn')} (first: {name}, repeat "
            f"{columns.repeat[first]}): {said}."
        )
        yield cell.flag("identities", "fault", text)
    if not broken and columns.has_steps[columns.ok].any():
        yield cell.flag("identities", "ok", OK)


def broken_identities(columns: CellColumns) -> dict[str, Mask]:
    """Return, per identity in words, which turns (bool, one per turn) break it; turns that lack its counts break none.

    With T tokens, d_i drafted, a_i accepted and e_i delivered tokens of step i: T = 1 + sum e_i; e_i = a_i + 1, in the
    last step also less, never 0; a_i <= d_i; as many output ids as tokens; chunks hold T tokens together.
    """
    stepped = columns.ok & columns.has_steps & (columns.tokens > 0)
    last = np.zeros(len(columns.drafted), dtype=bool)
    last[(columns.step_offsets[1:] - 1)[columns.step_count > 0]] = True
    full = columns.accepted + 1
    wrong_step = (columns.delivered < 1) | (columns.delivered > full) | ((columns.delivered != full) & ~last)
    counted_ids = columns.ok & (columns.output_ids >= 0) & (columns.tokens >= 0)
    return {
        "the tokens of the answer are not one from prefill plus those its steps delivered": (
            stepped & (columns.tokens != 1 + columns.per_turn(columns.delivered))
        ),
        "a step other than a cut last one delivered another number than its accepted drafts plus one": (
            _turns_with(columns, wrong_step)
        ),
        "a step accepted more tokens than were drafted": _turns_with(columns, columns.accepted > columns.drafted),
        "the number of tokens is not that of the token ids": counted_ids & (columns.tokens != columns.output_ids),
        "the chunks hold another number of tokens than the answer": _wrong_chunks(columns),
    }


def _turns_with(columns: CellColumns, steps: Mask) -> Mask:
    wrong: Mask = columns.per_turn(steps.astype(np.int64)) > 0
    return wrong


def _wrong_chunks(columns: CellColumns) -> Mask:
    turn_of_chunk = np.repeat(np.arange(len(columns)), columns.chunk_count)
    unknown = np.bincount(turn_of_chunk, weights=columns.chunk_tokens < 0, minlength=len(columns)) > 0
    held = np.bincount(turn_of_chunk, weights=columns.chunk_tokens, minlength=len(columns))
    told = columns.ok & (columns.chunk_count > 0) & ~unknown & (columns.tokens >= 0)
    wrong: Mask = told & (held != columns.tokens)
    return wrong
