"""How many of an answer's tokens were thinking, where a server sends that apart from the answer.

Text is never counted: the pieces' tokens are the server's own counts or ids. A mark between the two of which the server
sends the id alone counts as thinking; one that it swallows counts with what comes after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def thinking_tokens(
    pieces: Sequence[tuple[bool, bool, int | None]], *, told: int | None, total: int | None, whole: bool
) -> int | None:
    """Return how many tokens at the start of an answer are thinking; null where that is not known.

    Args:
        pieces: Of each piece of output, in order: whether it holds thinking, whether it holds anything of the answer,
            and its tokens, null where the server did not count them.
        told: Tokens of thinking by the server's own account.
        total: Tokens of the whole answer.
        whole: The answer came in one piece, which tells no places.
    """
    thought = [index for index, (thinks, _, _) in enumerate(pieces) if thinks]
    if not thought:
        return told
    answered = [index for index, (_, answers, _) in enumerate(pieces) if answers]
    if not answered:
        return total  # it never ended
    last, first = thought[-1], answered[0]
    if first < last:
        return None  # it thinks again after answering, and only what comes first is counted
    before, upto = _sum(pieces[:first]), _sum(pieces[: first + 1])
    if whole or before is None or upto is None:
        return told
    if first > last:
        return before
    return told if told is not None and before <= told <= upto else None  # both parts came in one piece


def _sum(pieces: Sequence[tuple[bool, bool, int | None]]) -> int | None:
    counts = [tokens for _, _, tokens in pieces if tokens is not None]
    return sum(counts) if len(counts) == len(pieces) else None
