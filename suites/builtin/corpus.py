"""The prose that ships with Draftmark, as sections of paragraphs of sentences; read-only and frozen.

The corpus has about 13,000 tokens. Longer prompts go on with the documents that the summarization suite holds, as many
again, which were written for Draftmark too; with those in prose, that is.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from draftmark.suites.prompt import SuiteError

_NO_PROSE = {"chat", "ticket"}
"""Registers whose documents are entries with times, and have traces in them."""

_DOCUMENT = re.compile(r"<document>(.*?)</document>", re.DOTALL)

Section = tuple[tuple[str, ...], ...]
"""Paragraphs, each a run of sentences."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \n]+(?=[A-Z\"'])|(?<=[.!?][\"'])[ \n]+(?=[A-Z\"'])")


@cache
def sections() -> tuple[Section, ...]:
    """Return the corpus without its headings; raise `SuiteError` where the file did not come with this installation."""
    return split_sections(_shipped("corpus.md"))


@cache
def documents() -> tuple[Section, ...]:
    """Return the summarization suite's documents in prose, in its order; raise `SuiteError` as `sections` does."""
    rows = [json.loads(line) for line in _shipped("summarization.jsonl").splitlines()]
    turns = [turn for row in rows if row["sub_category"] not in _NO_PROSE for turn in row["turns"]]
    found = [tuple(_paragraphs(text)) for turn in turns for text in _DOCUMENT.findall(turn)]
    return tuple(section for section in found if section)


def _shipped(name: str) -> str:
    try:
        return (files("draftmark.suites.builtin") / name).read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError) as fault:
        raise SuiteError(
            f"the prose of builtin/long-sequence cannot be read ({fault}); install Draftmark anew"
        ) from fault


def split_sections(text: str) -> tuple[Section, ...]:
    """Split markdown prose at its headings, blank lines and sentence ends; white space inside is made single."""
    parts = re.split(r"(?m)^#.*$", text.replace("\r\n", "\n"))
    found = (tuple(_paragraphs(part)) for part in parts)
    return tuple(section for section in found if section)


def prose_from(share: float) -> list[str]:
    """Return every sentence once: those of the corpus, and then those of the documents.

    Either begins with the section that lies `share` (0 to below 1) of the way through, and goes round. Each sentence is
    led by the space, or the blank line of a new paragraph, that parts it from the one before.
    """
    return [
        ("\n\n" if index == 0 else " ") + sentence
        for section in (*_from(sections(), share), *_from(documents(), share))
        for paragraph in section
        for index, sentence in enumerate(paragraph)
    ]


def _from(whole: tuple[Section, ...], share: float) -> tuple[Section, ...]:
    start = int(share * len(whole))
    return whole[start:] + whole[:start]


def _paragraphs(part: str) -> list[tuple[str, ...]]:
    blocks = (block.strip(" \t\n") for block in re.split(r"\n[ \t]*\n", part))
    return [
        tuple(re.sub(r"[ \t\n]+", " ", sentence) for sentence in _SENTENCE_END.split(block))
        for block in blocks
        if block
    ]
