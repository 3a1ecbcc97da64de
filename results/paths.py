"""Local paths in texts that others read: only their ends, so that nothing tells whose machine it was."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PART = r"[^\s/\"'`,;:()\[\]{}<>|=*?#]+"
_PATH = re.compile(rf"(?:(?<![\w./~\\-])|(?<=file://))(?:~|/{_PART})(?:/{_PART})+/?")
"""An absolute path of two components or more inside a text; no part of a URL."""
_HOME = re.compile(r"/(?:home|Users)/[^/]+/?")
_API = re.compile(r"/v\d+/")
"""What begins like this is a server's address, not a file's."""


def is_local_path(text: str) -> bool:
    """Say whether a whole text is an absolute path of this or another machine; spaces may be in it."""
    if "\n" in text or ":/" in text or not text.startswith(("/", "~/")) or _API.match(text):
        return False
    return len(PurePosixPath(text).parts) > 2 or text.startswith("~/")


def local_paths(text: str) -> list[str]:
    """Return the absolute paths that a text is or holds, in order."""
    if "/" not in text:
        return []
    if is_local_path(text):
        return [text]
    return [found for found in _PATH.findall(text) if not _API.match(found)]


def path_ends(paths: Iterable[str]) -> dict[str, str]:
    """Return what to show of each path: its last component, the last two, or a number, so that no two look alike.

    A home folder is `~`, since its last component is a name.
    """
    found = dict.fromkeys(paths)
    ends = {path: _end(path, 1) for path in found}
    taken = list(ends.values())
    ends = {path: _end(path, 2) if taken.count(end) > 1 else end for path, end in ends.items()}
    shown: dict[str, str] = {}
    for path, end in ends.items():
        numbered = (f"{end} #{number}" for number in range(2, len(found) + 2))
        used = set(shown.values())
        shown[path] = end if end not in used else next(name for name in numbered if name not in used)
    return shown


def shortener(texts: Iterable[str]) -> Callable[[str], str]:
    """Return a function that shows only the ends of the local paths in a text, each the same way everywhere.

    Args:
        texts: Every text that it will be given: a path is shortened so that no other among them looks like it.
    """
    found = list(dict.fromkeys(path for text in texts for path in local_paths(text)))
    ends = path_ends(found)
    longest = sorted((path for path in found if " " in path), key=len, reverse=True)

    def shortened(text: str) -> str:
        if "/" not in text:
            return text
        if text in ends:
            return ends[text]
        for path in longest:  # the pattern would stop at their spaces
            text = text.replace(path, ends[path])
        return _PATH.sub(lambda match: ends.get(match[0], match[0]), text)

    return shortened


def _end(path: str, parts: int) -> str:
    if _HOME.fullmatch(path):
        return "~"
    return "/".join(part for part in PurePosixPath(path).parts[-parts:] if part != "/")
