from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture(scope="session")
def specimen() -> ModuleType:
    """The builders of hand-made runs."""
    spec = importlib.util.spec_from_file_location("specimen", Path(__file__).with_name("specimen.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
