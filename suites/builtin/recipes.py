"""The twenty-four long prompts as data: what material each has, and what it asks.

Low entropy asks for text that is already there, so a drafter that looks back can copy the answer. Mixed sets generated
text beside prose and asks about both. High entropy is prose and an open question: nothing in it holds the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from draftmark.suites.builtin.code_text import accessors, functions, settings
from draftmark.suites.builtin.record_text import (
    insert_statements,
    json_records,
    minutes,
    price_list,
    release_notes,
    service_log,
    station_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from draftmark.suites.builtin.draws import Draws

Entropy = Literal["low", "mixed", "high"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One long prompt of no fixed length. It has generated `records`, `prose` from the corpus, or both."""

    name: str
    entropy: Entropy
    opening: str
    question: str
    records: Callable[[Draws], Iterator[str]] | None = None
    heading: str = ""
    """What stands above the records."""
    prose: float | None = None
    """Where in the corpus the prose starts, 0 to below 1."""


_TABLE = "| station | hour | level | trend | note |\n|---|---|---|---|---|\n"
_PRICES = "article,name,finish,price,currency,availability,place\n"
_CLASS = "class Part:\n    def _check(self, value):\n        if value is None:\n            raise ValueError\n\n"
_IMPORTS = "from collections import defaultdict, deque\n\n"

_LOW = (
    ("log-copy", "Here is the log of a service.", service_log, "",
     "Copy the log above from its first line on, exactly as it stands. Write the lines only."),
    ("log-warnings", "Here is the log of a service.", service_log, "",
     "List every line of the log above that says WARN, unchanged and in order. Write the lines only."),
    ("table-copy", "Here are the readings of some river gauges.", station_table, _TABLE,
     'Copy the table above, beginning with | North Weir | 00:00 | exactly as it stands. Write the rows only.'),
    ("prices-currency", "Here is a price list.", price_list, _PRICES,
     "Copy the list above, beginning with article,name,finish and write CHF for EUR in every row. Keep all else."),
    ("settings-timeout", "Here is the settings file of a group of workers.", settings, "",
     "Copy the file above, beginning with [worker.orders-1] and write timeout_s = 45 in every section. Keep all else."),
    ("class-rename", "Here is a Python class.", accessors, _CLASS,
     "Copy the methods above, beginning with def _check(self, value): and write read_ for get_ in every name."),
    ("statements-copy", "Here are the statements that fill a table.", insert_statements, "",
     "Copy the statements above, beginning with INSERT INTO booking, exactly as they stand. Write the lines only."),
    ("parcels-insured", "Here are the parcels of one day.", json_records, "",
     'Copy all lines above, beginning with {"parcel": and write "insured": true in each. Write the lines only.'),
)  # fmt: skip

_MIXED = (
    ("code-review", "Here are a module and some pages from its author's notebook.", functions, _IMPORTS,
     "Review the module: name its three weakest places, quote the lines, and say how you would change each. "
     "Then say in one sentence what the notebook is about."),
    ("code-explain", "Here are a module and a text that was found beside it.", functions, _IMPORTS,
     "Explain to a beginner, line by line, what the first function of the module does. Then retell the text briefly."),
    ("code-tests", "Here are a module and the essay that its author wrote the same week.", functions, _IMPORTS,
     "Write unit tests for the first two definitions of the module, under a sentence of the essay as a comment."),
    ("incident", "Here are the log of an incident and the journal of the person on duty.", service_log, "",
     "Write the report of the incident: when answers became slow, which paths were hit, quoting lines of the log, "
     "and what the journal says about that day."),
    ("river-letter", "Here are the readings of some river gauges and a page from a local book.", station_table, _TABLE,
     "Write a letter to the newspaper that cites the three highest readings and takes up a thought of the page."),
    ("release", "Here are a program's release notes and a text by one of its users.", release_notes, "",
     "Write the announcement of the newest version for people like the author of the text; cite its entries."),
    ("minutes", "Here are the minutes of a town meeting and a text that was read out there.", minutes, "",
     "Sum up what each person said, by name, and then say which of the subjects the text bears on and why."),
    ("settings-advice", "Here are a settings file and what its keeper wrote about other matters.", settings, "",
     "Explain what the settings do, quoting the first section, propose better values, and describe the keeper."),
)  # fmt: skip

_HIGH = (
    ("continue", "Here is a passage from a book.",
     "Invent what comes after the passage, in the same voice; repeat none of it."),
    ("disagree", "Here is part of an essay.", "Argue against the essay as well as you can, in four short paragraphs."),
    ("letter", "Here is a text by a writer you have never met.",
     "Write the author a letter: what moved you, what you doubt, and what you would like to know."),
    ("fifty-years", "Here is a passage from a book.",
     "Describe the same place or matter as it may be fifty years later, in the present tense."),
    ("dialogue", "Two friends have just read this.", "Write their talk about it. They do not agree and stay friends."),
    ("lesson", "Here is a text for a lesson.",
     "Plan an hour with it for a class of fifteen-year-olds: aims, questions, an exercise, and what may go wrong."),
    ("before", "Here is a passage from a book.", "Tell what may have happened on the day before, as a short story."),
    ("titles", "Here is a text without a title.",
     "Give a numbered list of six unusual titles for it, and defend each in two sentences."),
)  # fmt: skip


def recipes() -> tuple[Recipe, ...]:
    """Return all recipes, low entropy first, eight of each."""
    low = [
        Recipe(name, "low", opening, question, records=records, heading=heading)
        for name, opening, records, heading, question in _LOW
    ]
    mixed = [
        Recipe(name, "mixed", opening, question, records=records, heading=heading, prose=(2 * index + 1) / 16)
        for index, (name, opening, records, heading, question) in enumerate(_MIXED)
    ]
    high = [
        Recipe(name, "high", opening, question, prose=2 * index / 16)
        for index, (name, opening, question) in enumerate(_HIGH)
    ]
    return (*low, *mixed, *high)
