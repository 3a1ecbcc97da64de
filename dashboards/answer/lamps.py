"""The lamps beside the answer: what makes this run's numbers trustworthy, doubtful or void."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.dashboards.groups import whereabouts

if TYPE_CHECKING:
    from draftmark.results.summary import Lamp, RunSummary

_TITLES = {
    "speculation": "Speculation really on",
    "baseline": "Baseline sane",
    "losslessness": "Output unchanged beyond the control",
    "client": "Client on time",
    "launches": "Launches",
    "identities": "Counts add up",
    "failures": "Every turn finished",
    "values": "Values plausible",
}
"""What each line says when its lamps are green."""

_ALWAYS = ("speculation", "baseline", "losslessness", "client", "launches")
_SEVERITY = {"fault": 0, "warning": 1, "note": 2, "ok": 3}


@dataclass(frozen=True)
class LampLine:
    """All lamps of one name as the page shows them. The level is a word and a sign, so that colour is never needed."""

    title: str
    level: Literal["ok", "note", "warning", "fault", "unknown"]
    """That of the gravest."""
    word: str
    texts: tuple[str, ...]
    """What each says, the gravest first, ending with the cells it speaks of."""


def lamp_lines(summary: RunSummary) -> list[LampLine]:
    """Return the page's lamps: the five that every run owes, `unknown` where not checked, then any others lit."""
    lit: dict[str, list[Lamp]] = {}
    for lamp in summary.lamps:
        lit.setdefault(lamp.name, []).append(lamp)
    found = []
    for name, title in _TITLES.items():
        lamps = sorted(lit.get(name, []), key=lambda lamp: _SEVERITY[lamp.level])
        if lamps:
            worst = lamps[0].level
            found.append(LampLine(title, worst, worst, tuple(_said(lamp, summary) for lamp in lamps)))
        elif name in _ALWAYS:
            found.append(LampLine(title, "unknown", "not checked", ("This run holds no check of it.",)))
    return found


def _said(lamp: Lamp, summary: RunSummary) -> str:
    """Return a lamp's sentence and, where it does not speak of the whole run, which cells it speaks of."""
    where = whereabouts(lamp.cells, summary, everywhere_at_all=lamp.level == "ok")
    return f"{lamp.text} ({where})" if where else lamp.text
