"""A worker's model runners, made up, for tests of what stands inside vLLM without vLLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of made-up runners, their clock and the plans that a scheduler gives them."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import fake_runners

    return fake_runners


@pytest.fixture
def clock(fake: Any) -> Any:
    return fake.Clock()


@pytest.fixture
def v1(fake: Any, clock: Any) -> Any:
    return fake.RunnerV1(clock)
