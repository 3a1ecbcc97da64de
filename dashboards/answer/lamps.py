"""The lamps beside the answer: what makes this run's numbers trustworthy, doubtful or void."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftmark.dashboards.groups import whereabouts
from draftmark.results.summary import LAMP_LEVELS, LAMP_NAMES

if TYPE_CHECKING:
    from draftmark.results.summary import Lamp, LampLevel, LampName, RunSummary


@dataclass(frozen=True)
class Words:
    """How the page speaks of one lamp."""

    title: str
    """What its line says when it is green."""
    subject: str
    """What a warning is about."""
    owed: bool = False
    """Whether every run shows it, also where it was not checked."""


WORDS: dict[LampName, Words] = {
    "prompts": Words("Prompts like real ones", "the prompts"),
    "answers": Words("Answers fit to measure", "the answers"),
    "speculation": Words("Speculation really on", "speculation", owed=True),
    "baseline": Words("Baseline sane", "the baseline", owed=True),
    "losslessness": Words("Output unchanged beyond the control", "the output", owed=True),
    "client": Words("Client on time", "the client", owed=True),
    "launches": Words("Launches", "launches", owed=True),
    "identities": Words("Counts add up", "the engine's counts"),
    "failures": Words("Every turn finished", "failed turns"),
    "values": Words("Values plausible", "values"),
}


@dataclass(frozen=True)
class LampLine:
    """All lamps of one name as the page shows them. The level is a word and a sign, so that colour is never needed."""

    title: str
    level: LampLevel
    """That of the gravest; `unjudged` also where nothing was checked."""
    word: str
    texts: tuple[str, ...]
    """What each says, the gravest first, ending with the cells it speaks of."""


def lamp_lines(summary: RunSummary) -> list[LampLine]:
    """Return the page's lamps: the five that every run owes, `not checked` where they are dark, then any others lit."""
    lit: dict[str, list[Lamp]] = {}
    for lamp in summary.lamps:
        lit.setdefault(lamp.name, []).append(lamp)
    found = []
    for name in LAMP_NAMES:
        words = WORDS[name]
        lamps = sorted(lit.get(name, []), key=lambda lamp: LAMP_LEVELS.index(lamp.level))
        if lamps:
            worst = lamps[0].level
            word = "not judged" if worst == "unjudged" else worst
            found.append(LampLine(words.title, worst, word, tuple(_said(lamp, summary) for lamp in lamps)))
        elif words.owed:
            found.append(LampLine(words.title, "unjudged", "not checked", ("This run holds no check of it.",)))
    return found


def _said(lamp: Lamp, summary: RunSummary) -> str:
    """Return a lamp's sentence and, where it does not speak of the whole run, which cells it speaks of."""
    where = whereabouts(lamp.cells, summary, everywhere_at_all=lamp.level in {"ok", "unjudged"})
    return f"{lamp.text} ({where})" if where else lamp.text
