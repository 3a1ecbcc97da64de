"""The decode steps that an engine's counts per request imply, where it does not tell of every step.

Such counts leave out the steps without a draft; their number follows from the tokens (metrics.md), and where they lie
is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

from draftmark.results.records import StepColumns


@dataclass(frozen=True)
class InferredSteps:
    """What follows for one turn."""

    steps: StepColumns | None
    """Null where the counts do not fit the tokens."""
    problem: str | None = None
    """Why there are none."""


def from_statistics(drafted: list[int], accepted: list[int], tokens: int) -> InferredSteps:
    """Return the steps that a request's own statistics imply, for a turn of T = `tokens` tokens.

    `drafted` and `accepted` hold one number per step that had a draft. With n^ = T - 1 - sum(a) steps in all, those
    without a draft are put last, since their place is unknown; the end of the answer cuts the last drafting step.
    """
    plain = tokens - 1 - sum(accepted) - len(accepted)
    delivered = [count + 1 for count in accepted]
    if plain < 0 and delivered:
        delivered[-1] += plain
        if delivered[-1] < 1:
            return InferredSteps(None, f"statistics of {sum(accepted)} accepted tokens do not fit {tokens} tokens")
    rest = max(plain, 0)
    steps = StepColumns(
        drafted=[*drafted, *[0] * rest], accepted=[*accepted, *[0] * rest], delivered=[*delivered, *[1] * rest]
    )
    return InferredSteps(steps)
