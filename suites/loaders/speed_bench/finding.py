"""Where a split's rows are: the plan's own path, the cache that `suites fetch` fills, or the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from draftmark.suites.loaders.speed_bench import cache
from draftmark.suites.loaders.speed_bench.sources import ROWS
from draftmark.suites.loaders.speed_bench.splits import DATASET, SPLITS, Split
from draftmark.suites.prompt import SuiteError
from draftmark.suites.reading import hub
from draftmark.suites.reading.files import prepared_parts, rows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from draftmark.suites.reading.files import Read


class Found(NamedTuple):
    """The rows of one split as a table: its files, in order, and where they come from in words."""

    files: tuple[Path, ...]
    origin: str

    def rows(self, only: Collection[int] | None = None) -> Iterator[Read]:
        """Return the rows, or those of these numbers alone; raises `SuiteError` where they cannot be had."""
        return rows_of(self.files, prepared_parts, only)


def find(split: Split, path: str | None, revision: str | None) -> Found:
    """Return the files of a split; raise `SuiteError` saying what to do where there are none.

    Without a path and with nothing in the cache, the rows as published are read from the hub into the cache, once its
    licence was accepted by `suites fetch`; their texts are resolved by `suites fetch` alone.
    """
    if path is not None:
        return Found(_local(Path(path).expanduser(), split), path)
    pinned = pinned_revision(split, revision)
    ready = cache.resolved(split, pinned)
    if not ready.is_file():
        if ROWS.name not in cache.accepted_licences():
            raise SuiteError(
                f"speed-bench/{split.name} is not on this machine; run `draftmark suites fetch speed-bench --split "
                f"{split.name}`, which shows its licence first, or give a prepared folder as path"
            )
        ready = fetch_rows(split, pinned)
    return Found((ready,), f"{DATASET} at {pinned[:12]}")


def pinned_revision(split: Split, revision: str | None) -> str:
    """Return the revision that is fetched; raise `SuiteError` for a split that none is pinned for."""
    pinned = revision or split.revision
    if pinned is None:
        raise SuiteError(
            f"speed-bench/{split.name} came with v1.1 of {DATASET}, for which no revision is pinned; name one as "
            "`revision` (a commit of that dataset), or give a prepared file as path"
        )
    return pinned


def fetch_rows(split: Split, revision: str) -> Path:
    """Return the file of the rows as published, reading them from the hub once; raises `SuiteError`."""
    target = cache.published(split, revision)
    if not target.is_file():
        cache.write_rows(target, map(dict, hub.load_rows(DATASET, split.config, revision)))
    return target


def _local(path: Path, split: Split) -> tuple[Path, ...]:
    """Return the files that a path stands for: itself, or what preparers write into a folder."""
    if path.is_file():
        _refuse_other_split(path, split)
        return (path,)
    if not path.exists():
        raise SuiteError(f"there is no file or folder {path} (looked from {Path.cwd()})")
    if not path.is_dir():
        raise SuiteError(f"{path} is a pipe or device; speed-bench needs a folder or a file, which it reads twice")
    config = split.config
    places = [folder / name for folder in (path, path / "speed", path / "data" / "speed") for name in (config,)]
    for folder in places:
        if found := sorted(folder.glob("*.parquet")):
            return tuple(found)
    for name in (f"{config}.jsonl", f"{split.name}.jsonl", f"{config}.parquet"):
        if (path / name).is_file():
            return (path / name,)
    if path.name == config and (found := sorted([*path.glob("*.parquet"), *path.glob("*.jsonl")])):
        return tuple(found)
    raise SuiteError(
        f"{path} holds no rows of {split.name}: neither {config}/test.parquet (nor data/speed/{config}/test.parquet), "
        f"as NVIDIA's prepare_data.py writes, nor {config}.jsonl"
    )


def _refuse_other_split(path: Path, split: Split) -> None:
    if path.suffix not in {".parquet", ".jsonl"}:
        raise SuiteError(f"{path} is neither .parquet nor .jsonl")
    named = {path.stem.replace("-", "_"), path.parent.name.replace("-", "_")}
    others = [other.name for other in SPLITS.values() if other.config in named and other is not split]
    if others and split.config not in named:
        raise SuiteError(f"{path} is named like the split {others[0]}, but the plan asks for {split.name}")
