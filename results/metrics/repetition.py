"""How much answers repeat themselves: a loop is easy to draft, so a speed-up on looping text is no one else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from draftmark.results.metrics.declaration import Metric, Outcome, declare, missing

if TYPE_CHECKING:
    from draftmark.results.metrics.evidence import Evidence

LOOPING = 0.5
"""Share of repeated sequences above which an answer loops.

Natural text stays below it: in windows of 128 tokens of the built-in suites' prompts (362, by SmolLM2's tokenizer) the
share is 2% in the mean, 10% at the 95th percentile and 36% at most. Of 126 greedy answers of SmolLM2-135M, up to 128
tokens long, to `coding`, `humanities`, `math` and `multilingual`, 30 are above it (24%), up to 93%.
"""

_NOTHING = "no answer on record is four tokens long"


def _words(evidence: Evidence) -> tuple[str, ...]:
    """Say so where some of the answers are known as text alone."""
    cell = evidence.cell
    return ("over words, since token ids are unknown",) if (cell.ok & (cell.output_kind == 2)).any() else ()


@declare(
    "repeated_4grams",
    unit="1",
    better=None,
    needs=("output ids",),
    about="Share of an answer's sequences of four tokens that came before in it; looping text is easy to draft.",
)
def repeated_4grams(evidence: Evidence) -> Outcome:
    """Sum over turns of (sequences of 4 tokens - distinct ones) / sum of sequences, T - 3 a turn; in 0..1.

    Words stand for tokens where an engine gives no ids. n counts sequences.
    """
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    cell = evidence.cell
    return evidence.pooled(
        np.where(cell.ok, cell.repeated_grams, 0).astype(np.float64),
        np.where(cell.ok, cell.grams, 0).astype(np.float64),
        source="engine",
        bounds=(0.0, 1.0),
        notes=_words(evidence),
        nothing=_NOTHING,
    )


@declare(
    "looping_answers",
    unit="1",
    better=None,
    needs=("output ids",),
    about="Share of the answers that mostly repeat themselves.",
)
def looping_answers(evidence: Evidence) -> Outcome:
    """Turns of which more than half the sequences of 4 tokens came before in the answer / turns that have any; in 0..1.

    A natural text of 128 tokens has 2% of such sequences in the mean, 36% at most (362 windows of the built-in suites'
    prompts); of 126 greedy answers of SmolLM2-135M, up to 128 tokens long, 24% are above one half.
    """
    if evidence.turns_ok == 0:
        return missing(evidence.no_turns())
    cell = evidence.cell
    some = cell.ok & (cell.grams > 0)
    return evidence.pooled(
        (some & (cell.repeated_grams > LOOPING * cell.grams)).astype(np.float64),
        some.astype(np.float64),
        source="engine",
        bounds=(0.0, 1.0),
        notes=_words(evidence),
        nothing=_NOTHING,
    )


REPETITION: tuple[Metric, ...] = (repeated_4grams, looping_answers)
