"""Reading a run folder: the manifest, what was asked, and every turn, streamed and checked line by line."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from draftmark.results.errors import ResultsError
from draftmark.results.records import Divergence, PromptRecord, RunManifest, TurnRecord
from draftmark.results.run_folder.naming import cell_folder_name
from draftmark.results.run_folder.strict_json import decode
from draftmark.results.run_folder.unusable import read_turn
from draftmark.results.run_folder.upgrade import AnyRecord, read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST, PROMPTS, SUMMARY = "manifest.json", "prompts.jsonl", "summary.json"
TURNS, DIVERGENCES, ENGINE = "turns.jsonl", "divergences.jsonl", "engine.json"

TurnKey = tuple[str, int | None, str, int, int]
"""(phase, session if warm-up else null, question_id, turn_index, repeat): unique within a cell."""


def turn_key(turn: TurnRecord) -> TurnKey:
    """Return what makes a turn unique within its cell."""
    session = turn.session if turn.phase == "warmup" else None
    return (turn.phase, session, turn.question_id, turn.turn_index, turn.repeat)


def turn_name(turn: TurnRecord) -> str:
    """Return the words by which messages name a turn."""
    return f"{turn.phase} turn {turn.turn_index} of {turn.question_id!r}, repeat {turn.repeat},"


class RunReader:
    """One run folder, as far as it was written; running, partial and interrupted runs read as well."""

    def __init__(self, path: Path, manifest: RunManifest) -> None:
        self.path = path
        self._manifest = manifest
        self._cell_ids = frozenset(cell.cell_id for cell in manifest.cells)
        self._folders: dict[str, Path] = {}

    @property
    def manifest(self) -> RunManifest:
        """The manifest as read or last written."""
        return self._manifest

    def prompts(self) -> list[PromptRecord]:
        """Return what was asked; empty where it was not written yet."""
        return [record for record, _, _ in read_lines(self.path / PROMPTS, PromptRecord)]

    def turns(self, cell_id: str, *, phase: str | None = "measured") -> Iterator[TurnRecord]:
        """Yield a cell's turns in the order they finished, one at a time; `phase` null yields warm-ups as well.

        A torn last line (a writer is at work, or was killed) is left out. Raises `ResultsError` naming file and line
        for damage elsewhere, a turn of another cell, or a turn that is there twice.
        """
        for turn, _ in self.checked_turns(cell_id):
            if phase is None or turn.phase == phase:
                yield turn

    def finished(self, cell_id: str) -> set[tuple[str, int, int]]:
        """Return (question_id, turn_index, repeat) of every measured turn on record, failed ones included."""
        return {(turn.question_id, turn.turn_index, turn.repeat) for turn in self.turns(cell_id)}

    def divergences(self, cell_id: str) -> list[Divergence]:
        """Return a cell's divergences; empty where none were found or looked for (see `divergences_checked`)."""
        return [row for row, _, _ in read_lines(self._cell(cell_id) / DIVERGENCES, Divergence)]

    def divergences_checked(self, cell_id: str) -> bool:
        """Say whether the cell's outputs were compared at all."""
        return (self._cell(cell_id) / DIVERGENCES).exists()

    def engine(self, cell_id: str) -> dict[str, Any] | None:
        """Return the engine facts of a cell; null where there are none."""
        path = self._cell(cell_id) / ENGINE
        data = _read_file(path)
        if data is None:
            return None
        facts = decode(data, str(path))
        if not isinstance(facts, dict):
            raise ResultsError(f"{path}: not a JSON object; the file is damaged or foreign")
        if not _holds_windows(facts):
            raise ResultsError(f"{path}: `windows` is no list of counters; the file is damaged or foreign")
        return facts

    def _cell(self, cell_id: str) -> Path:
        folder = self._folders.get(cell_id)
        if folder is not None:
            return folder
        if cell_id not in self._cell_ids:
            raise ResultsError(f"{self.path} has no cell {cell_id[:200]!r}; its manifest names every cell it has")
        return self._folders.setdefault(cell_id, self.path / "cells" / cell_folder_name(cell_id))

    def checked_turns(self, cell_id: str) -> Iterator[tuple[TurnRecord, int]]:
        """Yield turns with the number of bytes up to each one's end, its line break included where it is there."""
        path = self._cell(cell_id) / TURNS
        seen: set[TurnKey] = set()
        for turn, where, end in read_lines(path, TurnRecord, read_turn):
            if turn.cell_id != cell_id:
                raise ResultsError(f"{where}: a turn of cell {turn.cell_id!r}, not of {cell_id!r}")
            key = turn_key(turn)
            if key in seen:
                raise ResultsError(f"{where}: {turn_name(turn)} is there twice; a turn is measured once")
            seen.add(key)
            yield turn, end


def read_manifest(folder: Path) -> RunManifest:
    """Return the manifest of a run folder; raise `ResultsError` naming what is foreign, damaged or newer."""
    path = folder / MANIFEST
    data = _read_file(path)
    if data is None and not os.path.lexists(folder):
        raise ResultsError(f"there is no run folder {folder}")
    if data is None:
        raise ResultsError(f"{folder} is no run folder of Draftmark: it has no {MANIFEST}")
    value = decode(data, str(path))
    if not isinstance(value, dict) or value.get("kind") != "draftmark-run":
        raise ResultsError(f"{path} is no manifest of a Draftmark run (its kind is not 'draftmark-run')")
    return read_record(RunManifest, data, str(path))


def _regular(path: Path) -> None:
    """Refuse pipes and devices, whose reading might never end; a missing file is the caller's to judge."""
    if path.exists() and not path.is_file():
        raise ResultsError(f"cannot read {path}: it is not a regular file")


def _read_file(path: Path) -> bytes | None:
    try:
        _regular(path)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        raise ResultsError(f"cannot read {path}: {fault.strerror or fault}") from fault


def read_lines(
    path: Path, model: type[AnyRecord], read: Callable[[bytes, str], AnyRecord] | None = None
) -> Iterator[tuple[AnyRecord, str, int]]:
    """Yield each line as (record, "file, line n", bytes up to its end); nothing where there is no file.

    `read` makes a record of a line and its place; null for `read_record`.

    Lines end at byte 10 alone. A last line without it is kept if it is complete JSON and otherwise left out as torn.
    """
    end = 0
    try:
        _regular(path)
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if not raw.endswith(b"\n") and not _is_json(raw):
                    return
                end += len(raw)
                where = f"{path}, line {number}"
                record = read_record(model, raw, where) if read is None else read(raw, where)
                yield record, where, end
    except FileNotFoundError:
        return
    except OSError as fault:
        raise ResultsError(f"cannot read {path}: {fault.strerror or fault}") from fault


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _holds_windows(facts: dict[str, Any]) -> bool:
    """Whether the windows, where there are any, are objects whose counters are numbers or null."""
    windows = facts.get("windows", [])
    if not isinstance(windows, list) or not all(isinstance(window, dict) for window in windows):
        return False
    sides = [window[side] for window in windows for side in ("before", "after") if side in window]
    whole = all(("before" in window) == ("after" in window) for window in windows)
    return whole and all(isinstance(side, dict) and all(map(_counts, side.values())) for side in sides)


def _counts(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
