"""Writing that survives kill -9 and full disks: atomic replacement, whole-line appends and an exclusive lock.

Every failure to write becomes a `StoreWriteError` with a sentence that says which file, why, and what to do.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from draftmark.results.errors import StoreWriteError

if TYPE_CHECKING:
    from pathlib import Path

LOCK_NAME = ".lock"
TMP_SUFFIX = ".tmp"

_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and run again to resume",
    errno.EDQUOT: "the disk quota is used up; free some space and run again to resume",
    errno.EFBIG: "the file would grow beyond the allowed size; raise the limit (ulimit -f) and run again to resume",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.EACCES: "permission denied; choose a folder you may write to",
    errno.EPERM: "permission denied; choose a folder you may write to",
    errno.ENOENT: "the folder is gone, or was never there; check the path",
    errno.ENOTDIR: "a part of the path is a file, not a folder; choose another folder",
    errno.EEXIST: "something that is no folder has that name; name another folder",
    errno.ENAMETOOLONG: "the path is too long; choose a shorter one",
}


def write_fault(path: Path, fault: OSError) -> StoreWriteError:
    """Return the sentence for a failed write."""
    advice = _ADVICE.get(fault.errno or 0, f"{fault.strerror or fault}")
    return StoreWriteError(f"cannot write {path}: {advice}. What was written before stays readable.")


def make_folder(path: Path) -> None:
    """Make a folder and its parents; one that exists is fine."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise write_fault(path, fault) from fault


def make_subfolder(root: Path, path: Path) -> None:
    """Make the folders between `root` and `path`, but never `root` itself: a run folder that vanished stays gone."""
    try:
        for folder in [*reversed(path.relative_to(root).parents[:-1]), path.relative_to(root)]:
            (root / folder).mkdir(exist_ok=True)
    except OSError as fault:
        raise write_fault(path, fault) from fault


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in place of a file: readers and a kill at any moment see the old bytes or the new, never a part."""
    new = path.with_name(path.name + TMP_SUFFIX)
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _write_all(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)
        new.replace(path)
        sync(path.parent)
    except OSError as fault:
        with suppress(OSError):
            new.unlink()
        raise write_fault(path, fault) from fault


def append_line(path: Path, line: bytes, *, size: int) -> int:
    """Append one line to a file of `size` bytes and return its new size.

    The line goes out in one write, so it is there wholly or, after a kill, as a torn tail. Where the disk takes only
    a part of it, the part is cut off again. Raises `StoreWriteError`, also if the file is not of that size any more.
    """
    data = line + b"\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | (0 if size else os.O_CREAT), 0o644)
        try:
            found = os.fstat(handle).st_size
            if found != size:
                raise StoreWriteError(
                    f"cannot write {path}: it has {found} bytes where this run left {size}; another program changed it"
                )
            try:
                _write_all(handle, data)
            except OSError:
                os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
    except OSError as fault:
        raise write_fault(path, fault) from fault
    return size + len(data)


def truncate(path: Path, size: int) -> None:
    """Cut a file to its first `size` bytes."""
    try:
        os.truncate(path, size)
    except OSError as fault:
        raise write_fault(path, fault) from fault


def sync(path: Path) -> None:
    """Ask the system to put a file's or folder's content on the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class FolderLock:
    """Holds a folder for one writer; the system lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_NAME
        try:
            self._handle: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as fault:
            raise write_fault(path, fault) from fault
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            self.release()
            raise StoreWriteError(
                f"another process is writing to {folder}; wait for it to end, or choose another folder"
            ) from fault
        except OSError as fault:
            self.release()
            raise write_fault(path, fault) from fault

    def release(self) -> None:
        """Let go; safe to call twice."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(handle, view)
        if written == 0:
            raise OSError(errno.EIO, "the system took no bytes")
        view = view[written:]
