"""The agentic split: recorded conversations with tools, asked step by step after the recorded answers.

Each assistant message is one step: the model is given everything before it, as it was recorded (teacher-forced), and
answers anew. Rows carry `messages`, or a list of messages as `turns`, and the tools as `tools` or as JSON inside
`extras`, which is how NVIDIA's tool reads the split (Model-Optimizer, specdec_bench, datasets/agentic_speed.py). The
split itself was not at hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.suites.json_values import read_json
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading.recorded import ANSWERED
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import Chosen, choose_prompts
from draftmark.suites.reading.two_readings import LeftOut

if TYPE_CHECKING:
    from collections.abc import Collection

    from draftmark.suites.loaders.speed_bench.finding import Found
    from draftmark.suites.prompt import Prompt
    from draftmark.suites.reading.rows import Row

_SHAPED = ("turns", "extras", "tools", "system", "prompt", "asked", "multiturn", "sampling", "response_format")
"""Columns that are no label of a row."""


def choose_conversations(
    found: Found, categories: Collection[str] | None, *, limit: int | None, seed: int, allow_repeats: bool
) -> Chosen:
    """Return the conversations of these categories, or a subset; raises `SuiteError` naming bad rows."""
    seen: set[str | None] = set()
    after_answers: dict[int, int] = {}  # rows are read twice, so by number

    def convert(row: Row, number: int) -> Prompt | LeftOut:
        prompt, after_answers[number] = conversation(row)
        seen.add(prompt.category)
        return prompt if categories is None or prompt.category in categories else LeftOut("")

    def absent() -> SuiteError:
        lacking = ", ".join(sorted(set(categories or ()) - seen))
        return SuiteError(f"{found.origin} has no rows of the categories {lacking}")

    try:
        chosen = choose_prompts(found, convert, limit=limit, seed=seed, allow_repeats=allow_repeats)
    except SuiteError:
        if categories is not None and seen and not seen & set(categories):
            raise absent() from None
        raise
    if categories is not None and set(categories) - seen:
        raise absent()
    unasked = sum(after_answers.values())
    words = f"; {unasked:,} answers of the file are no steps, since they follow an answer" if unasked else ""
    return Chosen(chosen.prompts, chosen.selection + words, chosen.size)


def conversation(row: Row) -> tuple[Prompt, int]:
    """Return a row as one prompt with a turn per step, and how many answers are no steps.

    An answer that follows another answer, or nothing that is answered, is no step.
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
