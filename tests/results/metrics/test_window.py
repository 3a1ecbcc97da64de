"""Acceptance from counters over a quiet window, for engines that tell nothing of single requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.columns import CellColumns
from draftmark.results.metrics import measure
from draftmark.results.metrics.evidence import Evidence
from draftmark.results.metrics.window import window_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord

BEFORE = {"output_tokens": 5.0, "drafting_steps": 0.0, "drafted_tokens": 0.0, "accepted_tokens": 0.0}
# 30 tokens in 2 turns: 28 after prefill; 10 were accepted drafts, so 18 steps, of which 8 had a draft of 3.
AFTER = {
    "output_tokens": 35.0,
    "drafting_steps": 8.0,
    "drafted_tokens": 24.0,
    "accepted_tokens": 10.0,
    "accepted_tokens[1]": 6.0,
    "accepted_tokens[2]": 3.0,
    "accepted_tokens[3]": 1.0,
}
FACTS = {"windows": [{"session": 0, "launch": 0, "before": BEFORE, "after": AFTER}]}


@pytest.fixture
def cell(make_turn: Callable[..., TurnRecord]) -> CellColumns:
    turns = [make_turn(question_id=name, output_tokens=count, steps=None) for name, count in (("a", 10), ("b", 20))]
    return CellColumns.from_turns(turns)


def measured(cell: CellColumns, facts: dict[str, Any] | None) -> dict[str, Any]:
    return measure(Evidence(cell, drafter="ngram", draft_length=3, window=window_counts(cell, facts)))


def test_the_numbers_follow_from_the_differences(cell: CellColumns) -> None:
    found = measured(cell, FACTS)
    assert found["acceptance_length"].value == pytest.approx(28 / 18)
    assert found["acceptance_length"].source == "inferred"
    assert "inferred, upper bound" in str(found["acceptance_length"].note)
    assert found["coverage"].value == pytest.approx(8 / 18)
    assert found["drafted_per_step"].value == pytest.approx(24 / 18)
    assert found["acceptance_length_when_drafted"].value == pytest.approx(1 + 10 / 8)
    assert found["acceptance_rate"].value == pytest.approx(10 / 24)
    assert [found[f"joint_acceptance[{k}]"].value for k in (1, 2, 3)] == [6 / 8, 3 / 8, 1 / 8]
    assert found["acceptance_length"].low is None


def test_seconds_of_drafting_are_shared_out_over_all_steps(cell: CellColumns) -> None:
    facts = {"windows": [{"before": BEFORE | {"drafting_s": 0.5}, "after": AFTER | {"drafting_s": 0.68}}]}
    found = measured(cell, facts)["t_draft_busy"]
    assert (found.value, found.unit, found.source) == (pytest.approx(0.18 / 18), "s", "engine")
    assert "engine counters" in str(found.note)
    assert measured(cell, FACTS)["t_draft_busy"].value is None


def test_seconds_of_drafting_say_nothing_of_steps_that_requests_share(cell: CellColumns) -> None:
    facts = {"windows": [{"before": BEFORE, "after": AFTER | {"drafting_s": 0.18}}]}
    evidence = Evidence(cell, drafter="ngram", draft_length=3, window=window_counts(cell, facts), concurrency=4)
    assert measure(evidence)["t_draft_busy"].value is None


def test_an_engine_that_counts_runs_over_drafts_alone_tells_the_acceptance_length(cell: CellColumns) -> None:
    before, after = {"output_tokens": 5.0, "verified_steps": 3.0}, {"output_tokens": 35.0, "verified_steps": 19.0}
    found = measured(cell, {"windows": [{"before": before, "after": after}]})
    assert found["acceptance_length"].value == pytest.approx(28 / 16)
    assert "inferred, upper bound" in str(found["acceptance_length"].note)
    assert {found[name].value for name in ("acceptance_rate", "coverage", "joint_acceptance[1]")} == {None}


def test_a_window_without_counters_is_passed_over(cell: CellColumns) -> None:
    assert window_counts(cell, {"windows": [{"session": 0, "launch": 0, "client": {"late_s": 0.1}}]}) is None


def test_two_windows_are_added_up(cell: CellColumns) -> None:
    half = {name: value / 2 for name, value in AFTER.items()} | {"output_tokens": 20.0}
    windows = [{"session": 0, "launch": n, "before": BEFORE, "after": half} for n in (0, 1)]
    assert measured(cell, {"windows": windows})["acceptance_length"].value == pytest.approx(28 / 18)


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {},
        {"windows": [{"before": BEFORE, "after": AFTER | {"output_tokens": 36.0}}]},
        {"windows": [{"before": {}, "after": {"output_tokens": 30.0}}]},
        {"windows": [{"before": BEFORE | {"accepted_tokens": 11.0}, "after": AFTER}]},
        {"windows": [{"before": BEFORE | {"accepted_tokens[4]": 2.0}, "after": AFTER}]},
        {"windows": [{"before": BEFORE | {"counter_resets": 0.0}, "after": AFTER | {"counter_resets": 1.0}}]},
    ],
    ids=[
        "no counters",
        "no window",
        "one token of somebody else's",
        "an engine that counts no drafts",
        "a counter that went back",
        "a counter that is gone",
        "one engine of several began anew",
    ],
)
def test_without_a_window_of_just_these_turns_there_is_no_number(
    cell: CellColumns, facts: dict[str, Any] | None
) -> None:
    found = measured(cell, facts)["acceptance_length"]
    assert found.value is None
    assert found.reason is not None
    assert found.reason.startswith("the engine reported no per-step counts")


def test_why_counters_are_of_no_use_is_told(cell: CellColumns) -> None:
    others = {"windows": [{"before": BEFORE, "after": AFTER | {"output_tokens": 36.0}}]}
    reason = measured(cell, others)["acceptance_length"].reason
    assert reason is not None
    assert reason.endswith("tokens where these turns have 30, so that others used it too")
    reset = {"windows": [{"before": BEFORE | {"counter_resets": 0.0}, "after": AFTER | {"counter_resets": 1.0}}]}
    assert "began at zero again" in str(measured(cell, reset)["acceptance_length"].reason)


def test_a_failed_turn_makes_the_counters_useless(make_turn: Callable[..., TurnRecord]) -> None:
    turns = [
        make_turn(question_id="a", output_tokens=30, steps=None),
        make_turn(question_id="b", status="failed", output_tokens=0, steps=None),
    ]
    assert window_counts(CellColumns.from_turns(turns), FACTS) == (
        "its counters cannot be shared out: 1 of 2 turns failed or ended at a stop string"
    )


def test_steps_beyond_a_stop_string_are_no_turns(make_turn: Callable[..., TurnRecord]) -> None:
    turns = [make_turn(output_tokens=30, steps=None, finish_reason="stop")]
    assert isinstance(window_counts(CellColumns.from_turns(turns), FACTS), str)


def test_step_records_win_over_counters(make_turn: Callable[..., TurnRecord]) -> None:
    steps = {"drafted": [3] * 9 + [0] * 2, "accepted": [2] * 9 + [0] * 2, "delivered": [3] * 9 + [1] * 2}
    cell = CellColumns.from_turns([make_turn(output_tokens=30, steps=steps)])
    found = measured(cell, FACTS)["acceptance_length"]
    assert (found.value, found.source) == (pytest.approx(29 / 11), "engine")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"output_tokens": 5.0}, "its counters stood still while it gave the 30 tokens of these turns"),
        ({"output_tokens": 20.0}, "it counted 15 tokens where these turns have 30: one of its two counts is wrong"),
        ({"output_tokens": 4e300}, "counter output_tokens was too large to count single tokens (4e+300)"),
        ({"drafted_tokens": None}, "counter drafted_tokens was no number"),
        ({"output_tokens": 4.0}, "counter output_tokens went back within the cell"),
    ],
)
def test_each_kind_of_useless_counters_has_its_reason(cell: CellColumns, changed: dict[str, Any], reason: str) -> None:
    told = measured(cell, {"windows": [{"before": BEFORE, "after": AFTER | changed}]})["acceptance_length"]
    assert told.value is None
    assert str(told.reason).endswith(reason)


def test_counters_that_one_launch_lacks_are_of_no_use(cell: CellColumns) -> None:
    told = measured(cell, {"windows": [{"before": BEFORE, "after": AFTER}, {"client": {}}]})["acceptance_length"]
    assert str(told.reason).endswith("its counters could not be read around every launch")


def test_padding_may_be_among_the_drafts_that_counters_have(cell: CellColumns) -> None:
    found = measured(cell, FACTS)
    for name in ("acceptance_rate", "coverage", "drafted_per_step", "acceptance_length_when_drafted"):
        assert "padding, if it counts that too" in str(found[name].note)
    assert "padding" not in str(found["acceptance_length"].note)
