"""What a dialect has to work with, and what a page of a server is."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prometheus_client.core import Metric

    from draftmark.backends.mock.counters import Counters
    from draftmark.backends.mock.settings import MockSettings


@dataclass(frozen=True, slots=True)
class Page:
    """An answer to a request about the server itself."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200


if TYPE_CHECKING:
    Pages: TypeAlias = dict[tuple[str, str], Callable[[], Page]]


@dataclass(slots=True)
class State:
    """What the answers and the pages of a server are made from."""

    settings: MockSettings
    counters: Counters
    started_s: float = field(default_factory=time.monotonic)
    created: int = field(default_factory=lambda: int(time.time()))
    """Unix time that every answer names as its own."""

    @property
    def loading(self) -> bool:
        """Whether the server is not ready yet."""
        return time.monotonic() - self.started_s < self.settings.loading_s


def json_page(data: Any, status: int = 200) -> Page:
    """Return a page of JSON."""
    return Page(json.dumps(data).encode(), status=status)


def prometheus_page(families: Sequence[Metric]) -> Page:
    """Return counters and gauges in Prometheus' text format."""
    from prometheus_client import CollectorRegistry, generate_latest

    class Given:
        def collect(self) -> Sequence[Metric]:
            return families

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Given())
    return Page(generate_latest(registry), "text/plain; version=0.0.4; charset=utf-8")
