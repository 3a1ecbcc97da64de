"""The environment variables that Draftmark reads, in one place, so that a misspelt one is reported, not ignored."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "DRAFTMARK_"
TRACEBACK = "DRAFTMARK_TRACEBACK"

VARIABLES: dict[str, str] = {
    "DRAFTMARK_CACHE": "folder for fetched models and suites; default: `draftmark` in the user's cache folder",
    TRACEBACK: "any text: show the traceback of an unexpected fault",
}
"""Name to meaning of every variable that Draftmark reads."""


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable named like Draftmark's own that is none of them; values are not shown."""
    sentences = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in VARIABLES:
            near = difflib.get_close_matches(name, VARIABLES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(VARIABLES)}"
            sentences.append(f"unknown environment variable {name}, which changes nothing; {hint}")
    return sentences
