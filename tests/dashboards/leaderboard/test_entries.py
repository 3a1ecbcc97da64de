"""What an entry discloses, what it lacks, and what makes it unfit to be ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.results.records import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.dashboards.leaderboard.entries import Entry

    Entered = Callable[..., list[Entry]]


def lacking(entry: Entry) -> list[str]:
    return [line.partition(":")[0] for line in entry.missing]


def test_a_run_that_tells_everything_enters_each_arm_but_the_baseline(entered: Entered) -> None:
    found = entered({"none": 1.0, "ngram": 1.5, "suffix": 2.0}, control=1.0)
    assert [entry.cell.arm for entry in found] == ["ngram D=3", "suffix D=3"]
    for entry, speedup in zip(found, (1.5, 2.0), strict=True):
        assert (entry.missing, entry.faults, entry.ranked) == ((), (), True)
        assert entry.cell.metrics["speedup"].value == pytest.approx(speedup)
        assert entry.cell.metrics["acceptance_length"].value == 2.0
        assert entry.cell.metrics["draft_overhead"].value == pytest.approx(0.1)
        assert entry.baseline.metrics["tpot"].value == pytest.approx(0.05)
        assert [(part.category, part.turns_ok) for part in entry.parts] == [("edit", 5), ("write", 5)]
        assert entry.hardware == "Example CPU, 2 cores"
        assert entry.losslessness == "0 of 10 answers differ from no speculation's"
        assert "CPU" in entry.caveats[0]


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        ({"timed": False}, ["draft overhead"]),
        ({"compared": False}, ["losslessness"]),
        ({"sampling": Sampling(temperature=0.8)}, ["losslessness"]),
        ({"plan": {}}, ["how to repeat it"]),
        ({"resolved": {}, "engine": {"dtype": "bfloat16"}}, ["hardware"]),
        ({"backend": "vllm", "resolved": {"gpus": 0}}, ["engine version"]),
        ({"resolved": {"process": "a server", "vllm": "0.32.0"}, "backend": "vllm"}, ["hardware"]),
    ],
)
def test_an_entry_that_lacks_something_says_what(entered: Entered, facts: dict[str, Any], missing: list[str]) -> None:
    (entry,) = entered(**facts)
    assert lacking(entry) == missing
    assert not entry.ranked
    assert not entry.faults


def test_without_a_baseline_there_is_neither_speed_up_nor_losslessness(entered: Entered) -> None:
    (entry,) = entered({"ngram": 1.5}, compared=False)
    assert lacking(entry) == [
        "speed-up",
        "draft overhead",
        "milliseconds per token of no speculation",
        "losslessness",
    ]
    assert "no baseline" in entry.missing[0]


def test_an_arm_that_changes_the_output_is_a_fault_whatever_its_speed(entered: Entered) -> None:
    changed, kept = entered({"none": 1.0, "ngram": 9.0, "suffix": 1.5}, faults=("ngram",))
    assert not changed.ranked
    assert changed.faults[0] == "changes the output"
    assert "Speculation changed the output" in " ".join(changed.faults)
    assert changed.losslessness == "1 of 10 answers changed without excuse"
    assert kept.ranked


def test_an_unfinished_arm_is_listed_with_how_far_it_got(entered: Entered) -> None:
    (entry,) = entered(answered={"ngram": 7}, status="interrupted")
    assert entry.faults[0] == "not finished: partial 7/10"
    assert not entry.ranked


def test_an_arm_that_was_left_out_is_listed_with_the_reason(entered: Entered) -> None:
    (whole,) = entered()
    cells = [whole.record.model_copy(update={"left_out": "no C++ compiler", "cell_id": "ngram"})]
    (entry,) = entered({}, run="other", cells=cells)
    assert entry.faults[0] == "not run: no C++ compiler"
    assert not entry.ranked


def test_a_drifting_baseline_is_a_warning_that_stays_with_the_entry(entered: Entered) -> None:
    (entry,) = entered(control=1.3)
    assert any("second run of the baseline" in text for text in entry.warnings)


def test_local_paths_are_cut_and_said_to_be(entered: Entered) -> None:
    (entry,) = entered(target="/home/someone/models/tiny", plan={"target": "/home/someone/models/tiny"})
    assert entry.cell.target == "tiny"
    assert "someone" not in entry.source.plan
    assert entry.source.paths_cut
