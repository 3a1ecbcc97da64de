from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.dashboards.groups import groups_of

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
