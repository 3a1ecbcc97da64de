"""The prose that ships with Draftmark, as sections of paragraphs of sentences; read-only and frozen."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from draftmark.suites.prompt import SuiteError

Section = tuple[tuple[str, ...], ...]
"""Paragraphs, each a run of sentences."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \n]+(?=[A-Z\"'])|(?<=[.!?][\"'])[ \n]+(?=[A-Z\"'])")


@cache
def sections() -> tuple[Section, ...]:
    """Return the corpus without its headings; raise `SuiteError` where the file did not come with this installation."""
    try:
        text = (files("draftmark.suites.builtin") / "corpus.md").read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError) as fault:
        raise SuiteError(
            f"the corpus of builtin/long-sequence cannot be read ({fault}); install Draftmark anew"
        ) from fault
    return split_sections(text)


def split_sections(text: str) -> tuple[Section, ...]:
    """Split markdown prose at its headings, blank lines and sentence ends; white space inside is made single."""
    parts = re.split(r"(?m)^#.*$", text.replace("\r\n", "\n"))
    found = (tuple(_paragraphs(part)) for part in parts)
    return tuple(section for section in found if section)


def prose_from(share: float) -> list[str]:
    """Return every sentence of the corpus once, starting at the section `share` (0 to below 1) of the way through.

    Each is led by the space, or the blank line of a new paragraph, that parts it from the one before.
    """
    whole = sections()
    start = int(share * len(whole))
    return [
        ("\n\n" if index == 0 else " ") + sentence
        for section in whole[start:] + whole[:start]
        for paragraph in section
        for index, sentence in enumerate(paragraph)
    ]


def _paragraphs(part: str) -> list[tuple[str, ...]]:
    blocks = (block.strip(" \t\n") for block in re.split(r"\n[ \t]*\n", part))
    return [
        tuple(re.sub(r"[ \t\n]+", " ", sentence) for sentence in _SENTENCE_END.split(block))
        for block in blocks
        if block
    ]
