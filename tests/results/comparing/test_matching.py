"""Cells that answer to each other: by what they are, never by their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.comparing.matching import cell_names, match_cells
from draftmark.results.records import Arm, CellRecord, Sampling
from draftmark.results.records.loads import ClosedLoad

if TYPE_CHECKING:
    from collections.abc import Callable

NONE = Arm(drafter="none", draft_length=0)
CONTROL = Arm(drafter="none", draft_length=0, control=True)


def ngram(length: int) -> Arm:
    return Arm(drafter="ngram", draft_length=length)


def test_cells_are_paired_whatever_their_order_and_ids(make_cell: Callable[..., CellRecord]) -> None:
    before = [make_cell("a", NONE), make_cell("b", ngram(3)), make_cell("c", ngram(5))]
    after = [make_cell("x", ngram(5)), make_cell("y", NONE), make_cell("z", ngram(3))]
    found = match_cells(before, after)
    assert [(pair.before.cell_id, pair.after.cell_id) for pair in found.pairs] == [("c", "x"), ("a", "y"), ("b", "z")]
    assert (found.vanished, found.appeared) == ([], [])


def test_another_temperature_is_the_same_cell_with_another_setting(make_cell: Callable[..., CellRecord]) -> None:
    found = match_cells([make_cell("a", ngram(3))], [make_cell("b", ngram(3), sampling=Sampling(temperature=1))])
    assert [pair.after.cell_id for pair in found.pairs] == ["b"]


def test_of_cells_that_are_the_same_the_one_with_the_fewest_other_settings_is_taken(
    make_cell: Callable[..., CellRecord],
) -> None:
    before = [make_cell("two", NONE, engine={"threads": 2}), make_cell("four", NONE, engine={"threads": 4})]
    after = [make_cell("4", NONE, engine={"threads": 4}), make_cell("2", NONE, engine={"threads": 2})]
    pairs = match_cells(before, after).pairs
    assert {pair.before.cell_id: pair.after.cell_id for pair in pairs} == {"two": "2", "four": "4"}


def test_a_cell_without_a_partner_is_named_as_vanished_or_new(make_cell: Callable[..., CellRecord]) -> None:
    before, after = [make_cell("a", NONE), make_cell("b", ngram(8))], [make_cell("a", NONE), make_cell("c", ngram(4))]
    found = match_cells(before, after)
    assert [one.name for one in found.vanished] == ["reference / coding / ngram D=8 / concurrency 1"]
    assert [one.name for one in found.appeared] == ["reference / coding / ngram D=4 / concurrency 1"]


def test_a_mapping_pairs_renamed_cells_by_name_or_id(make_cell: Callable[..., CellRecord]) -> None:
    before, after = [make_cell("b", ngram(8))], [make_cell("c", ngram(4))]
    for renamed in ({"b": "c"}, {"reference / coding / ngram D=8 / concurrency 1": "c"}):
        found = match_cells(before, after, renamed)
        assert [(pair.before.cell_id, pair.after.cell_id, pair.renamed) for pair in found.pairs] == [("b", "c", True)]
        assert (found.vanished, found.appeared) == ([], [])


def test_an_arm_that_was_left_out_has_vanished_and_says_why(make_cell: Callable[..., CellRecord]) -> None:
    after = [make_cell("b", ngram(8), left_out="arctic-inference is not installed")]
    (gone,) = match_cells([make_cell("b", ngram(8))], after).vanished
    assert gone.why == "left out: arctic-inference is not installed"


def test_the_control_is_not_missed(make_cell: Callable[..., CellRecord]) -> None:
    found = match_cells([make_cell("a", NONE), make_cell("k", CONTROL)], [make_cell("a", NONE)])
    assert found.vanished == []


def test_names_are_unique(make_cell: Callable[..., CellRecord]) -> None:
    cells = [
        make_cell("a", NONE),
        make_cell("b", NONE, engine={"threads": 4}),
        make_cell("c", NONE, load=ClosedLoad(concurrency=2)),
    ]
    names = cell_names(cells)
    assert names["c"] == "reference / coding / none / concurrency 2"
    assert len(set(names.values())) == 3
