"""The suites `parquet` and `hf`: prompts of a parquet file, or of a dataset on the hub, by the plan's column names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from draftmark.suites.prompt import PromptRenderer, Suite, SuiteSpec
from draftmark.suites.reading.columns import Columns, columns_problem, mapped_prompt
from draftmark.suites.reading.table_prompts import choose_prompts
from draftmark.suites.reading.tables import FileTable, HubTable
from draftmark.suites.training_data import caution_for

if TYPE_CHECKING:
    from draftmark.suites.reading.tables import Table

Name = Annotated[str, Field(min_length=1, max_length=100)]
Revision = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w./-]{0,99}$")]


class _TableSpec(SuiteSpec):
    """What both have in common."""

    columns: Columns | None = None
    """What each column holds; null for columns that are named as in a jsonl suite."""
    name: Name | None = None
    """Name of the suite."""
    allow_repeats: bool = False
    """Take a table in which three or more rows ask the same thing."""

    @field_validator("columns")
    @classmethod
    def _one_text(cls, columns: Columns | None) -> Columns | None:
        problem = columns_problem(columns)
        if problem is not None:
            raise ValueError(problem)
        return columns

    def _suite(self, table: Table, name: str, called: str) -> Suite:
        """Load a table; `called` is the name of file or dataset by which training data are known."""
        chosen = choose_prompts(
            table,
            lambda row, number: mapped_prompt(row, number, self.columns, name),
            limit=self.limit,
            seed=self.subset_seed,
            allow_repeats=self.allow_repeats,
        )
        return Suite(
            name=self.name or name,
            prompts=chosen.prompts,
            source=table.origin,
            selection=chosen.selection,
            caution=caution_for(called),
        )


class ParquetSpec(_TableSpec):
    """A parquet file of prompts, or a folder of them."""

    kind: Literal["parquet"] = "parquet"
    path: Annotated[str, Field(min_length=1)]
    """File or folder, relative to the working directory."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read and check the file, take the subset; raise `SuiteError` with file, row and column. Needs no renderer."""
        return self._suite(FileTable(Path(self.path)), Path(self.path).stem, Path(self.path).name)


class HfSpec(_TableSpec):
    """One split of a dataset on the Hugging Face hub. Tried against a loopback hub only."""

    kind: Literal["hf"] = "hf"
    dataset: Annotated[str, Field(pattern=r"^[\w.-]+(/[\w.-]+)?$", max_length=200)]
    """As on the hub: owner/name."""
    config: Name | None = None
    """Configuration of the dataset, which the hub calls subset; its default where null."""
    split: Name
    revision: Revision | None = None
    """Commit, tag or branch; the newest where null, which another day may be another suite."""

    def load(self, renderer: PromptRenderer | None) -> Suite:
        """Read the split, take the subset; raise `SuiteError` where it cannot be had. Needs no renderer."""
        table = HubTable(self.dataset, self.config, self.split, self.revision)
        return self._suite(table, self.dataset.rpartition("/")[2], self.dataset)
