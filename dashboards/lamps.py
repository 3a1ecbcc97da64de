"""The lamps beside the answer: what makes this run's numbers trustworthy, doubtful or void."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.dashboards.wording import listed

if TYPE_CHECKING:
    from draftmark.results.summary import Flag, RunSummary

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
"""What each lamp says when it is green."""

_NAMED = 3
"""Cells a flag names; of more it gives the number."""

_ALWAYS = ("speculation", "baseline", "losslessness", "client", "launches")
_SEVERITY = {"fault": 0, "warning": 1, "note": 2, "ok": 3}


@dataclass(frozen=True)
class Lamp:
    """One lamp. Its level is shown as a word and a sign, so that colour is never needed."""

    title: str
    level: Literal["ok", "note", "warning", "fault", "unknown"]
    word: str
    texts: tuple[str, ...]
    """What was found, the gravest first, each ending with the cells it speaks of."""


def lamps(summary: RunSummary) -> list[Lamp]:
    """Return the page's lamps: the five that every run owes, `unknown` where not checked, then any others raised."""
    raised: dict[str, list[Flag]] = {}
    for flag in summary.flags:
        raised.setdefault(flag.name, []).append(flag)
    arms = {cell.cell_id: f"{cell.arm} on {cell.suite}" for cell in summary.cells if cell.category is None}
    found = []
    for name, title in _TITLES.items():
        flags = sorted(raised.get(name, []), key=lambda flag: _SEVERITY[flag.level])
        if flags:
            worst = flags[0].level
            texts = tuple(_said(flag, arms) for flag in flags)
            found.append(Lamp(title, worst, worst, texts))
        elif name in _ALWAYS:
            found.append(Lamp(title, "unknown", "not checked", ("This run holds no check of it.",)))
    return found


def _said(flag: Flag, arms: dict[str, str]) -> str:
    if not flag.cells or len(flag.cells) == len(arms):
        return flag.text
    if len(flag.cells) > _NAMED:
        return f"{flag.text} ({len(flag.cells)} of {len(arms)} cells)"
    return f"{flag.text} ({listed([arms.get(cell, cell) for cell in flag.cells])})"
