"""The scripted server, and both event loops that a client runs on."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


@pytest.fixture(scope="session")
def http() -> Any:
    """The module of the scripted server."""
    spec = importlib.util.spec_from_file_location("scripted_server", Path(__file__).with_name("scripted_server.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine on each of the two loops."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def until_done(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(asyncio.wait_for(coroutine, 60))

    return until_done


@pytest.fixture
def unused_port() -> int:
    """A port of the loopback on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port
