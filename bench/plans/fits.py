"""Which prompts are longer than a context: known before anything runs, where the engine's limit is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.bench.plans.document import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from draftmark.bench.plans.materials import FirstPrompts
    from draftmark.bench.plans.plan import Plan
    from draftmark.suites.prompt import Suite

NAMED = 3
"""Prompts that are named; of more their number is told."""


def overflow_problems(plan: Plan, suites: Sequence[Suite], first: FirstPrompts) -> list[Problem]:
    """Return a problem for each suite of which not one first turn leaves a backend room for an answer."""
    return [
        Problem(("suites", index), _hopeless(suite.name, backend.kind, limit, min(lengths.values())))
        for backend in plan.backends
        if (limit := backend.context_limit(plan.target_name)) is not None
        for index, suite in enumerate(suites)
        if (lengths := _lengths(suite, first)) and all(length >= limit for length in lengths.values())
    ]


def _hopeless(suite: str, backend: str, limit: int, shortest: int) -> str:
    return (
        f"every prompt of {suite} fills the {limit:,} tokens of {backend}'s context (the shortest has {shortest:,}), "
        "so no answer could come; take shorter prompts, or a target or engine settings with a longer context"
    )


def _lengths(suite: Suite, first: FirstPrompts) -> dict[str, int]:
    """Return the tokens of each first turn by question, as far as they are known."""
    asked = ((prompt.question_id, first[suite.name, prompt.question_id]) for prompt in suite.prompts)
    return {name: len(ids) for name, ids in asked if ids is not None}


def overflow_warnings(plan: Plan, suites: Sequence[Suite], first: FirstPrompts) -> Iterator[str]:
    """Yield a sentence for each backend and suite with first turns that leave no room for an answer, or too little.

    What later turns hold depends on the answers before, so they are not looked at. Prompts that do not fit fail when
    they are asked, are counted apart, and spoil no number.
    """
    for backend in plan.backends:
        limit = backend.context_limit(plan.target_name)
        if limit is None:
            continue
        for suite in suites:
            lengths = _lengths(suite, first)
            full = [name for name, length in lengths.items() if length >= limit]
            answers = longest_answers(plan, suite)
            tight = [name for name, length in lengths.items() if limit - answers[name] < length < limit]
            where = (
                f"{suite.name}: {{}} of {len(lengths)} first turns {{}} the {limit} tokens of {backend.kind}'s context"
            )
            if full:
                yield f"{where.format(len(full), 'fill')} and will fail: {_named(full)}"
            if tight:
                yield f"{where.format(len(tight), 'come close to')} and may be cut before max_tokens: {_named(tight)}"


def longest_answers(plan: Plan, suite: Suite) -> dict[str, int]:
    """Return the most tokens of an answer by question: the plan's, or the request's own where that is replayed."""
    own = {prompt.question_id: prompt.sampling for prompt in suite.prompts if plan.request_sampling == "recorded"}
    found = {name: sampling.max_tokens for name, sampling in own.items() if sampling is not None}
    return {prompt.question_id: found.get(prompt.question_id) or plan.sampling.max_tokens for prompt in suite.prompts}


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
