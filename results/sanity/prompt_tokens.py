"""Did the engine read the prompts that were sent? It counts their tokens itself, and should find as many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.columns import Ints, Mask
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

SHORTEST_LIMIT = 256
"""Tokens; a server that cuts prompts cuts no shorter ones."""
ALIKE = 3
"""So many different prompts of one length, and none longer, are no coincidence."""


def check_prompt_tokens(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield where the engine counted other numbers of prompt tokens than were sent, in first turns and later ones.

    Where it is not known how many were sent, what is left to see is a length at which the longest prompts all end.
    """
    columns, sent = cell.columns, _sent(cell)
    told = columns.ok & (columns.prompt_tokens >= 0)
    differs = told & (sent >= 0) & (columns.prompt_tokens != sent)
    if differs.any():
        yield cell.lamp("prompts", "warning", _differing(cell, sent, differs))
    limit = _ends_at(cell, told & (sent < 0))
    if limit is not None:
        text = (
            f"The longest prompts all have {limit:,} tokens by the engine's count, though they differ: it seems to cut "
            "prompts there, so that these are not what was asked. Raise its limit."
        )
        yield cell.lamp("prompts", "warning", text)


def _sent(cell: CheckedCell) -> Ints:
    """Return how many tokens went out with each turn: as it was rendered, else as its suite has it; -1 unknown."""
    columns = cell.columns
    asked = zip(columns.question.tolist(), columns.turn_index.tolist(), strict=True)
    planned = [cell.sent_tokens.get((columns.questions[code], turn), -1) for code, turn in asked]
    sent: Ints = np.where(columns.asked_tokens >= 0, columns.asked_tokens, np.array(planned, dtype=np.int32))
    return sent


def _differing(cell: CheckedCell, sent: Ints, differs: Mask) -> str:
    columns = cell.columns
    first, theirs, ours = int(np.flatnonzero(differs)[0]), columns.prompt_tokens[differs], sent[differs]
    later = f", turn {columns.turn_index[first] + 1}" if columns.turn_index[first] else ""
    said = (
        f"In {counted(int(differs.sum()), 'turn')} the engine counted another number of prompt tokens than was sent "
        f"(first in question {columns.questions[columns.question[first]]}{later}: {columns.prompt_tokens[first]:,} "
        f"where {counted(int(sent[first]), 'token')} went out)"
    )
    if (theirs == ours + 1).all():
        return f"{said}, always one more: a second beginning-of-sequence token? Have the server add none."
    if len(np.unique(ours)) > 1 and (theirs < ours).all() and (theirs == theirs[0]).all():
        return (
            f"{said}, always {theirs[0]:,} where more went out: it cuts prompts there, and answers what is left. "
            "Raise its limit."
        )
    shorter, longer = int((theirs < ours).sum()), int((theirs > ours).sum())
    sizes = "shorter" if not longer else "longer" if not shorter else f"{shorter:,} shorter and {longer:,} longer"
    return (
        f"{said}, {sizes}: it read other prompts, as by a chat template or tokenizer of its own. "
        "Name the target that it serves."
    )


def _ends_at(cell: CheckedCell, told: Mask) -> int | None:
    """Return the length at which several of these turns' prompts end, none being longer and some shorter."""
    lengths, prompts = cell.columns.prompt_tokens[told], cell.columns.prompt_key[told]
    if not len(lengths) or lengths.max() < SHORTEST_LIMIT or (lengths == lengths.max()).all():
        return None
    at_the_end = len(np.unique(prompts[lengths == lengths.max()]))
    return int(lengths.max()) if at_the_end >= ALIKE else None
