"""The `jsonl` suite: a file of one's own, with one JSON object a line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from draftmark.suites.prompt import PromptRenderer, Suite, SuiteSpec
from draftmark.suites.reading.json_lines import read_prompts
from draftmark.suites.training_data import caution_for


class JsonlSpec(SuiteSpec):
    """A file of prompts, one JSON object a line."""

    kind: Literal["jsonl"] = "jsonl"
    path: Annotated[str, Field(min_length=1)]
    """The file, relative to the working directory."""
    name: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Name of the suite; the file's name without its ending where null."""
    allow_repeats: bool = False
    """Take a file in which three or more rows ask the same thing."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the file, take the subset; raise `SuiteError` with file, line and field. Needs no renderer."""
        prompts, selection = read_prompts(
            Path(self.path).expanduser(), limit=self.limit, seed=self.subset_seed, allow_repeats=self.allow_repeats
        )
        return Suite(
            name=self.name or Path(self.path).stem,
            prompts=prompts,
            source=self.path,
            selection=selection,
            caution=caution_for(Path(self.path).name),
        )
