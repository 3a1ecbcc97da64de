"""Steps that are inferred from statistics which leave out those without a draft: how many is known, where is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]

UPPER = (
    "acceptance_length",
    "acceptance_length_verified",
    "acceptance_length_request_mean",
    "acceptance_length_token_weighted",
    "acceptance_length_specdec_bench",
    "acceptance_length_sglang",
    "coverage",
    "drafted_per_step",
)
EXACT = ("acceptance_length_when_drafted", "acceptance_rate", "accepted_per_draft", "drafted_per_draft")


@pytest.fixture
def inferred(stepped_turn: Build) -> TurnRecord:
    """13 tokens: five drafting steps of 3 with 3 accepted in all, and four steps without a draft, put last."""
    pairs = [(3, 1), (3, 0), (3, 2), (3, 0), (3, 0), *[(0, 0)] * 4]
    return stepped_turn(*pairs, steps_inferred=True, prompt_tokens=100)


def test_means_over_all_steps_are_upper_bounds(measured: Measure, inferred: TurnRecord) -> None:
    found = measured(inferred)
    assert found["acceptance_length"].value == pytest.approx(12 / 9)
    assert found["coverage"].value == pytest.approx(5 / 9)
    for name in UPPER:
        assert found[name].source == "inferred", name
        assert "inferred, upper bound" in str(found[name].note), name


def test_what_drafting_steps_alone_tell_is_the_engines_own(measured: Measure, inferred: TurnRecord) -> None:
    found = measured(inferred)
    assert found["acceptance_length_when_drafted"].value == pytest.approx(1.6)
    assert found["acceptance_rate"].value == pytest.approx(3 / 15)
    for name in (*EXACT, "conditional_acceptance[1]", "joint_acceptance[2]", "acceptance_histogram[0]"):
        assert found[name].source == "engine", name
        assert "bound" not in str(found[name].note), name


def test_counts_of_steps_are_lower_bounds_but_for_those_with_a_draft(measured: Measure, inferred: TurnRecord) -> None:
    found = measured(inferred)
    assert (found["decode_steps"].value, found["steps_without_draft"].value) == (9, 4)
    for name in ("decode_steps", "steps_without_draft"):
        assert (found[name].source, found[name].note) == ("inferred", "inferred, lower bound")
    drafting = found["drafting_steps"]
    assert (drafting.value, drafting.source, drafting.note) == (5, "engine", None)


@pytest.mark.parametrize("by", ["output", "context"])
def test_nothing_is_said_by_place(measured: Measure, inferred: TurnRecord, by: str) -> None:
    found = {name: metric for name, metric in measured(inferred).items() if name.startswith(f"acceptance_length@{by}[")}
    assert len(found) == 6
    assert {metric.value for metric in found.values()} == {None}
    assert {metric.reason for metric in found.values()} == {
        "the engine did not tell where in the answer the steps without a draft lie; vLLM in process with its probe "
        "tells it, and so does a server whose statistics hold every step"
    }


def test_one_turn_with_inferred_steps_qualifies_the_whole_cell(
    measured: Measure, inferred: TurnRecord, stepped_turn: Build
) -> None:
    found = measured(inferred, stepped_turn((3, 3), question_id="exact"))
    assert found["acceptance_length"].value == pytest.approx((12 + 4) / (9 + 1))
    assert found["acceptance_length"].source == "inferred"


def test_a_failed_turn_with_inferred_steps_qualifies_nothing(
    measured: Measure, inferred: TurnRecord, stepped_turn: Build
) -> None:
    failed = inferred.model_copy(update={"status": "failed"})
    assert measured(failed, stepped_turn((3, 3), question_id="exact"))["acceptance_length"].source == "engine"


def test_what_a_step_costs_is_an_upper_bound_and_the_speed_up_is_not(measured: Measure, timed_turn: Build) -> None:
    base = timed_turn(*[(0, 0)] * 5, verify=0.05)
    found = measured(timed_turn((3, 3), (0, 0), steps_inferred=True, verify=0.1), baseline=[base])
    for name, value in (("step_time", 0.1), ("step_cost_ratio", 2.0)):
        assert found[name].value == pytest.approx(value)
        assert found[name].source == "inferred"
        assert "inferred, upper bound" in str(found[name].note)
    # Five tokens took 0.2 s against 0.25 s: whatever the number of steps is, it cancels out.
    assert found["speedup_from_steps"].value == pytest.approx(1.25)
    assert found["speedup"].value == pytest.approx(1.25)


def test_padding_may_be_among_the_drafts_where_nothing_tells_it(
    make_turn: Callable[..., TurnRecord], measured: Callable[..., dict[str, MetricValue]]
) -> None:
    steps = {"drafted": [3, 3, 0], "accepted": [1, 0, 0], "delivered": [2, 1, 1]}
    told = {"drafting_steps": 3, "drafted": 9, "accepted": 1}
    blind = make_turn(output_tokens=5, steps=steps, steps_inferred=True, reported=told)
    seen = make_turn(
        output_tokens=5,
        steps=steps,
        steps_inferred=True,
        reported=told | {"padding_steps": 1, "padding_tokens": 3},
    )
    recorded = make_turn(output_tokens=5, steps=steps)
    for name in ("acceptance_rate", "coverage"):
        assert "padding, if it counts that too" in str(measured(blind)[name].note)
        assert "padding" not in str(measured(seen)[name].note)
        assert "padding" not in str(measured(recorded)[name].note)
