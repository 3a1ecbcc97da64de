"""What tests of launched servers share."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.servers.launching import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What tests ask of processes."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return importlib.import_module("processes")


@pytest.fixture
def launch(tmp_path: Path, processes: ModuleType) -> Iterator[Callable[..., ServerProcess]]:
    """Start the fake server with these arguments; it is stopped at the end."""
    running: list[ServerProcess] = []

    def start(*arguments: object, **settings: Any) -> ServerProcess:
        settings = {"name": "the fake", "log": tmp_path / "server.log", "grace_s": 2.0} | settings
        process = ServerProcess(lambda port: processes.fake_command(port, *arguments), **settings)
        running.append(process)
        return process

    yield start
    for process in running:
        process.stop()
