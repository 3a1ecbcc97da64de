"""The lamp on the client: requests that went out late, and its own lateness where it measured itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.sanity.client import IN_PROCESS_OK, SCHEDULE_OK, check_lateness, check_schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.sanity import CheckedCell

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]


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


def test_an_engine_in_this_process_has_no_client_to_be_late(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    (lamp,) = check_schedule(make_checked([make_turn(sent_s=0.1)]))
    assert (lamp.name, lamp.level, lamp.text) == ("client", "ok", IN_PROCESS_OK)


def test_a_client_that_cannot_keep_its_schedule_is_a_warning(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    def cell(late: int) -> CheckedCell:
        turns = [make_turn(f"p{n}", scheduled_s=1.0, sent_s=1.2 if n < late else 1.01) for n in range(100)]
        return make_checked(turns)

    assert [(lamp.level, lamp.text) for lamp in check_schedule(cell(1))] == [("ok", SCHEDULE_OK)]
    (lamp,) = check_schedule(cell(2))
    assert lamp.level == "warning"
    assert lamp.text.startswith("2% of requests went out more than 50 ms after their planned time (worst 200 ms)")


def test_what_the_plan_s_own_cap_held_back_is_not_the_client_s_fault(
    make_checked: MakeChecked, make_turn: MakeTurn
) -> None:
    held = [make_turn(f"p{n}", scheduled_s=1.0, sent_s=4.0, held_s=2.99) for n in range(10)]
    assert [lamp.text for lamp in check_schedule(make_checked(held))] == [SCHEDULE_OK]
    late = [turn.model_copy(update={"held_s": 2.9}) for turn in held]
    assert [lamp.level for lamp in check_schedule(make_checked(late))] == ["warning"]
