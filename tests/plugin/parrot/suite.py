"""The suite `sayings`: three short prompts in two categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from draftmark.suites.prompt import Prompt, Suite, SuiteSpec
from draftmark.suites.subset import choose

if TYPE_CHECKING:
    from draftmark.suites.prompt import PromptRenderer

_SAYINGS = {"greetings": ("good morning", "good evening"), "weather": ("rain before seven",)}
_PROMPTS = tuple(
    Prompt(question_id=f"{category}-{number}", category=category, turns=(text,))
    for category, texts in _SAYINGS.items()
    for number, text in enumerate(texts)
)


class SayingsSpec(SuiteSpec):
    """Short things that one says to a parrot."""

    kind: Literal["sayings"] = "sayings"

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Return the prompts that the limit keeps."""
        kept = tuple(_PROMPTS[index] for index in choose(_PROMPTS, self.limit, self.subset_seed))
        return Suite(name="sayings", prompts=kept, licence="CC0-1.0", source="written for this test")
