"""What must be a number: null everywhere is no answer. And what every declaration owes its readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.results.metrics import METRICS, metric_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import TurnRecord
    from draftmark.results.summary import MetricValue

    Build = Callable[..., TurnRecord]
    Measure = Callable[..., dict[str, MetricValue]]
    Cells = dict[str, list[TurnRecord]]

NEVER_OF_THIS_ENGINE = {
    "goodput": "no objectives",
    "objectives_met": "no objectives",
    "output_tps_per_gpu": "no GPU",
    **dict.fromkeys(("ttft_from_schedule", *(f"ttft_from_schedule_p{p}" for p in (50, 90, 99))), "no schedule"),
    "client_lateness": "no schedule",
    "held_back": "no schedule",
    "acceptance_length@thinking": "marks which tokens are thinking",
    "acceptance_length@answer": "marks which tokens are thinking",
}
"""Metrics that an in-process engine on the CPU with closed load cannot have, and a part of the reason."""

NEVER_OF_NONE = (
    "acceptance_rate",
    "acceptance_length_when_drafted",
    "accepted_per_draft",
    "drafted_per_draft",
)
"""Metrics of drafts, which the baseline has none of."""

NOT_REACHED = ("output[64-256)", "output[256-1024)", "output[1024-4096)", "output[4096-)")
NOT_REACHED_CONTEXT = ("context[256-1024)", "context[1024-4096)", "context[4096-16384)", "context[16384-65536)")
PLACES = {f"acceptance_length@{place}" for place in (*NOT_REACHED, *NOT_REACHED_CONTEXT, "context[65536-)")}
"""Places that answers of forty tokens to prompts of a hundred do not reach."""


@pytest.fixture
def cells(timed_turn: Build) -> Cells:
    """Twelve conversations, asked twice: the baseline, its control, and an arm with D = 3 that drafts in most steps."""

    def turns(*pairs: tuple[int, int], slower: float = 1.0, draft: float = 0.0) -> list[TurnRecord]:
        return [
            timed_turn(
                *pairs,
                sent=100.0 * i + 2000.0 * repeat,
                question_id=f"q{i}",
                repeat=repeat,
                category="ab"[i % 2],
                draft=draft,
                verify=slower * (0.1 + 0.001 * i),
                rest=0.01,
                draft_prefill_s=0.2 if draft else None,
            )
            for i in range(12)
            for repeat in (0, 1)
        ]

    # Two ways to yield the same 39 tokens: in 15 steps and in 13.
    arm = turns(*[(3, 3), (3, 1), (0, 0), (2, 2), (3, 2)] * 3, slower=1.5, draft=0.02)
    other = turns(*[(3, 2)] * 12, (2, 2), slower=1.5, draft=0.02)
    return {
        "none": turns(*[(0, 0)] * 39),
        "control": turns(*[(0, 0)] * 39, slower=1.01),
        "arm": arm[:12] + other[12:],
    }


def test_a_drafting_arm_has_numbers_for_all_but_what_its_engine_cannot_have(cells: Cells, measured: Measure) -> None:
    found = measured(*cells["arm"], draft_length=3, baseline=cells["none"], control=cells["control"], gpus=0)
    null = {name for name, metric in found.items() if metric.value is None}

    assert null - PLACES == set(NEVER_OF_THIS_ENGINE)
    for name, part in NEVER_OF_THIS_ENGINE.items():
        assert part in str(found[name].reason)


def test_the_baseline_has_numbers_for_all_but_drafts(cells: Cells, measured: Measure) -> None:
    found = measured(*cells["none"], drafter="none", draft_length=0, control=cells["control"], gpus=0)
    null = {name for name, metric in found.items() if metric.value is None}

    assert null - PLACES == {*NEVER_OF_THIS_ENGINE, *NEVER_OF_NONE}


def test_the_control_has_numbers_for_all_but_drafts_and_its_own_control(cells: Cells, measured: Measure) -> None:
    found = measured(*cells["control"], drafter="none", draft_length=0, baseline=cells["none"], gpus=0)
    null = {name for name, metric in found.items() if metric.value is None}

    assert null - PLACES == {
        *NEVER_OF_THIS_ENGINE,
        *NEVER_OF_NONE,
        "divergent_turns_control",
        "divergence_excess",
    }


@pytest.mark.parametrize("arm", ["none", "arm", "nothing"])
def test_every_metric_is_returned_as_a_number_or_a_reason(cells: Cells, measured: Measure, arm: str) -> None:
    none = arm == "none"
    found = measured(*cells.get(arm, []), drafter="none" if none else "ngram", draft_length=0 if none else 3)

    for name, metric in METRICS.items():
        if not metric.family:
            assert name in found
    for name, value in found.items():
        assert (value.value is None) == (value.reason is not None), name
        assert (value.value is None) == (value.source is None), name
        declared = metric_of(name)
        assert declared is not None
        assert value.unit == declared.unit


def test_intervals_hold_their_value_and_say_what_they_rest_on(cells: Cells, measured: Measure) -> None:
    found = measured(*cells["arm"], draft_length=3, baseline=cells["none"], control=cells["control"])
    with_interval = {name: metric for name, metric in found.items() if metric.low is not None}

    assert {"acceptance_length", "speedup", "tpot", "output_tps", "draft_overhead"} <= set(with_interval)
    for metric in with_interval.values():
        assert metric.low is not None
        assert metric.high is not None
        assert metric.value is not None
        assert metric.low <= metric.value <= metric.high
        assert "rough (12 conversations)" in str(metric.note)


class TestDeclarations:
    @pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
    def test_each_is_explained(self, metric: object) -> None:
        declared = METRICS[metric.name]  # type: ignore[attr-defined]
        assert declared.about.endswith(".")
        assert declared.formula.endswith(".")
        assert declared.unit in {"tokens", "s", "tokens/s", "turns/s", "1", "count"}

    def test_names_of_families_lead_to_their_declaration(self) -> None:
        assert metric_of("joint_acceptance[3]") is METRICS["joint_acceptance[k]"]
        assert metric_of("ttft_p99") is METRICS["ttft_p99"]
        assert metric_of("acceptance_length@output[16-64)") is METRICS["acceptance_length@output[16-64)"]
        assert metric_of("acceptance") is None

    def test_times_are_better_lower_and_speeds_higher(self) -> None:
        for name, better in {"ttft": "lower", "tpot_p99": "lower", "output_tps": "higher", "speedup": "higher"}.items():
            assert METRICS[name].better == better
        assert METRICS["coverage"].better is None
