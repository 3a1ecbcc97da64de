"""Checkpoints for tests of engines, each written when a test first asks for it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.backends.base import BackendError
from draftmark.backends.models import locate

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def heads() -> ModuleType:
    """The writers of checkpoints."""
    spec = importlib.util.spec_from_file_location("heads", HERE / "heads.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory, heads: ModuleType) -> Callable[..., Path]:
    """Give the folder of a checkpoint by its writer's name and arguments; the session writes each once."""
    written: dict[tuple[str, str], Path] = {}

    def give(writer: str, *arguments: Any, **options: Any) -> Path:
        key = (writer, repr((arguments, sorted(options.items()))))
        if key not in written:
            folder = tmp_path_factory.mktemp("checkpoints") / writer
            written[key] = getattr(heads, writer)(folder, *arguments, **options)
        return written[key]

    return give


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The folder of the demo model."""
    try:
        folder = locate("smollm2-135m").folder
    except BackendError as fault:
        pytest.fail(f"these tests need the demo model: {fault}")
    assert folder is not None
    return folder


@pytest.fixture
def repeat_last(monkeypatch: pytest.MonkeyPatch) -> str:
    """The dotted path of a proposer class that this process and its children can import."""
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
    return "repeating.RepeatLast"
