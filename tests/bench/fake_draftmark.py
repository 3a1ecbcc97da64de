"""The command line with the fake engine and a suite of four conversations, for tests that need a process of their own.

Usage: python fake_draftmark.py ARGUMENTS...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_engine

from draftmark.backends.registry import BACKENDS
from draftmark.bench.plans import prepared
from draftmark.bench.plans.materials import Materials
from draftmark.results.records import ModelIdentity
from draftmark.suites.prompt import Prompt, Suite

if TYPE_CHECKING:
    from draftmark.bench.plans.plan import Plan

SUITE = Suite(
    name="talk",
    prompts=(
        Prompt(question_id="q0", category="talk", turns=("first", "and then?")),
        Prompt(question_id="q1", category="talk", turns=("second",)),
        Prompt(question_id="q2", category="code", turns=("third",)),
        Prompt(question_id="q3", category="code", turns=("fourth",)),
    ),
)


def materials(plan: Plan) -> Materials:
    """Stand in for `gather`: no tokenizer is loaded."""
    return Materials(fake_engine.FakeRenderer(), (SUITE,), lambda name: ModelIdentity(name=name))


if __name__ == "__main__":
    BACKENDS.builtin["fake"] = "fake_engine:FakeSpec"
    prepared.gather = materials  # type: ignore[assignment]

    from draftmark.bench.cli import main

    main()
