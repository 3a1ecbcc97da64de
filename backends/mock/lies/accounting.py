"""Lies of the engine's counters and statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from draftmark.backends.mock.lies.lie import Lie

if TYPE_CHECKING:
    from draftmark.backends.mock.counters import Counters
    from draftmark.backends.mock.generating import Answer
    from draftmark.backends.mock.lies.lie import Families


def _beyond_the_end(given: Answer) -> Answer:
    """Count the last step as if the answer went on."""
    if not given.steps:
        return given
    last = given.steps[-1]
    told = replace(last, counted_drafted=last.whole_drafted, counted_accepted=last.whole_accepted)
    return replace(given, steps=(*given.steps[:-1], told))


def _padded(given: Answer) -> Answer:
    """Count each step without a draft as one of full length that was rejected."""
    told = (
        replace(step, counted_drafted=given.draft_length, counted_accepted=0) if not step.drafted else step
        for step in given.steps
    )
    return replace(given, steps=tuple(told))


def _restarted(counters: Counters, given: Answer) -> None:
    counters.restart()


def _of_others(counters: Counters, given: Answer) -> None:
    """Count an equal answer that somebody else was given."""
    counters.count(given, given.tokens, len(given.steps))


def _without_total(families: Families) -> Families:
    from prometheus_client.core import Metric

    found = []
    for family in families:
        plain = Metric(family.name, family.documentation, "unknown" if family.type == "counter" else family.type)
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                plain.add_sample(sample.name.removesuffix("_total"), sample.labels, sample.value)
        found.append(plain)
    return found


def _gauges(families: Families) -> Families:
    return [family for family in families if family.type == "gauge"]


ACCOUNTING = (
    Lie(
        "counters-reset",
        "The engine restarts as each answer ends: its counters begin at 0, and count that answer.",
        "A counter that fell, or began later than the window, gives null with a reason; never a negative number.",
        counted=_restarted,
    ),
    Lie(
        "other-traffic",
        "With each answer the counters count a second one that somebody else was given.",
        "The window was not quiet: requests and tokens are more than were asked; null with a reason.",
        counted=_of_others,
    ),
    Lie(
        "no-total",
        "Counters have names without `_total`, and no type. Takes hold only as `--lie`.",
        "The same counts, or null with a reason.",
        families=_without_total,
    ),
    Lie(
        "gauges-only",
        "There are no counters, only gauges. Takes hold only as `--lie`.",
        "Null with a reason: a gauge is of its last interval.",
        families=_gauges,
    ),
    Lie(
        "eos-counted",
        "Of the last step, all drafted and accepted tokens count, also those past the end of the answer.",
        "Accepted tokens beyond the answer are no tokens: the identity with its length is checked.",
        answer=_beyond_the_end,
    ),
    Lie(
        "padding-counted",
        "Each step without a draft counts as a draft of full length, none of it accepted.",
        "The engine's steps per request tell them apart; its counters alone do not, so that their acceptance rate is a "
        "lower bound and their coverage an upper one.",
        answer=_padded,
    ),
    Lie(
        "stats-null",
        "Statistics per request are null.",
        "Acceptance from counters over the window, or null with a reason.",
        ask=lambda ask: replace(ask, statistics="none", spec_details=False),
    ),
)
