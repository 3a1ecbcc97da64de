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


def test_bins_pool_the_steps_of_every_turn_by_their_own_places(stepped_turn: Build, measured: Measure) -> None:
    # a: steps of 4, 4, 4, 3 and 2 tokens begin at outputs 1, 5, 9, 13 and 16, in contexts 1011, 1015, 1019, 1023, 1026.
    # b: steps of 1, 2 and 4 tokens begin at outputs 1, 2 and 4, in contexts 1023, 1024 and 1026.
    one = stepped_turn((3, 3), (3, 3), (3, 3), (3, 2), (3, 1), question_id="a", prompt_tokens=1010)
    other = stepped_turn((3, 0), (3, 1), (3, 3), question_id="b", prompt_tokens=1022)
    found = measured(one, other)

    def told(place: str) -> tuple[float | None, int | None]:
        return found[f"acceptance_length@{place}"].value, found[f"acceptance_length@{place}"].n

    assert told("output[0-16)") == (pytest.approx((4 + 4 + 4 + 3 + 1 + 2 + 4) / 7), 7)
    assert told("output[16-64)") == (2.0, 1)
    assert told("context[256-1024)") == (pytest.approx((4 + 4 + 4 + 3 + 1) / 5), 5)
    assert told("context[1024-4096)") == (pytest.approx((2 + 2 + 4) / 3), 3)


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
    assert "marks which tokens are thinking" in str(metric.reason)


def parts(found: dict[str, MetricValue]) -> tuple[tuple[float | None, int | None], ...]:
    return tuple((found[f"acceptance_length@{part}"].value, found[f"acceptance_length@{part}"].n) for part in _PARTS)


_PARTS = ("thinking", "answer")


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [
        # Steps of 4, 2, 3 and 1 tokens begin with tokens 1, 5, 7 and 10; token 0 is prefill's, 11 tokens in all.
        (0, ((None, 0), (2.5, 4))),
        (1, ((None, 0), (2.5, 4))),
        (2, ((4.0, 1), (2.0, 3))),  # the step that begins with token 1 thinks, though its other tokens do not
        (5, ((4.0, 1), (2.0, 3))),  # tokens 0 to 4 are thinking, and the next step begins with token 5
        (6, ((3.0, 2), (2.0, 2))),
        (11, ((2.5, 4), (None, 0))),  # never ended
    ],
)
def test_a_step_belongs_to_the_part_of_its_first_token(
    stepped_turn: Build, measured: Measure, thinking: int, expected: tuple[tuple[float | None, int], ...]
) -> None:
    found = measured(stepped_turn((3, 3), (3, 1), (3, 2), (0, 0), thinking_tokens=thinking))
    assert [value for value, _ in parts(found)] == [value for value, _ in expected]
    assert [n for value, n in parts(found) if value is not None] == [n for value, n in expected if value is not None]
    if thinking <= 1:
        assert found["acceptance_length@thinking"].reason == "every decode step lies in the answer"


def test_parts_are_pooled_over_the_turns_in_which_they_are_known(stepped_turn: Build, measured: Measure) -> None:
    # Thinking: steps of 4 and 2 tokens in one turn, of 3 in the other. Answer: 1 and 4.
    one = stepped_turn((3, 3), (3, 1), (3, 0), question_id="a", thinking_tokens=7)
    other = stepped_turn((3, 2), (3, 3), question_id="b", thinking_tokens=4)
    unknown = stepped_turn((3, 0), question_id="c")
    found = measured(one, other, unknown)
    assert parts(found) == ((3.0, 3), (2.5, 2))
    assert "parts known for 2 of 3 turns" in str(found["acceptance_length@answer"].note)


def test_the_baseline_has_one_token_a_step_in_both_parts(make_turn: Build, measured: Measure) -> None:
    found = measured(make_turn(output_tokens=9, thinking_tokens=4), drafter="none", draft_length=0)
    assert parts(found) == ((1.0, 3), (1.0, 5))
    assert found["acceptance_length@thinking"].source == "definition"


