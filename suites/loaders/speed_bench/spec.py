"""The `speed-bench` suite: a split of SPEED-Bench, checked against what was published of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from draftmark.suites.loaders.speed_bench import agentic
from draftmark.suites.loaders.speed_bench.checking import (
    check_file,
    check_row,
    plain_row,
    refuse_unresolved,
    shortfalls,
)
from draftmark.suites.loaders.speed_bench.finding import Found, find
from draftmark.suites.loaders.speed_bench.splits import LICENCE, SPLITS, Split, SplitName
from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteError, SuiteSpec
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.reading.two_readings import check_rows, read_again, refuse_repeats
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftmark.suites.loaders.speed_bench.checking import RowFacts
    from draftmark.suites.reading.rows import Row
    from draftmark.suites.reading.two_readings import Entry


class SpeedBenchSpec(SuiteSpec):
    """A split of SPEED-Bench, from a prepared folder, from what was fetched, or from the hub."""

    kind: Literal["speed-bench"] = "speed-bench"
    split: SplitName
    category: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    """Categories to keep; all where null."""
    path: Annotated[str, Field(min_length=1)] | None = None
    """A folder that NVIDIA's prepare_data.py wrote, or a .parquet or .jsonl file; relative to the working directory."""
    revision: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w./-]{0,99}$")] | None = None
    """Commit of the dataset on the hub; the pinned one where null. Not used with `path`."""
    allow_repeats: bool = False
    """Take a split in which three or more rows ask the same thing."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the split, take categories and subset; raise `SuiteError`. Needs no renderer.

        The file is read twice, first for ids and strata alone, so that a limit holds no more text than it asks for.
        """
        split = SPLITS[self.split]
        self._check_settings(split)
        found = find(split, self.path, self.revision)
        if split.name == "agentic":
            return self._agentic(found)
        whole = index(found, split)
        kept = [entry for entry in whole if self.category is None or entry.checked.category in self.category]
        if self.category is not None and (absent := set(self.category) - {entry.checked.category for entry in kept}):
            raise SuiteError(f"{found.origin} has no rows of the categories {', '.join(sorted(absent))}")
        chosen = [kept[place] for place in choose([entry.checked for entry in kept], self.limit, self.subset_seed)]
        refuse_unresolved({entry: whole[entry] for entry in chosen}, split, found.origin)
        if not self.allow_repeats:
            refuse_repeats(chosen, found.origin)
        lacks = shortfalls(whole, split)
        return Suite(
            name=self._name(),
            prompts=read_again(found, _prompt, chosen),
            licence=LICENCE,
            source=found.origin,
            selection=self._selection(split, len(kept), len(chosen), lacks),
            warnings=lacks,
        )

    def _agentic(self, found: Found) -> Suite:
        chosen = agentic.choose_conversations(
            found, self.category, limit=self.limit, seed=self.subset_seed, allow_repeats=self.allow_repeats
        )
        words = "" if self.category is None else f"; of the categories {', '.join(self.category)}"
        return Suite(
            name=self._name(),
            prompts=chosen.prompts,
            licence=LICENCE,
            source=found.origin,
            selection=f"{chosen.selection}{words}; each answer is asked for after what was recorded before it",
        )

    def _check_settings(self, split: Split) -> None:
        if self.path is not None and self.revision is not None:
            raise SuiteError("speed-bench: revision names what is fetched from the hub, so it says nothing of path")
        if self.category is None or split.per_category is None:
            return
        unknown = [name for name in self.category if name not in split.per_category]
        if unknown or len(set(self.category)) < len(self.category) or not self.category:
            raise SuiteError(
                f"speed-bench/{split.name}: category is {', '.join(self.category) or 'empty'}; it takes each once of "
                f"{', '.join(split.per_category)}"
            )

    def _name(self) -> str:
        whole = f"speed-bench/{self.split}"
        return whole if self.category is None else f"{whole}/{'+'.join(self.category)}"

    def _selection(self, split: Split, kept: int, chosen: int, lacks: Sequence[str]) -> str:
        words = [describe(chosen, kept, self.subset_seed)]
        if self.category is not None:
            words.append(f"of the categories {', '.join(self.category)}")
        words += lacks
        if split.prompt_tokens is not None:
            words.append(f"published as {split.prompt_tokens:,} tokens of o200k_base before the chat template")
        return "; ".join(words)


def index(found: Found, split: Split) -> dict[Entry, RowFacts]:
    """Check all rows of a split and return their entries in order; raise `SuiteError` naming bad rows."""
    facts: dict[int, RowFacts] = {}

    def check(row: Row, number: int) -> Prompt:
        prompt, facts[number] = check_row(row, split)
        return prompt

    entries, _ = check_rows(found, check)
    check_file(entries, split, found.origin)
    return {entry: facts[entry.number] for entry in entries}


def _prompt(row: Row, number: int) -> Prompt:
    del number  # rows have ids of their own
    return row_prompt(plain_row(row))
