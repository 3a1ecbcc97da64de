from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.dashboards.groups import cell_names, groups_of, whereabouts

if TYPE_CHECKING:
    from types import ModuleType


def test_one_group_per_suite_is_labelled_by_the_suite(specimen: ModuleType) -> None:
    assert [group.label for group in groups_of(specimen.demo())] == ["coding", "summarization", "long-sequence"]


def test_the_control_is_in_no_group_and_categories_stand_apart(specimen: ModuleType) -> None:
    coding = groups_of(specimen.demo())[0]
    assert [cell.arm for cell in coding.overall] == ["none", "ngram D=3", "ngram D=8", "suffix D=8", "draft-model D=3"]
    assert coding.categories == ["write", "edit", "explain"]
    assert coding.baseline.arm == "none"


def test_groups_of_one_suite_are_told_apart_by_what_differs_alone(specimen: ModuleType) -> None:
    one = specimen.cell("ngram", 3, group="a", cell_id="a/1")
    eight = specimen.cell("ngram", 3, group="b", cell_id="b/1", concurrency=8)
    assert [group.label for group in groups_of(specimen.run(one, eight))] == [
        "coding, concurrency 1",
        "coding, concurrency 8",
    ]


def test_engine_settings_tell_groups_apart_by_name(specimen: ModuleType) -> None:
    engines = [{"dtype": "float32", "threads": 2}, {"dtype": "bfloat16", "threads": 2}]
    cells = [specimen.cell(group=str(i), cell_id=str(i), engine=engine) for i, engine in enumerate(engines)]
    assert [group.label for group in groups_of(specimen.run(*cells))] == [
        "coding, dtype float32",
        "coding, dtype bfloat16",
    ]


def test_a_cell_is_named_by_arm_suite_and_load(specimen: ModuleType) -> None:
    cells = [specimen.cell(group=str(load), cell_id=str(load), concurrency=load) for load in (1, 16)]
    assert cell_names(specimen.run(*cells)) == {
        "1": "ngram D=3 on coding, concurrency 1",
        "16": "ngram D=3 on coding, concurrency 16",
    }


def test_lost_engines_are_known_to_the_group_of_their_cell(specimen: ModuleType) -> None:
    cells = [specimen.cell(suite=suite) for suite in ("a", "b")]
    first, second = groups_of(specimen.run(*cells, lost={"b/ngram D=3": "killed"}))
    assert (first.lost, second.lost) == ({}, {"b/ngram D=3": "killed"})


def test_cells_that_were_left_out_do_not_keep_the_others_from_being_all(specimen: ModuleType) -> None:
    cells = [specimen.baseline(), specimen.cell("ngram", 3), specimen.cell("mtp", 3)]
    run = specimen.run(*cells, specimen.cell("suffix", 8, status="left out", status_text="no compiler"))
    assert whereabouts(["coding/ngram D=3", "coding/mtp D=3"], run) == "every speculating arm"
    assert whereabouts(["coding/suffix D=8"], run) == "suffix D=8"


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ((), ""),
        (("a/none", "a/ngram D=3", "a/suffix D=8", "b/none", "b/ngram D=3", "b/suffix D=8"), ""),
        (("a/none", "a/ngram D=3", "a/suffix D=8"), "a"),
        (("a/ngram D=3", "b/ngram D=3"), "ngram D=3"),
        (("b/ngram D=3",), "ngram D=3 on b"),
        (("a/ngram D=3", "a/suffix D=8", "b/ngram D=3", "b/suffix D=8"), "every speculating arm"),
        (("b/ngram D=3", "b/suffix D=8"), "every speculating arm on b"),
        (("a/none", "b/ngram D=3"), "none on a and ngram D=3 on b"),
        (("a/none", "a/ngram D=3", "a/suffix D=8", "b/none"), "a and none on b"),
    ],
)
def test_cells_are_named_in_as_few_words_as_possible(specimen: ModuleType, ids: tuple[str, ...], said: str) -> None:
    arms = (("none", 0), ("ngram", 3), ("suffix", 8))
    cells = [specimen.cell(drafter, d, suite=suite) for suite in ("a", "b") for drafter, d in arms]
    assert whereabouts(ids, specimen.run(*cells)) == said