def test_more_thinking_than_output_is_no_count(stepped_turn: Build, measured: Measure) -> None:
    found = measured(stepped_turn((3, 3), thinking_tokens=6))
    assert parts(found) == ((None, 0), (None, 0))


@pytest.mark.parametrize(
    ("pairs", "facts", "expected"),
    [
        (((3, 3), (3, 1)), {}, ((4.0, 1), (2.0, 1))),
        (((3, 3), (3, 1)), {"steps_in_order": False}, None),
        (((3, 3), (3, 1), (0, 0)), {}, None),  # the step without a draft was put last, and may lie anywhere
        (((3, 3), (3, 1), (0, 0)), {"thinking_tokens": 0}, ((None, 0), (7 / 3, 3))),
        (((3, 3), (3, 1)), {"steps_in_order": False, "thinking_tokens": 7}, ((3.0, 2), (None, 0))),
    ],
    ids=["placed", "counts alone", "with an idle step", "all of it an answer", "all of it thinking"],
)
def test_inferred_steps_are_told_apart_where_their_place_is_known(
    stepped_turn: Build,
    measured: Measure,
    pairs: tuple[tuple[int, int], ...],
    facts: dict[str, object],
    expected: tuple[tuple[float | None, int], ...] | None,
) -> None:
    found = measured(stepped_turn(*pairs, **({"thinking_tokens": 4, "steps_inferred": True} | facts)))
    if expected is None:
        assert "where in the answer its steps lie" in str(found["acceptance_length@thinking"].reason)
        return
    assert [value for value, _ in parts(found)] == [value for value, _ in expected]
    told = next(found[f"acceptance_length@{part}"] for part in _PARTS if found[f"acceptance_length@{part}"].value)
    assert "upper bound" in str(told.note)
    assert told.source == "inferred"


def test_parts_are_not_told_from_the_turns_that_draft_more(stepped_turn: Build, measured: Measure) -> None:
    # By its counts every step of the first turn has a draft; that of the second which has none may lie anywhere.
    facts = {"steps_inferred": True, "thinking_tokens": 4}
    placed = stepped_turn((3, 3), (3, 1), question_id="a", **facts)
    unplaced = stepped_turn((3, 3), (3, 1), (0, 0), question_id="b", **facts)
    found = measured(placed, unplaced)
    assert parts(found) == ((None, 0), (None, 0))
    for part in _PARTS:
        reason = str(found[f"acceptance_length@{part}"].reason)
        assert "of 1 of 2 turns" in reason
        assert "vLLM in process" in reason


def test_turns_of_one_part_alone_need_no_place(stepped_turn: Build, measured: Measure) -> None:
    # Thinking: a step of 4 tokens. Answer: one of 2 in that turn, and 4 + 2 + 1 tokens in three steps of the other.
    placed = stepped_turn((3, 3), (3, 1), question_id="a", steps_inferred=True, thinking_tokens=4)
    answer = stepped_turn((3, 3), (3, 1), (0, 0), question_id="b", steps_inferred=True, thinking_tokens=0)
    assert parts(measured(placed, answer)) == ((4.0, 1), (9 / 4, 4))


def test_an_interval_tells_how_many_conversations_it_rests_on(stepped_turn: Build, measured: Measure) -> None:
    # Nine conversations of two turns each, every other with a step that accepts less.
    turns = [
        stepped_turn((3, 3), (3, n % 2), question_id=f"q{n}", turn_index=turn) for n in range(9) for turn in range(2)
    ]
    metric = measured(*turns)["acceptance_length"]
    assert metric.low is not None
    assert (metric.conversations, metric.n) == (9, 36)
    few = measured(*turns[:4])["acceptance_length"]
    assert (few.low, few.conversations) == (None, None)
