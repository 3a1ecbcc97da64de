"""The `speed-bench` suite: a split of SPEED-Bench, checked against what was published of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from draftmark.suites.loaders.speed_bench import agentic
from draftmark.suites.loaders.speed_bench.checking import (
    MOST_NAMED,
    Entry,
    check_file,
    check_row,
    plain_row,
    refuse_repeats,
    refuse_unresolved,
    shortfalls,
)
from draftmark.suites.loaders.speed_bench.finding import Found, find
from draftmark.suites.loaders.speed_bench.splits import LICENCE, SPLITS, Split, SplitName
from draftmark.suites.prompt import Prompt, PromptRenderer, Suite, SuiteError, SuiteSpec
from draftmark.suites.reading.checked import digest
from draftmark.suites.reading.files import rows
from draftmark.suites.reading.row_faults import RowFault
from draftmark.suites.reading.rows import row_prompt
from draftmark.suites.subset import choose, describe

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        entries = index(found, split)
        kept = [entry for entry in entries if self.category is None or entry.category in self.category]
        if self.category is not None and (absent := set(self.category) - {entry.category for entry in kept}):
            raise SuiteError(f"{found.origin} has no rows of the categories {', '.join(sorted(absent))}")
        chosen = [kept[place] for place in choose(kept, self.limit, self.subset_seed)]
        refuse_unresolved(chosen, split, found.origin)
        if not self.allow_repeats:
            refuse_repeats(chosen, found.origin)
        lacks = shortfalls(entries, split)
        return Suite(
            name=self._name(),
            prompts=fetch(found, chosen),
            licence=LICENCE,
            source=found.origin,
            selection=self._selection(split, kept, len(chosen), lacks),
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

    def _selection(self, split: Split, kept: Sequence[Entry], chosen: int, lacks: Sequence[str]) -> str:
        words = [describe(chosen, len(kept), self.subset_seed)]
        if self.category is not None:
            words.append(f"of the categories {', '.join(self.category)}")
        words += lacks
        if split.prompt_tokens is not None:
            words.append(f"published as {split.prompt_tokens:,} tokens of o200k_base before the chat template")
        return "; ".join(words)


def index(found: Found, split: Split) -> list[Entry]:
    """Check all rows of a split and return their entries; raise `SuiteError` naming up to `MOST_NAMED` bad rows."""
    entries: list[Entry] = []
    faults: list[str] = []
    for number, place, row in rows(found.files):
        try:
            if isinstance(row, RowFault):
                raise row
            entries.append(check_row(row, number, place, split))
        except RowFault as fault:
            faults.append(f"{place}: {fault}")
            if len(faults) == MOST_NAMED:
                faults.append("(stopped here; there may be more)")
                break
    if faults:
        raise SuiteError(f"{found.origin} has bad rows, so nothing of it was taken:\n  " + "\n  ".join(faults))
    check_file(entries, split, found.origin)
    return entries


def fetch(found: Found, chosen: Sequence[Entry]) -> tuple[Prompt, ...]:
    """Read the texts of chosen rows; raise `SuiteError` where a file changed since it was checked."""
    wanted = {entry.number: entry for entry in chosen}
    prompts: dict[int, Prompt] = {}
    for number, place, row in rows(found.files, wanted):
        try:
            if isinstance(row, RowFault):
                raise row
            prompt = row_prompt(plain_row(row))
        except RowFault as fault:
            raise SuiteError(f"{place} changed while it was read; run again") from fault
        if (prompt.question_id, digest(prompt)) != (wanted[number].question_id, wanted[number].digest):
            raise SuiteError(f"{place} changed while it was read; run again")
        prompts[number] = prompt
    if len(prompts) < len(wanted):
        raise SuiteError(f"{found.origin} changed while it was read; run again")
    return tuple(prompts[entry.number] for entry in chosen)
