"""Where rows come from: local files (parquet, JSON lines, a JSON array) or a split of a dataset on the hub."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading import hub
from draftmark.suites.reading.files import parquet_parts, rows_of
from draftmark.suites.reading.json_arrays import json_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from draftmark.suites.reading.files import Read

FORMATS = (".parquet", ".jsonl", ".json")


class Table(Protocol):
    """Rows that can be read more than once, each time in the same order."""

    @property
    def origin(self) -> str:
        """Where the rows come from, in words."""
        ...

    def rows(self, only: Collection[int] | None = None) -> Iterator[Read]:
        """Yield the rows, or those of these numbers alone; raises `SuiteError` where they cannot be had."""
        ...


@dataclass(frozen=True)
class FileTable:
    """Rows of a file, or of all files of one format in a folder, by name."""

    path: Path

    @property
    def origin(self) -> str:
        """The path."""
        return str(self.path)

    def rows(self, only: Collection[int] | None = None) -> Iterator[Read]:
        """Return the rows; a file without an ending of `FORMATS` is read as JSON."""
        files = self._files()
        return rows_of(files, parquet_parts if files[0].suffix == ".parquet" else json_parts, only)

    def _files(self) -> Sequence[Path]:
        path = self.path.expanduser()
        if path.is_file():
            return [path]
        if not path.exists():
            raise SuiteError(f"there is no file or folder {path} (looked from {Path.cwd()})")
        if not path.is_dir():
            raise SuiteError(f"{path} is a pipe or device; a suite needs a file, which it reads twice")
        for suffix in FORMATS:
            if found := sorted(path.glob(f"*{suffix}")):
                return found
        raise SuiteError(f"{path} holds no file that ends in {', '.join(FORMATS)}")


@dataclass(frozen=True)
class HubTable:
    """Rows of one split of a dataset on the Hugging Face hub, loaded once. Tried against a loopback hub only."""

    dataset: str
    config: str | None
    split: str
    revision: str | None

    @property
    def origin(self) -> str:
        """Dataset, config, split and revision."""
        config = "" if self.config is None else f", {self.config}"
        return f"{self.dataset}{config}, {self.split}, at {self.revision or 'the newest revision'}"

    def rows(self, only: Collection[int] | None = None) -> Iterator[Read]:
        """Yield the rows; the library keeps them on disk and hands out one at a time."""
        for number in range(len(self._loaded)) if only is None else sorted(only):
            yield number, f"{self.dataset}, {self.split}, row {number + 1}", dict(self._loaded[number])

    @cached_property
    def _loaded(self) -> Any:
        """Without a revision, loading again could give another one."""
        try:
            return hub.load_rows(self.dataset, self.config, self.revision, split=self.split)
        except hub.HubError as fault:
            cause = fault.__cause__
            if isinstance(cause, ValueError) and ("split" in str(cause).lower() or "config" in str(cause).lower()):
                config = "" if self.config is None else f" in its config {self.config!a}"
                raise SuiteError(
                    f"the dataset {self.dataset} has no split {self.split!a}{config}; its page names them"
                ) from cause
            raise


def table_of(path: str | None, published: HubTable) -> Table:
    """Return the plan's own file or folder, or what is published on the hub where there is none."""
    return published if path is None else FileTable(Path(path))
