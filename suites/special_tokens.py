"""Where a text holds the texts of special tokens, with the white space that such a token swallows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SPACE = re.compile(r"\s*")


class SpecialTokens:
    """The special ones among a tokenizer's added tokens; false if there are none."""

    def __init__(self, added: Iterable[Any]) -> None:
        tokens = [token for token in added if token.special and token.content]
        tokens.sort(key=lambda token: -len(token.content))
        self._left = {token.content for token in tokens if token.lstrip}
        self._right = {token.content for token in tokens if token.rstrip}
        self._pattern = re.compile("|".join(re.escape(token.content) for token in tokens)) if tokens else None

    def __bool__(self) -> bool:
        """Say whether there are any."""
        return self._pattern is not None

    def within(self, text: str) -> bool:
        """Say whether a text holds the text of one."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each, the longest where several fit, in time that grows with the text alone.

        White space before is looked for behind what was found last: a pattern that began with it would try anew from
        each space of a run.
        """
        end = 0
        while self._pattern is not None and (found := self._pattern.search(text, end)) is not None:
            start, token = found.start(), found.group()
            if token in self._left:
                start = end + len(text[end:start].rstrip())
            end = found.end()
            if token in self._right:
                space = _SPACE.match(text, end)
                end = end if space is None else space.end()
            yield start, end
