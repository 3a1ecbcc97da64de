"""Are the answers such that decoding can be measured on them: longer than a token, not cut unasked, not in loops?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.roles import is_baseline, speculates
from draftmark.results.sanity.cell import counted
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import CellSummary

MANY = 0.1
"""Share of answers above which it spoils a number: too short ones, and those in loops."""
MOST = 0.5
"""Share of looping answers above which every drafter is flattered."""
COPIERS = frozenset({"ngram", "suffix"})
"""Drafters that copy what the text has said before, so that they find a loop's next turn without fail."""

OK = "Answers are longer than a token, none was cut before max_tokens, and few repeat themselves."
CUT = "Every answer was cut at max_tokens, so nothing is known about how these texts end: raise max_tokens."

_SHARES = "looping_answers has each arm's share"


def check_answers(cell: CheckedCell) -> Iterator[Lamp]:
    """Yield what is wrong with a cell's answers by themselves: too short, cut all of them or unasked; or nothing."""
    if not cell.ran:
        return
    found = [*_short(cell), *_cut(cell)]
    yield from found
    known = cell.columns.ok & (cell.columns.tokens >= 0)
    if not found and known.any():
        yield cell.lamp("answers", "ok", OK)


def check_loops(cells: Sequence[CellSummary]) -> Iterator[Lamp]:
    """Yield which arms of a run gave answers that mostly repeat themselves, in one sentence for them all.

    Arms whose answers loop where those of the baseline do not are told apart, since that is no habit of the target's.

    Args:
        cells: Every cell of the run, over all turns.
    """
    habit: list[CellSummary] = []
    apart: list[CellSummary] = []
    for cell in cells:
        share = _looping(cell)
        if not speculates(cell) or not share:
            continue
        plain = next((_looping(one) for one in cells if one.group == cell.group and is_baseline(one)), None)
        (apart if plain is not None and share > plain + MANY else habit).append(cell)
    if apart:
        text = (
            f"{_span(apart)} of the answers mostly repeat themselves, and without speculation fewer do: drafting "
            f"changed what is written, and a loop is easy to draft. Look at the divergences first; {_SHARES}."
        )
        yield _lamp("warning", text, apart)
    flattered = [cell for cell in habit if (_looping(cell) or 0) >= (MANY if cell.drafter in COPIERS else MOST)]
    concerned = flattered or habit
    if not concerned:
        return
    alone = not any(is_baseline(cell) and cell.turns_ok for cell in cells)
    text = f"{_span(concerned)} of the answers mostly repeat themselves{'' if alone else ', without speculation too'}: "
    if flattered:
        text += (
            "such loops are easy to draft, by copying above all, so acceptance and speed-up are flattered. Take "
            f"another suite or a larger target; {_SHARES}."
        )
        yield _lamp("warning", text, flattered)
    else:
        yield _lamp("note", f"{text}such loops are easier to draft than other text; {_SHARES}.", habit)


def _short(cell: CheckedCell) -> Iterator[Lamp]:
    columns = cell.columns
    told = columns.ok & (columns.tokens >= 0)
    if not told.any() or int((told & (columns.tokens == 0)).sum()) == cell.summary.turns_ok:
        return  # without a single token nothing was measured at all, which the values say
    known = told & (cell.limits > 1)
    limited = int(told.sum()) - int(known.sum())
    if not known.any():
        yield cell.lamp("answers", "note", "max_tokens is 1: prefill gives that token, so no decode step was measured.")
        return
    if limited:
        text = f"{limited:,} of {counted(int(told.sum()), 'answer')} had a max_tokens of 1, which prefill gives: "
        yield cell.lamp("answers", "note", f"{text}acceptance and time per token rest on the others.")
    empty, short = int((known & (columns.tokens == 0)).sum()), int((known & (columns.tokens <= 1)).sum())
    of = int(known.sum())
    if not short:
        return
    blank = f" ({empty:,} of them without any)" if empty else ""
    which = "answer" if not limited else "other answer"
    text = f"{short:,} of {counted(of, which)} ended by their first token{blank}, which prefill gives"
    if short == of:
        rest = "no decode step was measured, and nothing can be said of acceptance or speed."
        rest += " Look at the chat template and at what the suite asks."
        yield cell.lamp("answers", "fault", f"{text}: {rest}")
    else:
        rest = "they have no decode step, so acceptance and time per token rest on the others; ask for longer answers."
        yield cell.lamp("answers", "warning" if short >= MANY * of else "note", f"{text}: {rest}")


def _cut(cell: CheckedCell) -> Iterator[Lamp]:
    early = int(cell.columns.cut_early.sum())
    if early:
        text = (
            f"{early:,} of {counted(cell.summary.turns_ok, 'answer')} were cut before max_tokens, by the end of the "
            "context or a limit of the server: raise that limit, or lower max_tokens."
        )
        yield cell.lamp("answers", "warning", text)
    if cell.summary.truncated == cell.summary.turns_ok and bool((cell.limits[cell.columns.ok] > 1).any()):
        yield cell.lamp("answers", "note", CUT)


def _looping(cell: CellSummary) -> float | None:
    metric = cell.metrics.get("looping_answers")
    return None if metric is None else metric.value


def _span(cells: Sequence[CellSummary]) -> str:
    """Write the least and the greatest share of looping answers."""
    shares = [f"{share:.0%}" for share in sorted(_looping(cell) or 0.0 for cell in cells)]
    return shares[0] if shares[0] == shares[-1] else f"{shares[0]} to {shares[-1]}"


def _lamp(level: str, text: str, cells: Sequence[CellSummary]) -> Lamp:
    return Lamp.model_validate({"name": "answers", "level": level, "text": text, "cells": [c.cell_id for c in cells]})
