"""Did the engine read the prompts that were sent? It counts their tokens itself, and should find as many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp


def check_prompt_tokens(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield where the engine counted other numbers of prompt tokens than are on record as sent."""
    columns = cell.columns
    asked = zip(columns.question.tolist(), columns.turn_index.tolist(), strict=True)
    sent = np.array([cell.sent_tokens.get((columns.questions[code], turn), -1) for code, turn in asked], dtype=np.int64)
    differs = columns.ok & (columns.prompt_tokens >= 0) & (sent >= 0) & (columns.prompt_tokens != sent)
    if not differs.any():
        return
    first = int(np.flatnonzero(differs)[0])
    told = (
        f"In {counted(int(differs.sum()), 'turn')} the engine counted another number of prompt tokens than was sent "
        f"(first in question {columns.questions[columns.question[first]]}: {columns.prompt_tokens[first]:,} where "
        f"{counted(int(sent[first]), 'token')} went out)"
    )
    if (columns.prompt_tokens[differs] == sent[differs] + 1).all():
        why = "always one more: a second beginning-of-sequence token?"
    else:
        why = "it read other prompts, as by a chat template or tokenizer of its own."
    yield cell.lamp("prompts", "warning", f"{told}, {why}")
