"""The agentic split: recorded conversations with tools, asked step by step after the recorded answers.

Each assistant message is one step: the model is given everything before it, as it was recorded (teacher-forced), and
answers anew. Rows carry `messages`, or a list of messages as `turns`, and the tools as `tools` or as JSON inside
`extras`, which is how NVIDIA's tool reads the split (Model-Optimizer, specdec_bench, datasets/agentic_speed.py). The
split itself was not at hand.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftmark.suites.json_values import read_json
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.files import rows
from draftmark.suites.reading.recorded import ANSWERED
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import Chosen, LeftOut, choose_prompts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from draftmark.suites.loaders.speed_bench.finding import Found
    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.files import Row

_SHAPED = ("turns", "extras", "tools", "system", "prompt", "asked", "multiturn", "sampling", "response_format")
"""Columns that are no label of a row."""


@dataclass(frozen=True)
class Conversations:
    """The rows of the split, as a table that is read twice."""

    found: Found
    after_answers: Counter[int] = field(default_factory=Counter)
    """Row to its answers that follow another answer, or nothing that is answered: no step asks for these."""

    @property
    def origin(self) -> str:
        """Where the file lies."""
        return self.found.origin

    def rows(self, only: Collection[int] | None = None) -> Iterator[tuple[int, str, Row | RowFault]]:
        """Yield the rows, or those of these numbers alone."""
        return rows(self.found.files, only)

    def prompt(self, row: Row, number: int) -> Prompt:
        """Return a row's conversation, a turn per step; raises `RowFault`."""
        prompt, unasked = conversation(row)
        self.after_answers[number] = unasked
        return prompt


def choose_conversations(
    found: Found, categories: Collection[str] | None, *, limit: int | None, seed: int, allow_repeats: bool
) -> Chosen:
    """Return the conversations of these categories, or a subset; raises `SuiteError` naming bad rows."""
    table = Conversations(found)
    seen: set[str | None] = set()

    def convert(row: Row, number: int) -> Prompt | LeftOut:
        prompt = table.prompt(row, number)
        seen.add(prompt.category)
        return prompt if categories is None or prompt.category in categories else LeftOut("")

    def absent() -> SuiteError:
        lacking = ", ".join(sorted(set(categories or ()) - seen))
        return SuiteError(f"{found.origin} has no rows of the categories {lacking}")

    try:
        chosen = choose_prompts(table, convert, limit=limit, seed=seed, allow_repeats=allow_repeats)
    except SuiteError:
        if categories is not None and seen and not seen & set(categories):
            raise absent() from None
        raise
    if categories is not None and set(categories) - seen:
        raise absent()
    unasked = sum(table.after_answers.values())
    words = f"; {unasked:,} answers of the file are no steps, since they follow an answer" if unasked else ""
    return Chosen(chosen.prompts, chosen.selection + words, chosen.size)


def conversation(row: Row) -> tuple[Prompt, int]:
    """Return a row as one prompt with a turn per step, and how many answers are no steps.

    Raises `RowFault` for a row that is no conversation with an answer to ask for.
    """
    messages = _messages(row)
    answers = [place for place, one in enumerate(messages) if one.get("role") == "assistant" and place > 0]
    steps = [place for place in answers if messages[place - 1].get("role") in ANSWERED]
    if not steps:
        raise RowFault("messages hold no assistant's answer after the first, so there is no step to ask")
    labels = {name: value for name, value in row.items() if name not in _SHAPED and name != "messages"}
    asked = messages[: steps[-1]]  # what comes after the last step is never sent
    return row_prompt({**labels, "messages": asked, "asked": steps, "tools": _tools(row)}), len(answers) - len(steps)


def _messages(row: Row) -> list[dict[str, Any]]:
    name = "messages" if row.get("messages") is not None else "turns"
    value = row.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(message, dict) for message in value):
        raise RowFault("has no messages: a list of objects with role and content, as agentic rows need")
    return value


def _tools(row: Row) -> Any:
    if row.get("tools") is not None or row.get("extras") is None:
        return row.get("tools")
    extras = row["extras"]
    if isinstance(extras, str):
        try:
            extras = read_json(extras)
        except ValueError as fault:
            raise RowFault(f"extras {fault}") from fault
    if not isinstance(extras, dict):
        raise RowFault("extras is no object")
    return extras.get("tools")
