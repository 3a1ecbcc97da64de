"""The first sentences of the page, each worked out by hand from the arms' intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.answer.verdict import answers
from draftmark.results.summary import Lamp

if TYPE_CHECKING:
    from types import ModuleType

    from draftmark.dashboards.answer.verdict import Answer
    from draftmark.results.summary import RunSummary


def only(summary: RunSummary) -> Answer:
    (found,) = answers(summary)
    return found


def test_an_arm_pays_when_its_whole_interval_lies_above_one(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.32, 1.10, 1.58, note="prompt sampling only"))
    answer = only(specimen.run(specimen.baseline(), arm))
    assert answer.outcome == "pays"
    assert answer.sentence == "coding: ngram D=8 is 1.32x the speed of no speculation [1.10, 1.58]"
    assert answer.sureness == ("95% interval from 24 pairs of answers", "one launch of the engine")


def test_nothing_pays_when_every_interval_ends_below_a_gain_worth_having(specimen: ModuleType) -> None:
    answer = only(
        specimen.run(
            specimen.baseline(),
            specimen.cell("ngram", 3, metrics=specimen.gain(0.95, 0.90, 1.01, al=1.3)),
            specimen.cell("ngram", 8, metrics=specimen.gain(0.92, 0.88, 0.97, al=1.2)),
        )
    )
    assert answer.outcome == "nothing"
    assert answer.sentence == (
        "coding: nothing pays here: the best arm, ngram D=3, is 0.95x the speed of no speculation [0.90, 1.01]; "
        "ngram D=8 is slower, 0.92x [0.88, 0.97]"
    )


def test_an_interval_from_below_one_to_a_real_gain_cannot_tell(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.79, 0.98, 2.90))
    answer = only(specimen.run(specimen.baseline(), arm))
    assert answer.outcome == "unclear"
    assert answer.sentence == (
        "coding: cannot tell: ngram D=8 measures 1.79x the speed of no speculation, but its interval [0.98, 2.90] "
        "leaves open whether it helps"
    )


def test_one_open_arm_keeps_a_suite_from_being_called_lost(specimen: ModuleType) -> None:
    closed = specimen.cell("ngram", 3, metrics=specimen.gain(0.99, 0.97, 1.01, al=1.3))
    still_open = specimen.cell("suffix", 8, metrics=specimen.gain(0.96, 0.60, 1.60, al=1.2))
    answer = only(specimen.run(specimen.baseline(), closed, still_open))
    assert answer.outcome == "unclear"
    assert answer.headline.startswith("suffix D=8 measures 0.96x")


def test_without_intervals_the_run_cannot_tell_however_large_the_gain(specimen: ModuleType) -> None:
    few = specimen.gain(1.9, note="no interval: 5 conversations, 8 are needed")
    answer = only(specimen.run(specimen.baseline(), specimen.cell("ngram", 8, metrics=few)))
    assert answer.outcome == "unclear"
    assert answer.headline == (
        "ngram D=8 measures 1.90x the speed of no speculation, without an interval "
        "(no interval: 5 conversations, 8 are needed)"
    )


def test_an_unmeasured_speed_up_gives_its_reason(specimen: ModuleType) -> None:
    answer = only(specimen.run(specimen.baseline(), specimen.cell("ngram", 8, metrics=specimen.gain(None))))
    assert answer.sentence == "coding: cannot tell: speed-up was not measured (the baseline failed)"


def test_a_group_without_a_baseline_or_without_arms_cannot_tell(specimen: ModuleType) -> None:
    alone = only(specimen.run(specimen.cell("ngram", 8, metrics=specimen.gain(None))))
    assert alone.headline == "there is no arm without speculation to compare with"
    plain = only(specimen.run(specimen.baseline()))
    assert (plain.outcome, plain.headline) == ("unclear", "no speculating arm was run")


def test_an_arm_that_changes_the_output_never_pays(specimen: ModuleType) -> None:
    wrong = specimen.cell("ngram", 8, metrics=specimen.gain(1.9, 1.7, 2.1))
    right = specimen.cell("ngram", 3, metrics=specimen.gain(1.2, 1.1, 1.3))
    fault = Lamp(name="losslessness", level="fault", text="3 answers differ.", cells=[wrong.cell_id])
    answer = only(specimen.run(specimen.baseline(), wrong, right, lamps=[fault]))
    assert answer.headline == "ngram D=3 is 1.20x the speed of no speculation [1.10, 1.30]"
    assert "ngram D=8 measures 1.90x but changes the output, so it does not count" in answer.details
    assert not any("ngram D=8" in said and "pays" in said for said in (answer.headline, *answer.details))


def test_a_fault_of_all_cells_leaves_no_winner(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.9, 1.7, 2.1))
    fault = Lamp(name="losslessness", level="fault", text="Every answer differs.", cells=[])
    answer = only(specimen.run(specimen.baseline(), arm, lamps=[fault]))
    assert (answer.outcome, answer.headline) == (
        "unclear",
        "the only arms with a measured speed-up change the output",
    )


def test_numeric_ties_do_not_disqualify(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.9, 1.7, 2.1))
    tie = Lamp(name="losslessness", level="note", text="1 numeric tie.", cells=[arm.cell_id])
    assert only(specimen.run(specimen.baseline(), arm, lamps=[tie])).outcome == "pays"


def test_the_winner_is_the_fastest_proven_arm_and_the_rest_is_said(specimen: ModuleType) -> None:
    answer = only(
        specimen.run(
            specimen.baseline(),
            specimen.cell("ngram", 3, metrics=specimen.gain(1.17, 1.04, 1.33, al=1.9)),
            specimen.cell("ngram", 8, metrics=specimen.gain(1.32, 1.10, 1.58, al=2.3)),
            specimen.cell("suffix", 8, metrics=specimen.gain(1.50, 0.95, 2.30, al=2.1)),
        )
    )
    assert answer.headline == "ngram D=8 is 1.32x the speed of no speculation [1.10, 1.58]"
    assert answer.details == (
        "ngram D=3 (1.17x) pays too",
        "suffix D=8 measures more, 1.50x, but its interval does not lie above 1",
    )
    assert answer.sureness[-1] == "best of 3 arms, and picking the best flatters it"


def test_arms_left_out_unfinished_or_with_failures_are_said(specimen: ModuleType) -> None:
    left_out = specimen.cell("suffix", 8, status="left out", status_text="arctic-inference is not installed")
    partial = specimen.cell(
        "ngram",
        8,
        metrics=specimen.gain(1.32, 1.10, 1.58),
        status="partial",
        status_text="partial 3/5, 1 failed",
        turns_ok=2,
        turns_failed=1,
        turns_expected=5,
    )
    answer = only(specimen.run(specimen.baseline(), partial, left_out))
    assert "suffix D=8 was left out" in answer.details
    assert answer.sureness == (
        "95% interval from 24 pairs of answers",
        "only 3 of 5 turns so far",
        "1 failed turn left out",
    )


def test_categories_and_the_control_do_not_answer_for_a_suite(specimen: ModuleType) -> None:
    control = specimen.cell("none", 0, arm="none (control)", control=True, metrics=specimen.gain(1.4, 1.3, 1.5))
    part = specimen.cell("ngram", 8, category="edit", metrics=specimen.gain(2.0, 1.8, 2.2))
    whole = specimen.cell("ngram", 8, metrics=specimen.gain(0.9, 0.85, 0.95))
    assert only(specimen.run(specimen.baseline(), control, whole, part)).outcome == "nothing"


def test_numbers_that_are_not_finite_are_not_measured(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(float("inf"), 1.2, float("inf")))
    answer = only(specimen.run(specimen.baseline(), arm))
    assert answer.headline == "speed-up was not measured (the number is not finite)"


def test_the_demo_answers_suite_by_suite(specimen: ModuleType) -> None:
    assert [(one.scope, one.outcome) for one in answers(specimen.demo())] == [
        ("coding", "pays"),
        ("summarization", "nothing"),
        ("long-sequence", "unclear"),
    ]


def test_lamps_that_are_not_green_for_the_winner_or_the_baseline_stand_beside_the_answer(specimen: ModuleType) -> None:
    arm = specimen.cell("ngram", 8, metrics=specimen.gain(1.32, 1.10, 1.58))
    control = specimen.cell("none", 0, arm="none (control)", control=True, cell_id="coding/control")
    lamps = [
        Lamp(name="baseline", level="warning", text="The two runs differ by 9%.", cells=["coding/control"]),
        Lamp(name="speculation", level="warning", text="Coverage is 2%.", cells=["coding/other"]),
        Lamp(name="launches", level="note", text="One launch.", cells=[]),
    ]
    answer = only(specimen.run(specimen.baseline(), control, arm, lamps=lamps))
    assert answer.sureness == ("95% interval from 24 pairs of answers", "warning about the baseline")


def test_an_arm_that_lost_its_engine_never_pays_and_is_named(specimen: ModuleType) -> None:
    gone = specimen.cell(
        "eagle3", 3, status="partial", status_text="partial 3/24; killed", metrics=specimen.gain(2.1, 1.9, 2.3)
    )
    here = specimen.cell("ngram", 3, metrics=specimen.gain(1.2, 1.1, 1.3))
    lost = {gone.cell_id: "the engine was killed (SIGKILL)"}
    answer = only(specimen.run(specimen.baseline(), gone, here, lost=lost))
    assert answer.headline == "ngram D=3 is 1.20x the speed of no speculation [1.10, 1.30]"
    assert "eagle3 D=3 lost its engine and does not count" in answer.details
    alone = only(specimen.run(specimen.baseline(), gone, lost=lost))
    assert (alone.outcome, alone.headline) == ("unclear", "every speculating arm lost its engine")


def test_answers_of_one_suite_at_several_loads_are_told_apart(specimen: ModuleType) -> None:
    cells = [
        specimen.cell(
            "ngram",
            3,
            group=f"at {load}",
            cell_id=f"ngram at {load}",
            concurrency=load,
            metrics=specimen.gain(gain, gain - 0.1, gain + 0.1),
        )
        for load, gain in ((1, 1.5), (4, 1.2), (16, 0.8))
    ]
    assert [(one.scope, one.outcome) for one in answers(specimen.run(*cells))] == [
        ("coding, concurrency 1", "pays"),
        ("coding, concurrency 4", "pays"),
        ("coding, concurrency 16", "nothing"),
    ]
