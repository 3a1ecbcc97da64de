"""Did the target think where the plan says so, and only there? Texts of thinking draft otherwise than answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp

EMPTY = 4
"""Tokens of thinking that marks and blank lines take up with nothing between them."""


def check_thinking(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield that nothing thought although the plan says to think, or that something did although it says not to.

    The first only where every answer's thinking is known and some answer is long enough to hold any.
    """
    columns, said = cell.columns, cell.thinking
    if said is None or not cell.ran:
        return
    known = columns.ok & (columns.thinking >= 0)
    thought = int((known & (columns.thinking > EMPTY)).sum())
    if said == "off":
        if thought:
            text = (
                f"thinking is off, but {thought:,} of {counted(int(known.sum()), 'answer')} "
                f"{'holds' if thought == 1 else 'hold'} thinking: the switch did not reach the target. See what "
                "the server does with it; numbers here are of text that thinks."
            )
            yield cell.lamp("answers", "warning", text)
    elif not thought and known[columns.ok].all() and (columns.tokens[known] > EMPTY).any():
        text = (
            f"thinking is {said}, but no answer holds any thinking: the switch did not reach the target, or the server "
            "does not tell thinking apart. See an answer's text, and the server's reasoning parser."
        )
        yield cell.lamp("answers", "warning", text)
