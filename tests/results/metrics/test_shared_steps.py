"""Times above one request in flight: per engine step, without prompts beside it, at equal batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftmark.results import columns
from draftmark.results.columns import CellColumns
from draftmark.results.metrics.shared_steps import at_equal_batch, shared_steps
from draftmark.results.records import StepColumns, TurnRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]

PARTS = ("t_verify", "t_draft_busy", "t_draft_exposed", "t_other")
Step = tuple[int, float, float, float]
"""Requests in it, then its whole time, verification and drafting."""


def turn_of(*steps: Step, name: str = "a", prompts: tuple[int, ...] | None = None, **changes: Any) -> TurnRecord:
    """A turn whose steps all drafted three tokens and accepted one."""
    n = len(steps)
    fields: dict[str, Any] = {
        "drafted": [3] * n,
        "accepted": [1] * n,
        "delivered": [2] * n,
        "batch": [batch for batch, *_ in steps],
        "prefill_tokens": list(prompts or [0] * n),
        "step_s": [whole for _, whole, _, _ in steps],
        "verify_s": [verify for *_, verify, _ in steps],
        "draft_s": [draft for *_, draft in steps],
    }
    taken = {"cell_id": "c", "question_id": name, "prompt_hash": "h", "output_tokens": 1 + 2 * n}
    return TurnRecord(**(taken | {"steps": StepColumns(**(fields | changes))}))


def plain(*steps: Step, name: str = "a") -> TurnRecord:
    """A turn of the baseline: a token per step."""
    n = len(steps)
    changes = {"drafted": [0] * n, "accepted": [0] * n, "delivered": [1] * n, "draft_s": None}
    return turn_of(*steps, name=name, **changes).model_copy(update={"output_tokens": 1 + n})


@pytest.fixture
def arm() -> list[TurnRecord]:
    """Two turns share a step of 0.2 s and one beside a prompt; then `a` has a step of 0.1 s alone."""
    shared, beside_a_prompt, alone = (2, 0.2, 0.1, 0.05), (2, 9.0, 8.0, 1.0), (1, 0.1, 0.06, 0.02)
    a = turn_of(shared, beside_a_prompt, alone, prompts=(0, 300, 0))
    b = turn_of(shared, beside_a_prompt, prompts=(0, 300), name="b")
    return [a, b]


@pytest.fixture
def base() -> list[TurnRecord]:
    """The baseline has a step of two and one of three requests."""
    return [plain((2, 0.15, 0.12, 0.0), (3, 0.3, 0.2, 0.0), name=name) for name in ("a", "b", "c")]


class TestPerEngineStep:
    def test_a_step_counts_once_however_many_requests_share_it(self, measured: Measure, arm: list[TurnRecord]) -> None:
        found = measured(*arm, concurrency=2)
        assert [found[name].value for name in PARTS] == pytest.approx([0.08, 0.035, 0.035, 0.035])
        assert {found[name].n for name in PARTS} == {2}
        assert {found[name].source for name in PARTS} == {"timed"}
        assert {found[name].low for name in PARTS} == {None}
        assert str(found["t_verify"].note).startswith("per engine step without prefill")

    def test_steps_beside_a_prompt_alone_give_nothing(self, measured: Measure) -> None:
        found = measured(turn_of((2, 9.0, 8.0, 1.0), prompts=(1,)), concurrency=2)
        assert {found[name].reason for name in PARTS} == {
            "the engine did not time its steps without prefill, or not all their parts"
        }

    def test_a_record_that_names_no_batch_is_of_steps_alone(self, measured: Measure) -> None:
        found = measured(turn_of((1, 0.1, 0.06, 0.02), batch=None, prefill_tokens=None), concurrency=4)
        assert found["t_verify"].value == pytest.approx(0.06)
        assert found["t_verify"].n == 1

    def test_a_share_of_a_step_whose_other_turns_are_missing_is_a_step(self, measured: Measure) -> None:
        assert measured(turn_of((8, 0.1, 0.06, 0.02)), concurrency=8)["t_verify"].n == 1

    def test_times_that_contradict_themselves_are_left_out(self, measured: Measure, arm: list[TurnRecord]) -> None:
        wrong = turn_of((1, -1.0, 0.1, 0.1), (1, 1.0, -0.1, 0.1), (1, 1.0, 0.1, -0.1), name="wrong")
        assert measured(*arm, wrong, concurrency=2)["t_verify"].value == pytest.approx(0.08)

    def test_drafting_that_overlaps_is_said(self, measured: Measure) -> None:
        found = measured(turn_of((2, 1.0, 0.75, 0.5)), concurrency=2)
        assert (found["t_draft_busy"].value, found["t_draft_exposed"].value) == (0.5, 0.25)
        assert "the most it can be" in str(found["t_draft_exposed"].note)

    def test_without_a_drafter_drafting_is_nothing_by_definition(
        self, measured: Measure, base: list[TurnRecord]
    ) -> None:
        found = measured(*base, drafter="none", draft_length=0, concurrency=3)
        assert (found["t_draft_busy"].value, found["t_draft_busy"].source) == (0.0, "definition")
        # Three entries each of steps of two and of three requests: 1.5 and 1 engine steps.
        assert found["t_target"].value == pytest.approx((1.5 * 0.15 + 1 * 0.3) / 2.5)
        assert found["t_verify"].value == pytest.approx((1.5 * 0.12 + 1 * 0.2) / 2.5)

    def test_at_one_in_flight_the_turns_own_steps_count(self, measured: Measure) -> None:
        found = measured(turn_of((1, 0.1, 0.06, 0.02), prompts=(5,)))
        assert found["t_verify"].value == pytest.approx(0.06)
        assert found["t_verify"].note is None or "per engine step" not in found["t_verify"].note


class TestAgainstTheBaseline:
    def test_only_batch_sizes_that_both_have_are_compared(
        self, measured: Measure, arm: list[TurnRecord], base: list[TurnRecord]
    ) -> None:
        found = measured(*arm, baseline=base, concurrency=2)
        assert found["t_target"].value == pytest.approx(0.15)
        assert found["draft_overhead"].value == pytest.approx(0.05 / 0.15)
        assert found["verify_inflation"].value == pytest.approx(0.1 / 0.12)
        assert {found[name].n for name in ("t_target", "draft_overhead", "verify_inflation")} == {1}
        assert "at equal batch size, 50% of the steps" in str(found["draft_overhead"].note)

    def test_the_baseline_is_weighted_as_the_arm_ran(self, measured: Measure) -> None:
        ours = [turn_of(*[(2, 0.4, 0.3, 0.1)] * 3, (1, 0.2, 0.1, 0.1), name="a"), turn_of(*[(2, 0.4, 0.3, 0.1)] * 3)]
        theirs = [plain((2, 0.2, 0.2, 0.0), *[(1, 0.1, 0.1, 0.0)] * 9)]
        found = measured(*ours, baseline=theirs, concurrency=2)
        assert found["t_target"].value == pytest.approx((3 * 0.2 + 1 * 0.1) / 4)
        assert found["draft_overhead"].value == pytest.approx(0.1 / 0.175)
        assert found["verify_inflation"].value == pytest.approx((3 * 0.3 + 0.1) / (3 * 0.2 + 0.1))

    def test_no_batch_size_in_common(self, measured: Measure, base: list[TurnRecord]) -> None:
        found = measured(turn_of((5, 0.2, 0.1, 0.05)), baseline=base, concurrency=5)
        for name in ("t_target", "draft_overhead", "verify_inflation"):
            assert found[name].reason == "no batch size occurred in both arms, so their steps cannot be compared"

    def test_a_baseline_without_times(self, measured: Measure, arm: list[TurnRecord], make_turn: Build) -> None:
        found = measured(*arm, baseline=[make_turn("a", output_tokens=5)], concurrency=2)
        for name in ("t_target", "draft_overhead", "verify_inflation"):
            assert found[name].reason == "the steps without prefill of this arm or of the baseline were not timed"

    def test_no_baseline(self, measured: Measure, arm: list[TurnRecord]) -> None:
        assert str(measured(*arm, concurrency=2)["draft_overhead"].reason).startswith("the run has no baseline")

    def test_the_cost_of_a_step_is_inferred_from_the_turns(self, measured: Measure, timed_turn: Build) -> None:
        base = timed_turn(*[(0, 0)] * 4, verify=0.1)
        found = measured(timed_turn((3, 3), verify=0.2), baseline=[base], concurrency=2)["step_cost_ratio"]
        assert (found.value, found.source) == (pytest.approx(2.0), "inferred")

    def test_percentiles_of_steps_say_what_they_are_of(self, measured: Measure, arm: list[TurnRecord]) -> None:
        found = measured(*arm, concurrency=2)["step_time_p50"]
        assert (found.value, found.n) == (0.2, 5)
        assert "a step counts for each that shared it" in str(found.note)


@st.composite
def runs(draw: st.DrawFn) -> list[Step]:
    """Engine steps of any batch size up to 5, in hundredths of a second."""
    hundredths = st.integers(1, 50)
    return [
        (batch, (verify + draft + other) / 100, verify / 100, draft / 100)
        for batch, verify, draft, other in draw(
            st.lists(st.tuples(st.integers(1, 5), hundredths, hundredths, hundredths), min_size=1, max_size=8)
        )
    ]


def as_turns(steps: list[Step]) -> list[TurnRecord]:
    """Every step stands in the record of each request that shared it."""
    return [turn_of(*[step for step in steps if step[0] > slot], name=f"q{slot}") for slot in range(5)]


@settings(deadline=None)
@given(runs())
def test_the_turns_together_give_every_engine_step_once(steps: list[Step]) -> None:
    found = shared_steps(CellColumns.from_turns(as_turns(steps)), drafts=True)
    assert found.count == pytest.approx(len(steps))
    for part, index in (("whole", 1), ("verify", 2), ("busy", 3), ("exposed", 3)):
        assert found.mean(part) == pytest.approx(np.mean([step[index] for step in steps]))
    assert not found.overlaps


@settings(deadline=None)
@given(runs())
def test_a_cell_against_itself_is_equal_at_every_batch_size(steps: list[Step]) -> None:
    found = shared_steps(CellColumns.from_turns(as_turns(steps)), drafts=True)
    same = at_equal_batch(found, found, "whole", "whole")
    assert same is not None
    assert same.ours == pytest.approx(same.theirs)
    assert same.share == pytest.approx(1)


@settings(deadline=None)
@given(runs())
def test_sums_do_not_depend_on_the_blocks_they_are_taken_in(steps: list[Step]) -> None:
    cell = CellColumns.from_turns(as_turns(steps))
    whole = shared_steps(cell, drafts=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_BLOCK", 2)
        in_blocks = shared_steps(cell, drafts=True)
    assert in_blocks.steps.tolist() == pytest.approx(whole.steps.tolist())
    for part in whole.seconds:
        assert in_blocks.seconds[part].tolist() == pytest.approx(whole.seconds[part].tolist())
