"""The prose that ships with Draftmark, as paragraphs of sentences; read-only and frozen."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from draftmark.suites.prompt import SuiteError

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \n]+(?=[A-Z\"'])|(?<=[.!?][\"'])[ \n]+(?=[A-Z\"'])")


@cache
def paragraphs() -> tuple[tuple[str, ...], ...]:
    """Return the corpus as paragraphs, each a run of sentences; headings and comments are left out.

    Raises `SuiteError` where the file did not come with this installation.
    """
    try:
        text = (files("draftmark.suites.builtin") / "corpus.md").read_text("utf-8")
    except (FileNotFoundError, UnicodeDecodeError) as fault:
        raise SuiteError(
            f"the corpus of builtin/long-sequence cannot be read ({fault}); install Draftmark anew"
        ) from fault
    return split_paragraphs(text)


def split_paragraphs(text: str) -> tuple[tuple[str, ...], ...]:
    """Split markdown prose into paragraphs of sentences, white space made single."""
    found = []
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        lines = [line.strip(" \t") for line in block.strip(" \t\n").split("\n")]
        prose = "\n".join(line for line in lines if line and not line.startswith(("#", "<!--", "---")))
        sentences = [re.sub(r"[ \t\n]+", " ", sentence) for sentence in _SENTENCE_END.split(prose) if sentence]
        if sentences:
            found.append(tuple(sentences))
    return tuple(found)


def prose_from(share: float) -> list[str]:
    """Return every sentence of the corpus once, starting at the paragraph `share` (0 to below 1) of the way through.

    Each is led by the space, or the blank line of a new paragraph, that parts it from the one before.
    """
    whole = paragraphs()
    start = int(share * len(whole))
    return [
        ("\n\n" if index == 0 else " ") + sentence
        for paragraph in whole[start:] + whole[:start]
        for index, sentence in enumerate(paragraph)
    ]
