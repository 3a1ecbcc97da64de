"""Why arms lose: what a step yields against what it costs, since yield over cost is the speed-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.answer.reasons import is_slower, what_a_step_is, why_not_the_longest, why_slower

if TYPE_CHECKING:
    from types import ModuleType

    from draftmark.results.summary import CellSummary


def slow(specimen: ModuleType, drafter: str = "draft-model", al: float = 2.28, **costs: float) -> CellSummary:
    return specimen.cell(drafter, 3, metrics=specimen.gain(0.62, 0.43, 0.85, al=al, **costs))


def fast(specimen: ModuleType, al: float = 1.5) -> CellSummary:
    return specimen.cell("ngram", 3, metrics=specimen.gain(1.3, 1.2, 1.4, al=al))


def test_the_arm_that_accepts_most_and_loses_is_named_with_what_its_step_costs(specimen: ModuleType) -> None:
    loser = slow(specimen, step_cost_ratio=3.70, draft_overhead=2.32, verify_inflation=1.38)
    assert why_not_the_longest(fast(specimen), [fast(specimen), loser]) == [
        "draft-model D=3 accepts most, 2.28 tokens a step, yet is slower, 0.62x [0.43, 0.85]: its step takes as long "
        "as 3.70 plain ones (drafting 2.32, verifying up to 4 tokens at once 1.38)"
    ]


def test_a_loser_that_does_not_accept_most_says_also_what_its_step_yields(specimen: ModuleType) -> None:
    best = fast(specimen, al=2.5)
    loser = slow(specimen, step_cost_ratio=3.70, draft_overhead=2.32, verify_inflation=1.38)
    assert why_not_the_longest(best, [best, loser]) == []
    assert why_slower(best, [best, loser]) == [
        "draft-model D=3 is slower, 0.62x [0.43, 0.85]: a step yields 2.28 tokens and takes as long as 3.70 plain ones "
        "(drafting 2.32, verifying up to 4 tokens at once 1.38)"
    ]


def test_the_dearer_part_comes_first_and_cheap_ones_are_not_named(specimen: ModuleType) -> None:
    best = fast(specimen)
    dear_to_verify = slow(specimen, step_cost_ratio=2.4, draft_overhead=0.3, verify_inflation=2.0)
    (said,) = why_not_the_longest(best, [best, dear_to_verify])
    assert said.endswith("2.40 plain ones (verifying up to 4 tokens at once 2.00, drafting 0.30)")
    cheap_to_draft = slow(specimen, step_cost_ratio=1.5, draft_overhead=0.01, verify_inflation=1.48)
    (said,) = why_not_the_longest(best, [best, cheap_to_draft])
    assert said.endswith("1.50 plain ones (verifying up to 4 tokens at once 1.48)")


def test_the_parts_are_the_reason_where_the_whole_step_was_not_measured(specimen: ModuleType) -> None:
    loser = slow(specimen, draft_overhead=0.9, verify_inflation=1.0)
    (said,) = why_not_the_longest(fast(specimen), [fast(specimen), loser])
    assert said.endswith("[0.43, 0.85]: verifying up to 4 tokens at once 1.00, drafting 0.90 in plain steps")


def test_no_reason_is_invented_where_no_cost_was_measured(specimen: ModuleType) -> None:
    (said,) = why_not_the_longest(fast(specimen), [fast(specimen), slow(specimen)])
    assert said == "draft-model D=3 accepts most, 2.28 tokens a step, yet is slower, 0.62x [0.43, 0.85]"


def test_what_a_step_of_the_best_arm_yields_and_costs_is_said_where_both_are_known(specimen: ModuleType) -> None:
    both = specimen.cell("suffix", 8, metrics=specimen.gain(1.89, 1.2, 2.9, al=2.09, step_cost_ratio=1.10))
    assert what_a_step_is(both) == ["a step yields 2.09 tokens and takes as long as 1.10 plain ones"]
    assert what_a_step_is(fast(specimen)) == []


def test_a_best_arm_that_accepts_most_and_loses_is_explained(specimen: ModuleType) -> None:
    best = slow(specimen, al=1.4, verify_inflation=1.5)
    assert why_not_the_longest(best, [best]) == [
        "it accepts most, 1.40 tokens a step, and still loses: verifying up to 4 tokens at once 1.50 in plain steps"
    ]


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        ((0.81, 0.77, 0.86), "yet is slower, 0.81x [0.77, 0.86]"),
        ((1.10, 1.02, 1.18), "but gains less, 1.10x [1.02, 1.18]"),
        ((0.99, 0.90, 1.04), "yet is not shown to gain, 0.99x [0.90, 1.04]"),
        ((0.70,), "yet measures slower, 0.70x"),
        ((1.20,), "yet measures less, 1.20x"),
    ],
)
def test_the_arm_that_accepts_most_is_described_as_surely_as_it_was_measured(
    specimen: ModuleType, gain: tuple[float, ...], said: str
) -> None:
    longest = specimen.cell("draft-model", 3, metrics=specimen.gain(*gain, al=2.9))
    assert why_not_the_longest(fast(specimen), [fast(specimen), longest]) == [
        f"draft-model D=3 accepts most, 2.90 tokens a step, {said}"
    ]


def test_the_two_that_accept_most_are_explained_and_the_other_losers_named(specimen: ModuleType) -> None:
    best = fast(specimen, al=2.0)
    losers = [
        specimen.cell(drafter, 3, metrics=specimen.gain(0.8, 0.7, 0.9, al=al))
        for drafter, al in (("mtp", 1.1), ("eagle", 1.9), ("suffix", 1.2), ("eagle3", 1.4))
    ]
    assert why_slower(best, [best, *losers]) == [
        "eagle D=3 is slower, 0.80x [0.70, 0.90]",
        "eagle3 D=3 is slower, 0.80x [0.70, 0.90]",
        "suffix D=3 (0.80x) and mtp D=3 (0.80x) are slower too",
    ]


@pytest.mark.parametrize(
    ("gain", "slower"),
    [
        ((0.87, 0.80, 0.93), True),
        ((0.97, 0.90, 1.04), False),
        ((0.87,), True),
        ((0.97,), False),
        ((1.4, 1.2, 1.6), False),
        ((None,), False),
    ],
)
def test_slower_is_what_lies_below_one_with_its_whole_interval(
    specimen: ModuleType, gain: tuple[float | None, ...], slower: bool
) -> None:
    assert is_slower(specimen.cell("ngram", 3, metrics=specimen.gain(*gain))) is slower
