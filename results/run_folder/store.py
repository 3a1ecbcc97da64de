"""The run folder: append-only, crash-safe and resumable; one writer at a time, any number of readers.

    manifest.json                          plan, resolved settings, environment, hashes, status; replaced atomically
    prompts.jsonl                          what was asked
    cells/<cell>/turns.jsonl               one line per finished turn, the truth
    cells/<cell>/divergences.jsonl         where outputs left the baseline's; replaced atomically
    cells/<cell>/engine.json               engine facts of the measured window
    summary.json                           derived; rebuilt from the above at any time

The per-step counts and times of a turn ride inside its line, so that one write makes a turn durable: after a kill at
any byte a turn is there wholly, or its torn line ends the file and is dropped when the run resumes. A line is handed to
the system at once (the process may die then); the disk itself is asked to follow whenever the manifest is replaced and
at close.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from draftmark.results.errors import ResultsError, StoreWriteError
from draftmark.results.run_folder.durable import (
    LOCK_NAME,
    TMP_SUFFIX,
    FolderLock,
    append_line,
    make_folder,
    make_subfolder,
    replace_file,
    sync,
    truncate,
    write_fault,
)
from draftmark.results.run_folder.naming import cell_folder_name, new_run_folder
from draftmark.results.run_folder.planned import plan_differences
from draftmark.results.run_folder.reader import (
    DIVERGENCES,
    ENGINE,
    MANIFEST,
    PROMPTS,
    SUMMARY,
    TURNS,
    RunReader,
    TurnKey,
    read_manifest,
    turn_key,
    turn_name,
)
from draftmark.results.run_folder.strict_json import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from draftmark.results.records import Divergence, PromptRecord, RunManifest, TurnRecord
    from draftmark.results.records.base import Record
    from draftmark.results.summary import RunSummary

__all__ = ["RunStore", "TurnKey", "new_run_folder", "turn_key"]


@dataclass
class _TurnFile:
    """What the writer knows of one `turns.jsonl`: its bytes so far and the turns in it."""

    size: int = 0
    keys: set[TurnKey] = field(default_factory=set)


def _nothing_in(folder: Path) -> str:
    """Say that a run's folder may go, where not one turn is in it: it never came to measuring."""
    turns = any(path.stat().st_size for path in folder.glob("cells/*/turns.jsonl"))
    return "" if turns else " It holds no turn, so that nothing is lost if you delete it."


