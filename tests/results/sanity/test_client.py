"""The client's own lateness: a lamp that turns red where the client measured itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.sanity.client import check_lateness

if TYPE_CHECKING:
    from collections.abc import Callable


def window(p99_s: float | None, share: float = 0.1) -> dict[str, Any]:
    return {"session": 0, "launch": 0, "client": {"p99_s": p99_s, "busiest_share": share}}


@pytest.mark.parametrize(
    ("windows", "level"),
    [
        ([window(0.0004)], "ok"),
        ([window(0.0004), window(0.006)], "warning"),
        ([window(0.0004, share=0.97)], "warning"),
        ([window(0.2), window(0.0)], "fault"),
    ],
)
def test_the_worst_window_decides(
    make_checked: Callable[..., Any], make_turn: Callable[..., Any], windows: list[dict[str, Any]], level: str
) -> None:
    (lamp,) = check_lateness(replace(make_checked([make_turn()]), engine={"windows": windows}))
    assert (lamp.name, lamp.level) == ("client", level)
    assert ("client_processes" in lamp.text) is (level != "ok")


@pytest.mark.parametrize("engine", [None, {}, {"windows": [{"before": {}, "after": {}}]}, {"windows": [window(None)]}])
def test_a_client_that_did_not_watch_itself_says_nothing(
    make_checked: Callable[..., Any], make_turn: Callable[..., Any], engine: Any
) -> None:
    assert list(check_lateness(replace(make_checked([make_turn()]), engine=engine))) == []
