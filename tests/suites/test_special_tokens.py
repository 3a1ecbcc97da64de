"""Special tokens in a text, with the white space that they swallow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from draftmark.suites.special_tokens import SpecialTokens


@dataclass(frozen=True)
class Added:
    """An added token as the tokenizers library has it."""

    content: str
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False


TOKENS = SpecialTokens(
    [Added("<m>", lstrip=True), Added("<r>", rstrip=True), Added("<m><r>"), Added("no", special=False)]
)


def test_a_token_takes_the_white_space_that_it_swallows_and_the_longest_wins() -> None:
    text = "a \n<m> b <r>  c<m><r> no"
    assert [text[first:last] for first, last in TOKENS.spans(text)] == [" \n<m>", "<r>  ", "<m><r>"]


@given(text=st.lists(st.sampled_from(["<m>", "<r>", " ", "\n", "\u3000", "a", "<"])).map("".join))
def test_spans_are_those_of_a_pattern_that_begins_with_white_space(text: str) -> None:
    tokens = SpecialTokens([Added("<m>", lstrip=True), Added("<r>", rstrip=True)])
    assert list(tokens.spans(text)) == [found.span() for found in re.finditer(r"\s*<m>|<r>\s*", text)]


def test_without_special_tokens_there_are_none() -> None:
    none = SpecialTokens([Added("no", special=False), Added("")])
    assert not none
    assert not none.within("no")
    assert list(none.spans("no")) == []
