"""Draftmark: benchmarks of speculative decoding that can be trusted, and say how they were got.

`draftmark.load("runs/x")` opens a run: `.frame()` gives its numbers as a pandas frame, `.turns()` and `.steps()` the
raw records, `.summary()` everything with reasons and lamps. Importing the package itself loads nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from draftmark.results.frames import LoadedRun

    __version__: str

__all__ = ["__version__", "load"]


def load(path: str | os.PathLike[str]) -> LoadedRun:
    """Open a run folder to look at, whether it is finished, partial or still running.

    Raises `draftmark.results.errors.ResultsError` if the folder is no run, damaged, or written by a newer Draftmark.
    """
    from draftmark.results import frames

    return frames.load(path)


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("draftmark")
    raise AttributeError(f"module 'draftmark' has no attribute {name!r}")
