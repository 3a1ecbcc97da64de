"""The `sharegpt` suite: the user's turns of ShareGPT conversations; the target's own answers come between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveInt

from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteSpec
from draftmark.suites.reading import hub
from draftmark.suites.reading.conversations import spoken, user_turns
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.table_prompts import choose_prompts
from draftmark.suites.reading.tables import FileTable
from draftmark.suites.reading.two_readings import LeftOut
from draftmark.suites.training_data import SHAREGPT

if TYPE_CHECKING:
    from draftmark.suites.reading.rows import Row

DATASET = "anon8231489123/ShareGPT_Vicuna_unfiltered"
FILE = "ShareGPT_V3_unfiltered_cleaned_split.json"
LICENCE = "Apache-2.0 by its card; texts by its users"


class SharegptSpec(SuiteSpec):
    """ShareGPT conversations: a JSON array or lines of objects with `conversations`, each by human or gpt."""

    kind: Literal["sharegpt"] = "sharegpt"
    path: Annotated[str, Field(min_length=1)] | None = None
    """The file, relative to the working directory; null for the hub's ShareGPT_V3_unfiltered_cleaned_split.json."""
    most_turns: PositiveInt | None = None
    """Turns to keep of each conversation, from its beginning; all where null."""
    revision: Annotated[str, Field(min_length=1)] = "main"
    """Of the dataset on the hub."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the file, take the subset; raise `SuiteError`. Needs no renderer.

        Of conversations that ask the same thing more than twice, which the file has, all are kept.
        """
        from pathlib import Path

        path = Path(self.path) if self.path is not None else hub.download(DATASET, FILE, self.revision)
        table = FileTable(path)
        chosen = choose_prompts(table, self._prompt, limit=self.limit, seed=self.subset_seed, allow_repeats=True)
        cut = "" if self.most_turns is None else f"; at most {self.most_turns} turns of each"
        return Suite(
            name="sharegpt",
            prompts=chosen.prompts,
            licence=LICENCE,
            source=self.path or f"{DATASET} at {self.revision}, {FILE}",
            selection=chosen.selection + cut,
            caution=SHAREGPT,
        )

    def _prompt(self, row: Row, number: int) -> Prompt | LeftOut:
        """Return a conversation's prompt; those that begin in the middle or are empty are left out."""
        conversation = row.get("conversations", row.get("conversation"))
        said = spoken(conversation, "conversations")
        roles = [role for role, _ in said if role != "system"]
        if not roles:
            return LeftOut("they are empty")
        if roles[0] != "user":
            return LeftOut("they begin with an answer, so what was asked is not in them")
        system, turns = user_turns(conversation, "conversations")
        fields = {"turns": turns[: self.most_turns], "system": system}
        named = row.get("id") if isinstance(row.get("id"), str | int) else "conversation"
        asked = row_prompt({"question_id": f"{named}-{number + 1}", **fields})
        return asked.model_copy(update={"source": "ShareGPT", "src_id": None if "id" not in row else str(row["id"])})
