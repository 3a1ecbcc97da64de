"""Acceptance by place within the draft, the output and the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]


def test_positions_within_the_draft(stepped_turn: Build, measured: Measure) -> None:
    # Accepted 0, 1, 3 of 3 drafted, 1 of 1 drafted, and a step without a draft.
    found = measured(stepped_turn((3, 0), (3, 1), (3, 3), (1, 1), (0, 0)), draft_length=4)

    values = {name: metric.value for name, metric in found.items()}
    assert [values[f"joint_acceptance[{k}]"] for k in (1, 2, 3, 4)] == [3 / 4, 1 / 4, 1 / 4, 0]
    assert values["conditional_acceptance[1]"] == 3 / 4
    assert values["conditional_acceptance[2]"] == 1 / 2  # the draft of one token never proposed a second
    assert values["conditional_acceptance[3]"] == 1
    assert values["conditional_acceptance[4]"] is None
    assert [values[f"acceptance_histogram[{j}]"] for j in range(5)] == [1, 2, 0, 1, 0]
    assert values["steps_without_draft"] == 1


def test_a_position_that_was_proposed_but_never_accepted_is_zero(stepped_turn: Build, measured: Measure) -> None:
    found = measured(stepped_turn((3, 1), (3, 1)), draft_length=3)

    assert found["conditional_acceptance[2]"].value == 0
    assert found["conditional_acceptance[3]"].value is None
    assert found["conditional_acceptance[3]"].reason == "no draft of 3 tokens was accepted up to token 2"
    assert found["joint_acceptance[3]"].value == 0


def test_output_position_is_that_of_the_steps_first_token(stepped_turn: Build, measured: Measure) -> None:
    # Prefill's token is 0; steps of 4 tokens start at 1, 5, 9, 13; the next, of 1, at 17 and 18.
    found = measured(stepped_turn(*[(3, 3)] * 4, (0, 0), (0, 0)))

    assert found["acceptance_length@output[0-16)"].value == 4
    assert found["acceptance_length@output[0-16)"].n == 4
    assert found["acceptance_length@output[16-64)"].value == 1
    assert found["acceptance_length@output[64-256)"].reason == "no decode step had this output position"


def test_a_bin_begins_with_its_lower_edge(stepped_turn: Build, measured: Measure) -> None:
    # Steps of 3 tokens start at 1, 4, 7, 10, 13 and 16.
    found = measured(stepped_turn(*[(2, 2)] * 6))

    assert found["acceptance_length@output[0-16)"].n == 5
    assert found["acceptance_length@output[16-64)"].n == 1


def test_context_is_prompt_and_output_before_the_step(stepped_turn: Build, measured: Measure) -> None:
    # With 250 prompt tokens the steps see 251, 255 and 259 tokens.
    found = measured(stepped_turn((3, 3), (3, 3), (3, 1), prompt_tokens=250))

    assert found["acceptance_length@context[0-256)"].n == 2
    assert found["acceptance_length@context[0-256)"].value == 4
    assert found["acceptance_length@context[256-1024)"].value == 2


def test_context_of_prompts_of_unknown_length_is_unknown(stepped_turn: Build, measured: Measure) -> None:
    metric = measured(stepped_turn((3, 3)))["acceptance_length@context[0-256)"]

    assert metric.value is None
    assert "prompts' token counts are unknown" in str(metric.reason)


def test_the_histogram_shows_counts_beyond_the_draft_length(stepped_turn: Build, measured: Measure) -> None:
    found = measured(stepped_turn((4, 4), (1, 0)), draft_length=2)

    assert found["acceptance_histogram[4]"].value == 1
    total = sum(metric.value or 0 for name, metric in found.items() if name.startswith("acceptance_histogram"))
    assert total == found["drafting_steps"].value


@pytest.mark.parametrize("part", ["thinking", "answer"])
def test_parts_that_no_record_marks_are_null(stepped_turn: Build, measured: Measure, part: str) -> None:
    metric = measured(stepped_turn((3, 3)))[f"acceptance_length@{part}"]
    assert metric.value is None
    assert "does not mark" in str(metric.reason)
