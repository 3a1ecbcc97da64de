"""Is the output unchanged beyond what two runs of the baseline change? Speculation must not alter an answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.divergences import excess
from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.columns import Mask
    from draftmark.results.records import Divergence
    from draftmark.results.sanity.cell import CheckedCell
    from draftmark.results.summary import Lamp, LampLevel

_WORDS = {"fault": "without excuse", "numeric-tie": "at a numeric tie", "unknown": "for a reason not measured"}

OK = "Every answer to the same question is token for token the baseline's."


def check_output(cells: Sequence[CheckedCell]) -> Iterator[Lamp]:
    """Yield, per speculating cell of one comparison group, how its answers differ from the baseline's.

    Answers in which the baseline's second run leaves its first are not held against an arm.
    """
    control = next((cell for cell in cells if cell.summary.control and cell.ran), None)
    unsteady = (control.divergences or []) if control is not None else []
    if unsteady and control is not None:
        text = (
            f"Two runs without any speculation differ in {counted(len(unsteady), 'answer')}: the engine does not "
            "repeat itself there, so these answers are not held against a drafter."
        )
        yield control.lamp("losslessness", "warning" if _verdicts(unsteady)["fault"] else "note", text)
    for cell in cells:
        if cell.drafts and cell.ran:
            lamp = _check(cell, unsteady)
            planned = any(one.is_baseline for one in cells)  # a plan without a baseline meant to compare nothing
            yield lamp if planned or lamp.level != "warning" else lamp.model_copy(update={"level": "note"})


def _check(cell: CheckedCell, control: list[Divergence]) -> Lamp:
    sampled = sampled_turns(cell)
    if sampled.all():
        hottest = max(cell.record.key.sampling.temperature, np.nanmax(cell.columns.own_temperature, initial=0.0))
        text = (
            f"At temperature {hottest:g} answers are drawn by chance and differ anyway; only a test of the "
            "engine's distribution can show that speculation leaves it unchanged; temperature: 0 compares texts."
        )
        return cell.lamp("losslessness", "note", text)
    compared = cell.summary.metrics.get("divergent_turns")
    if cell.divergences is None or compared is None or compared.value is None:
        reason = compared.reason if compared is not None else None
        text = "The answers were not compared with the baseline's" + (f": {reason}." if reason else ".")
        if compared is not None and compared.value is not None:
            text = (
                f"So far {compared.value:.0f} of {compared.n:,} answers left the baseline's; "
                "why any did is looked into at the end of a run: resume it."
            )
        return cell.lamp("losslessness", "warning", text)
    if not cell.divergences and sampled.any():
        text = f"{OK} {counted(int(sampled.sum()), 'turn')} sampled above temperature 0 could not be compared."
        return cell.lamp("losslessness", "ok", text)
    if not cell.divergences:
        return cell.lamp("losslessness", "ok", OK)
    found = _verdicts(cell.divergences)
    level, judgement = _judged(_verdicts(excess(cell.divergences, control)))
    what = ", ".join(f"{found[verdict]} {words}" for verdict, words in _WORDS.items() if found[verdict])
    said = f"{counted(found.total(), 'answer')} of {compared.n:,} left the baseline's ({what})"
    return cell.lamp("losslessness", level, f"{said}. {judgement}")


def sampled_turns(cell: CheckedCell) -> Mask:
    """Say of each turn whether it was sampled above temperature 0, by its own setting or else by the cell's."""
    own = cell.columns.own_temperature
    found: Mask = np.where(np.isnan(own), cell.record.key.sampling.temperature, own) > 0
    return found


def _judged(found: Counter[str]) -> tuple[LampLevel, str]:
    """Return level and judgement of an arm's divergences beyond the control's."""
    if found["fault"]:
        return (
            "fault",
            "Speculation changed the output, so these speeds are of another model: look at the divergences.",
        )
    if found["unknown"]:
        return "warning", "Nothing shows whether speculation or rounding did it: look at the divergences."
    if found:
        return "note", "There two tokens are equally likely within the target's own rounding, so it is no fault."
    return "note", "In all of them the baseline's second run leaves its first as well."


def _verdicts(divergences: list[Divergence]) -> Counter[str]:
    """Count answers by verdict; the first divergence of an answer is its only one."""
    return Counter(row.verdict for row in divergences)