class RunStore(RunReader):
    """One run folder, open for reading, and for writing if it came from `create` or `resume`."""

    def __init__(self, path: Path, manifest: RunManifest, lock: FolderLock | None) -> None:
        """Prefer `create`, `resume` or `read`."""
        super().__init__(path, manifest)
        self._lock = lock
        self._files: dict[str, _TurnFile] = {}

    @classmethod
    def create(cls, folder: Path, manifest: RunManifest) -> RunStore:
        """Start a run in a folder that does not exist yet or is empty, and lock it.

        Raises `ResultsError` if the folder holds anything, and `StoreWriteError` if it cannot be written or is taken.
        """
        folder = Path(folder)
        make_folder(folder)
        _must_be_empty(folder)  # before the lock file is put into a folder of someone else's
        lock = FolderLock(folder)
        try:
            _must_be_empty(folder)
            store = cls(folder, manifest, lock)
            store.update_manifest(manifest)
        except BaseException:
            lock.release()
            raise
        return store

    @classmethod
    def resume(cls, folder: Path, manifest: RunManifest) -> RunStore:
        """Go on with a run of the same plan: lock it, check every turn, drop torn last lines.

        `manifest` is what the caller would start with now. If its plan, models, suites or cells differ from the stored
        ones, `ResultsError` lists the differing keys as `path: old -> new`. The store's manifest is the stored one,
        earlier sessions included; the caller adds its own session by `update_manifest`. Turns that are damaged
        elsewhere than in a torn last line raise `ResultsError`; a folder that cannot be written or is taken raises
        `StoreWriteError`.
        """
        folder = Path(folder)
        read_manifest(folder)  # a foreign folder is named before anything is written into it
        lock = FolderLock(folder)
        try:
            stored = read_manifest(folder)
            differences = plan_differences(stored, manifest)
            if differences:
                listed = "\n".join(f"  {line}" for line in differences)
                raise ResultsError(
                    f"{folder} was started with other settings, so it cannot be resumed with these:\n{listed}\n"
                    f"Use the settings it was started with, or a new folder.{_nothing_in(folder)}"
                )
            store = cls(folder, stored, lock)
            for cell in stored.cells:
                store._files[cell.cell_id] = store._repaired(cell.cell_id)
        except BaseException:
            lock.release()
            raise
        return store

    @classmethod
    def read(cls, folder: Path) -> RunStore:
        """Open a run to read; works for running, partial and interrupted runs and in read-only folders.

        Raises `ResultsError` naming the folder or file if it is no run, damaged, or written by a newer Draftmark.
        """
        folder = Path(folder)
        return cls(folder, read_manifest(folder), None)

    def update_manifest(self, manifest: RunManifest) -> None:
        """Replace the manifest atomically; cells that were there before must still be there."""
        self._writable()
        ids = [cell.cell_id for cell in manifest.cells]
        if len({cell_folder_name(cell_id) for cell_id in ids}) != len(ids):
            raise ResultsError(f"the manifest of {self.path} names a cell twice; every cell needs an id of its own")
        lost = sorted({cell.cell_id for cell in self.manifest.cells} - set(ids))
        if lost or manifest.run_id != self.manifest.run_id:
            raise ResultsError(f"the manifest of {self.path} cannot change its run id or drop cells ({lost})")
        self._sync_turns()
        replace_file(self.path / MANIFEST, encode(manifest, indent=2) + b"\n")
        self._manifest = manifest
        self._cell_ids = frozenset(ids)

    def write_prompts(self, prompts: Iterable[PromptRecord]) -> None:
        """Write what is asked, replacing an earlier list."""
        self._writable()
        replace_file(self.path / PROMPTS, _lines(prompts))

    def append_turn(self, turn: TurnRecord) -> None:
        """Record one finished turn, ok or failed.

        When this returns the turn survives the death of the process. Raises `ResultsError` for a cell that the manifest
        does not name and for a turn recorded already, `StoreWriteError` where the disk refuses; then nothing of the
        turn is left behind, and the next append works if the disk does.
        """
        self._writable()
        path = self._cell(turn.cell_id) / TURNS
        # Taken out while in doubt: should the write fail midway, the next append looks at the file anew.
        known = self._files.pop(turn.cell_id, None) or self._repaired(turn.cell_id)
        key = turn_key(turn)
        if key in known.keys:
            self._files[turn.cell_id] = known
            raise ResultsError(f"{path}: {turn_name(turn)} is recorded already; a turn is measured once")
        if known.size == 0:
            make_subfolder(self.path, path.parent)
        known.size = append_line(path, encode(turn), size=known.size)
        known.keys.add(key)
        self._files[turn.cell_id] = known

    def write_divergences(self, cell_id: str, rows: Sequence[Divergence]) -> None:
        """Write where a cell's outputs left the baseline's, replacing an earlier list; empty means none were found."""
        self._replace_in_cell(cell_id, DIVERGENCES, _lines(rows))

    def write_engine(self, cell_id: str, facts: dict[str, Any]) -> None:
        """Write engine facts of a cell's measured window (plain JSON values), replacing earlier ones."""
        self._replace_in_cell(cell_id, ENGINE, encode(facts, indent=2) + b"\n")

    def write_summary(self, summary: RunSummary) -> None:
        """Write the derived summary, replacing an earlier one."""
        self._writable()
        replace_file(self.path / SUMMARY, encode(summary, indent=2) + b"\n")

    def close(self) -> None:
        """Put everything on the disk and let go of the lock; safe to call twice."""
        lock, self._lock = self._lock, None
        if lock is not None:
            try:
                self._sync_turns()
            finally:
                lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _writable(self) -> None:
        if self._lock is None:
            raise StoreWriteError(f"{self.path} is open for reading only (or closed); resume the run to write to it")

    def _replace_in_cell(self, cell_id: str, name: str, data: bytes) -> None:
        self._writable()
        folder = self._cell(cell_id)
        make_subfolder(self.path, folder)
        replace_file(folder / name, data)

    def _repaired(self, cell_id: str) -> _TurnFile:
        """Read a cell's turns, cut a torn last line off, and end a complete one that lacks its line break."""
        known = _TurnFile()
        for turn, end in self.checked_turns(cell_id):
            known.size = end
            known.keys.add(turn_key(turn))
        path = self._cell(cell_id) / TURNS
        if path.exists():
            truncate(path, known.size)
            if known.size and not _ends_line(path):
                known.size = append_line(path, b"", size=known.size)
        return known

    def _sync_turns(self) -> None:
        for cell_id in self._files:
            path = self._cell(cell_id) / TURNS
            try:
                if path.exists():
                    sync(path)
            except OSError as fault:
                raise write_fault(path, fault) from fault


def _must_be_empty(folder: Path) -> None:
    leftovers = {LOCK_NAME, MANIFEST + TMP_SUFFIX}
    try:
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in leftovers)
    except OSError as fault:
        raise write_fault(folder, fault) from fault
    if MANIFEST in others:
        raise ResultsError(f"{folder} already holds a run; resume it, or choose a new folder")
    if others:
        raise ResultsError(f"{folder} is not empty (it holds {others[0]!r}); choose a new or empty folder")


def _lines(records: Iterable[Record]) -> bytes:
    return b"".join(encode(record) + b"\n" for record in records)


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
