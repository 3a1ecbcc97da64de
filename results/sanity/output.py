"""Is the output unchanged beyond what two runs of the baseline change? Speculation must not alter an answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from draftmark.results.sanity.cell import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.results.records import Divergence
    from draftmark.results.sanity.cell import CheckedCell, Level
    from draftmark.results.summary import Flag

_WORDS = {"fault": "without excuse", "numeric-tie": "at a numeric tie", "unknown": "for a reason not measured"}

OK = "Every answer is token for token the baseline's."


def check_output(cells: Sequence[CheckedCell]) -> Iterator[Flag]:
    """Yield, per speculating cell of one comparison group, how its answers differ from the baseline's."""
    control = next((cell for cell in cells if cell.summary.control and cell.ran), None)
    allowed = _verdicts(control.divergences) if control is not None else Counter()
    if allowed and control is not None:
        text = (
            f"Two runs without any speculation differ in {counted(allowed.total(), 'answer')}: the engine does not "
            "repeat itself here, so only differences beyond that are held against a drafter."
        )
        yield control.flag("losslessness", "warning" if allowed["fault"] else "note", text)
    for cell in cells:
        if cell.drafts and cell.ran:
            yield _check(cell, allowed)


def _check(cell: CheckedCell, allowed: Counter[str]) -> Flag:
    temperature = cell.record.key.sampling.temperature
    if temperature > 0:
        text = (
            f"At temperature {temperature:g} answers are drawn by chance and differ anyway; only a test of the "
            "engine's distribution can show that speculation leaves it unchanged."
        )
        return cell.flag("losslessness", "note", text)
    if cell.divergences is None:
        return cell.flag("losslessness", "warning", "The answers were not compared with the baseline's.")
    found = _verdicts(cell.divergences)
    level, judgement = _judged(found, allowed)
    if not found:
        return cell.flag("losslessness", level, judgement)
    what = ", ".join(f"{found[verdict]} {words}" for verdict, words in _WORDS.items() if found[verdict])
    said = f"{counted(found.total(), 'answer')} of {cell.summary.turns_ok:,} left the baseline's ({what})"
    return cell.flag("losslessness", level, f"{said}. {judgement}")


def _judged(found: Counter[str], allowed: Counter[str]) -> tuple[Level, str]:
    """Return level and judgement of an arm's divergences, given those of the control."""
    if not found:
        return "ok", OK
    if found["fault"] > allowed["fault"]:
        return "fault", "Speculation changed the output, so these speeds are of another model."
    if found["unknown"] > allowed["unknown"]:
        return "warning", "Nothing shows whether speculation or rounding did it."
    if found["fault"] or found["unknown"]:
        return "note", "Two runs of the baseline differ as much from each other."
    return "note", "There two tokens are equally likely within the target's own rounding, so it is no fault."


def _verdicts(divergences: list[Divergence] | None) -> Counter[str]:
    """Count answers (turns and repeats) by verdict; the first divergence of an answer is its only one."""
    return Counter(row.verdict for row in divergences or [])
