"""The folder in which Draftmark keeps what it fetched."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Return Draftmark's cache folder: `$DRAFTMARK_CACHE`, else `draftmark` in the user's cache; it may not exist."""
    own = os.environ.get("DRAFTMARK_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "draftmark"
