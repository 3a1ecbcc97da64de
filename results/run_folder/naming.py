"""Names of run and cell folders: any text a user may give becomes one harmless path component."""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from draftmark.results.errors import StoreWriteError
from draftmark.results.run_folder.durable import make_folder, write_fault

if TYPE_CHECKING:
    from pathlib import Path

_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]{0,99}")
_TRIES = 100


def slug(text: str, *, limit: int) -> str:
    """Return lower-case words of a text joined by `-`, at most `limit` characters, never empty."""
    words = re.sub(r"[^a-z0-9._]+", "-", text[: 4 * limit].lower())
    return words[:limit].strip("-._") or "unnamed"


def cell_folder_name(cell_id: str) -> str:
    """Return the folder name of a cell: its id where that is harmless, else a slug with a hash of the id.

    The same id always gives the same name; it is one path component and never `.` or `..`.
    """
    if _HARMLESS.fullmatch(cell_id):
        return cell_id
    digest = hashlib.sha256(cell_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{slug(cell_id, limit=60)}-{digest}"


def new_run_folder(root: Path, name: str, *, now: datetime | None = None) -> Path:
    """Make a new, empty folder such as `2026-11-29T21-04-07Z-demo-3f9c` under `root` and return it.

    The folder is made exclusively, so two runs of one second never share one. `now` defaults to the clock. Raises
    `StoreWriteError`.
    """
    stamp = (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    make_folder(root)
    for _ in range(_TRIES):
        folder = root / f"{stamp}-{slug(name, limit=40)}-{secrets.token_hex(2)}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError as fault:
            raise write_fault(folder, fault) from fault
        return folder
    raise StoreWriteError(f"cannot find a free folder name under {root} for a run named {slug(name, limit=40)}")
