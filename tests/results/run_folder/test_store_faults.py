"""Disks that fill up, folders that vanish and processes that are killed: what was written stays, whole and readable."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.errors import StoreWriteError
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.records import RunManifest, TurnRecord

    MakeManifest = Callable[..., RunManifest]
    MakeTurn = Callable[..., TurnRecord]

REAL_WRITE = os.write


def names(folder: Path) -> list[str]:
    return [turn.question_id for turn in RunStore.read(folder).turns("none")]


def turns_file(folder: Path) -> Path:
    return folder / "cells/none/turns.jsonl"


def test_a_system_that_takes_few_bytes_at_a_time_gets_them_all(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda handle, data: REAL_WRITE(handle, bytes(data[:7])))
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
    assert list(RunStore.read(tmp_path / "run").turns("none")) == [make_turn("p1")]


def test_a_turn_that_fits_only_in_part_leaves_nothing_and_later_turns_are_whole(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = [30]

    def full_disk(handle: int, data: Any) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = REAL_WRITE(handle, bytes(data[: room[0]]))
        room[0] -= taken
        return taken

    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        whole = turns_file(tmp_path / "run").read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full_disk)
            with pytest.raises(
                StoreWriteError, match=r"cannot write .*turns\.jsonl: the disk is full.*resume"
            ) as caught:
                store.append_turn(make_turn("p2"))
        assert caught.value.exit_code == 3
        assert turns_file(tmp_path / "run").read_bytes() == whole
        store.append_turn(make_turn("p2"))
        store.append_turn(make_turn("p3"))
    assert names(tmp_path / "run") == ["p1", "p2", "p3"]


def test_a_torn_line_that_cannot_be_cut_off_never_ends_up_between_turns(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_write(handle: int, data: Any) -> int:
        if len(data) > 100:
            return REAL_WRITE(handle, bytes(data[:100]))
        raise OSError(errno.EIO, "Input/output error")

    def failing_truncate(handle: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing_write)
            patch.setattr(os, "ftruncate", failing_truncate)
            with pytest.raises(StoreWriteError, match="Input/output error"):
                store.append_turn(make_turn("p2"))
        assert names(tmp_path / "run") == ["p1"]
        store.append_turn(make_turn("p2"))
        store.append_turn(make_turn("p3"))
    assert names(tmp_path / "run") == ["p1", "p2", "p3"]


def test_a_real_limit_on_file_size_ends_with_a_sentence(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (turns_file(tmp_path / "run").stat().st_size + 50, hard))
        try:
            with pytest.raises(StoreWriteError, match="allowed size"):
                store.append_turn(make_turn("p2"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert names(tmp_path / "run") == ["p1"]
        store.append_turn(make_turn("p2"))
    assert names(tmp_path / "run") == ["p1", "p2"]


def test_a_manifest_that_does_not_fit_leaves_the_old_one(
    tmp_path: Path, make_manifest: MakeManifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(handle: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full_disk)
            with pytest.raises(StoreWriteError, match="disk is full"):
                store.update_manifest(make_manifest(status="complete"))
        assert store.manifest.status == "running"
    assert RunStore.read(tmp_path / "run").manifest == make_manifest()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".lock", "manifest.json"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EDQUOT, "quota"),
        (errno.EMFILE, "Too many"),
    ],
)
def test_folders_that_cannot_be_written_are_told_apart(
    tmp_path: Path, make_manifest: MakeManifest, monkeypatch: pytest.MonkeyPatch, code: int, sentence: str
) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise OSError(code, os.strerror(code))

    (tmp_path / "run").mkdir()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreWriteError, match=sentence):
        RunStore.create(tmp_path / "run", make_manifest())


def test_a_path_through_a_file_cannot_hold_a_run(tmp_path: Path, make_manifest: MakeManifest) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file/run"):
        with pytest.raises(StoreWriteError, match="cannot write"):
            RunStore.create(folder, make_manifest())


@pytest.mark.parametrize("gone", ["the run folder", "the cell's folder", "the file"])
def test_a_folder_removed_during_the_run_is_noticed_at_the_next_turn(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn, gone: str
) -> None:
    run = tmp_path / "run"
    store = RunStore.create(run, make_manifest())
    store.append_turn(make_turn("p1"))
    if gone == "the file":
        turns_file(run).unlink()
    else:
        shutil.rmtree(run if gone == "the run folder" else run / "cells/none")
    with pytest.raises(StoreWriteError, match="gone"):
        store.append_turn(make_turn("p2"))
    store.close()
    assert run.exists() == (gone != "the run folder")


def test_a_folder_removed_before_its_first_turn_is_not_made_again(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    store = RunStore.create(tmp_path / "run", make_manifest())
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(StoreWriteError, match="gone"):
        store.append_turn(make_turn())
    with pytest.raises(StoreWriteError, match="gone"):
        store.write_engine("none", {})
    with pytest.raises(StoreWriteError, match="gone"):
        store.update_manifest(make_manifest())
    store.close()
    assert not (tmp_path / "run").exists()


def test_a_file_that_another_program_writes_to_is_not_written_over(
    tmp_path: Path, make_manifest: MakeManifest, make_turn: MakeTurn
) -> None:
    with RunStore.create(tmp_path / "run", make_manifest()) as store:
        store.append_turn(make_turn("p1"))
        with turns_file(tmp_path / "run").open("ab") as file:
            file.write(make_turn("p9").model_dump_json().encode() + b"\n")
        with pytest.raises(StoreWriteError, match="another program changed it"):
            store.append_turn(make_turn("p2"))
    assert names(tmp_path / "run") == ["p1", "p9"]


WRITER = """
import sys
from pathlib import Path
from draftmark.results.records import RunManifest, TurnRecord
from draftmark.results.run_folder.store import RunStore

folder, manifest = Path(sys.argv[1]), RunManifest.model_validate_json(sys.argv[2])
started = (folder / "manifest.json").exists()
store = RunStore.resume(folder, manifest) if started else RunStore.create(folder, manifest)
print("ready", flush=True)
finished = store.finished("none")
for index in range(120):
    if (f"p{index}", 0, 0) not in finished:
        turn = TurnRecord(cell_id="none", question_id=f"p{index}", prompt_hash="c" * 64, output_ids=[index] * 20_000)
        store.append_turn(turn)
        print(f"p{index}", flush=True)
store.close()
"""


def test_killed_at_random_moments_and_resumed_a_run_has_every_turn_once(
    tmp_path: Path, make_manifest: MakeManifest
) -> None:
    chance = random.Random(7)
    command = [sys.executable, "-c", WRITER, str(tmp_path / "run"), make_manifest().model_dump_json()]
    told: list[str] = []
    for _ in range(5):
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.02))
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        # A turn reported as recorded is never lost.
        assert set(told) <= set(names(tmp_path / "run"))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert names(tmp_path / "run") == [f"p{index}" for index in range(120)]
