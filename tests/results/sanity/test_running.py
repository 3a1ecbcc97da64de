"""The lamps on how the run went: failures, missing turns, launches, and machines that changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from draftmark.results.records import Session
from draftmark.results.sanity import check_run
from draftmark.results.sanity.checked import merged
from draftmark.results.sanity.running import (
    FAILURES_OK,
    ONE_LAUNCH,
    check_any_token,
    check_failures,
    check_launches,
    check_machines,
)
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import CellRecord, RunManifest, TurnRecord
    from draftmark.results.sanity import CheckedCell

    MakeChecked = Callable[..., CheckedCell]
    MakeTurn = Callable[..., TurnRecord]
    MakeManifest = Callable[..., RunManifest]


def test_failed_turns_are_counted_apart(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    turns = [make_turn("p1"), make_turn("p2", status="failed"), make_turn("p3", status="failed")]
    (lamp,) = check_failures(make_checked(turns))
    assert lamp.level == "warning"
    assert lamp.text.startswith("2 of 3 turns failed and count in no number")
    (lamp,) = check_failures(make_checked(turns[1:]))
    assert lamp.level == "fault"


def test_missing_turns_are_named(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    (lamp,) = check_failures(make_checked([make_turn(f"p{n}") for n in range(3)], turns_expected=5))
    assert (lamp.level, lamp.text) == ("warning", "Not finished (3 of 5 turns): resume the run to get the rest.")


def test_a_lost_engine_is_named_in_its_last_words(
    make_checked: MakeChecked, make_turn: MakeTurn, make_cell: Callable[..., CellRecord]
) -> None:
    lost = make_cell(lost="the engine was killed (SIGKILL)")
    some = make_checked([make_turn(f"p{n}") for n in range(3)], turns_expected=5)
    none = make_checked([], turns_expected=5, turns_ok=0)
    assert [
        (lamp.level, lamp.text) for cell in (some, none) for lamp in check_failures(replace(cell, record=lost))
    ] == [
        ("warning", "Not finished (3 of 5 turns), since the engine was killed (SIGKILL)"),
        ("fault", "Not finished (0 of 5 turns), since the engine was killed (SIGKILL)"),
    ]


def test_a_cell_finished_after_all_lost_nothing(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    assert [lamp.level for lamp in check_failures(make_checked([make_turn()], turns_expected=1))] == ["ok"]


def test_an_arm_left_out_is_noted_with_its_reason(make_checked: MakeChecked) -> None:
    cell = make_checked([], status="left out", status_text="arctic-inference is not installed", turns_expected=5)
    assert [(lamp.level, lamp.text) for lamp in check_failures(cell)] == [
        ("note", "This arm was left out: arctic-inference is not installed")
    ]


def test_a_finished_cell_is_fine(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    assert [(lamp.level, lamp.text) for lamp in check_failures(make_checked([make_turn()]))] == [("ok", FAILURES_OK)]


def test_launches_are_counted(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    once = make_checked([make_turn("p1"), make_turn("p2")])
    twice = make_checked([make_turn("p1", launch=0), make_turn("p2", launch=3)])
    failed = make_checked([make_turn("p1", launch=0), make_turn("p2", launch=1, status="failed")])
    assert [(lamp.level, lamp.text) for lamp in check_launches(once)] == [("note", ONE_LAUNCH)]
    assert "launches: 2" in ONE_LAUNCH
    assert [(lamp.level, lamp.text) for lamp in check_launches(twice)] == [("ok", "The engine was launched 2 times.")]
    assert [lamp.level for lamp in check_launches(failed)] == ["note"]


def test_a_run_continued_elsewhere_is_a_warning(make_manifest: MakeManifest) -> None:
    manifest = make_manifest()
    (here,) = manifest.sessions
    moved = here.environment.model_copy(update={"cpu": "other", "packages": {"torch": "2.0"}, "memory_bytes": 5})
    there = Session(started_at="2026-11-30T08:00:00Z", environment=moved)
    assert list(check_machines(manifest)) == []
    assert list(check_machines(make_manifest(sessions=[here, here]))) == []
    (lamp,) = check_machines(make_manifest(sessions=[here, there, there]))
    assert (lamp.name, lamp.level, lamp.cells) == ("launches", "warning", [])
    assert "(cpu, packages changed)" in lamp.text


def test_a_run_without_one_success_measured_nothing(make_checked: MakeChecked, make_turn: MakeTurn) -> None:
    failed, good = make_checked([make_turn(status="failed")]).summary, make_checked([make_turn()]).summary
    assert [(lamp.name, lamp.level) for lamp in check_any_token([failed])] == [("values", "fault")]
    assert [lamp.level for lamp in check_any_token([])] == ["fault"]
    assert list(check_any_token([failed, good])) == []


def lamp(name: str, level: str, text: str, *cells: str) -> Lamp:
    return Lamp.model_validate({"name": name, "level": level, "text": text, "cells": list(cells)})


def test_equal_sentences_are_said_once() -> None:
    assert merged([lamp("launches", "note", "once", "a"), lamp("launches", "note", "once", "b", "a")]) == [
        lamp("launches", "note", "once", "a", "b")
    ]


def test_ok_is_said_only_where_nothing_worse_is() -> None:
    found = [
        lamp("baseline", "ok", "fine", "a"),
        lamp("speculation", "ok", "fine", "a"),
        lamp("speculation", "note", "slow", "b"),
        lamp("speculation", "fault", "off", "c"),
    ]
    assert merged(found) == [found[3], found[2], found[0]]


@pytest.mark.parametrize("level", ["note", "warning"])
def test_the_runs_own_lamps_join_those_of_its_groups(make_manifest: MakeManifest, level: str) -> None:
    found = check_run(make_manifest(), [], [lamp("launches", level, "once", "a")])
    assert [(each.name, each.level) for each in found] == [("launches", level), ("values", "fault")]
