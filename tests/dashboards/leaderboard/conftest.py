from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.leaderboard.entries import read_entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from draftmark.dashboards.leaderboard.entries import Entry


@pytest.fixture(scope="session")
def folders() -> ModuleType:
    """The builder of real run folders."""
    spec = importlib.util.spec_from_file_location("folders", Path(__file__).with_name("folders.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def entered(folders: ModuleType, tmp_path: Path) -> Callable[..., list[Entry]]:
    """Write a run and return its entries."""

    def write(speedups: dict[str, float] | None = None, *, run: str = "run", **facts: object) -> list[Entry]:
        speedups = {"none": 1.0, "ngram": 1.5} if speedups is None else speedups
        return read_entries(folders.write_run(tmp_path / run, speedups, **facts))[1]

    return write
