"""The folder that `draftmark suites fetch speed-bench` fills: resolved splits, finished sources, accepted licences.

- `licences.json`: source to what was shown and accepted
- `wording-<commit>.py`: the preparer's prompt texts, read as data
- `files/`: files of sources that are not on the hub
- `<revision>/<config>/rows.jsonl`: rows as published
- `<revision>/<config>/source-<name>.jsonl`: texts of one finished source
- `<revision>/<config>/test.jsonl`: rows with every text that was resolved
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from draftmark.results.cache_folder import cache_root
from draftmark.results.run_folder.durable import make_folder, replace_file
from draftmark.results.run_folder.naming import slug
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from draftmark.suites.loaders.speed_bench.splits import Split
    from draftmark.suites.reading.rows import Row


def folder() -> Path:
    """Return the folder of everything; it may not exist."""
    return cache_root() / "suites" / "speed-bench"


def split_folder(split: Split, revision: str) -> Path:
    """Return the folder of one split at one revision; it may not exist."""
    return folder() / slug(revision, limit=60) / split.config


def published(split: Split, revision: str) -> Path:
    """Return the file of the rows as published."""
    return split_folder(split, revision) / "rows.jsonl"


def resolved(split: Split, revision: str) -> Path:
    """Return the file of the rows with their texts."""
    return split_folder(split, revision) / "test.jsonl"


def is_fetched(split: Split) -> bool:
    """Say whether a split's rows with their texts are here, at its pinned revision or, where none is pinned, at any."""
    if split.revision is not None:
        return resolved(split, split.revision).is_file()
    return any(folder().glob(f"*/{split.config}/test.jsonl"))


def finished(split: Split, revision: str, source: str) -> Path:
    """Return the file of one source's texts."""
    return split_folder(split, revision) / f"source-{slug(source, limit=60)}.jsonl"


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as JSON lines, whole or not at all; raises `StoreWriteError`."""
    make_folder(path.parent)
    replace_file(path, b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))


def accepted_licences() -> dict[str, dict[str, Any]]:
    """Return the licences that were accepted on this machine, by source."""
    path = folder() / "licences.json"
    try:
        read = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as fault:
        raise SuiteError(f"{path} cannot be read ({fault}); delete it, and accept the licences again") from fault
    if not isinstance(read, dict):
        raise SuiteError(f"{path} holds no object; delete it, and accept the licences again")
    return read


def accept(source: str, licence: str, page: str) -> None:
    """Record that a source's licence was shown and accepted."""
    from datetime import UTC, datetime

    known = accepted_licences()
    known[source] = {"licence": licence, "page": page, "accepted_at": datetime.now(UTC).isoformat(timespec="seconds")}
    make_folder(folder())
    replace_file(folder() / "licences.json", json.dumps(known, indent=2).encode())
