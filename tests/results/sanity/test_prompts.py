"""The lamp on prompts that are known to mislead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from draftmark.results.records import Arm, RunManifest, SuiteCaution, SuiteIdentity
from draftmark.results.sanity.checked import check_run
from draftmark.results.sanity.prompts import check_prompts

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.results.records import CellRecord


def suite(caution: SuiteCaution | None) -> SuiteIdentity:
    return SuiteIdentity(name="coding", hash="5" * 64, prompts=5, turns=5, selection="all", caution=caution)


def manifest(
    make_manifest: Callable[..., RunManifest], make_cell: Callable[..., CellRecord], caution: SuiteCaution | None
) -> RunManifest:
    cells = [
        make_cell("base"),
        make_cell("head", Arm(drafter="eagle3", draft_length=3)),
        make_cell("lookup", Arm(drafter="ngram", draft_length=3)),
        make_cell("elsewhere", Arm(drafter="eagle3", draft_length=3), suite="math"),
    ]
    return make_manifest(cells, suites=[suite(caution)])


def test_a_caution_for_all_arms_speaks_of_every_cell_of_the_suite(
    make_manifest: Callable[..., RunManifest], make_cell: Callable[..., CellRecord]
) -> None:
    (lamp,) = check_prompts(manifest(make_manifest, make_cell, SuiteCaution(text="Random.")))
    assert (lamp.name, lamp.level, lamp.text) == ("prompts", "warning", "Random.")
    assert lamp.cells == ["base", "head", "lookup"]


def test_a_caution_for_some_drafters_is_silent_without_them(
    make_manifest: Callable[..., RunManifest], make_cell: Callable[..., CellRecord]
) -> None:
    seen = SuiteCaution(text="Seen in training.", drafters=("eagle3",))
    (lamp,) = check_prompts(manifest(make_manifest, make_cell, seen))
    assert lamp.cells == ["head"]
    other = SuiteCaution(text="Seen in training.", drafters=("medusa",))
    assert list(check_prompts(manifest(make_manifest, make_cell, other))) == []


def test_it_is_among_the_runs_lamps_before_all_others_of_its_kind(
    make_manifest: Callable[..., RunManifest], make_cell: Callable[..., CellRecord]
) -> None:
    lamps = check_run(manifest(make_manifest, make_cell, SuiteCaution(text="Random.")), [], [])
    assert lamps[0].text == "Random."


def test_a_manifest_of_before_has_none(make_manifest: Callable[..., RunManifest]) -> None:
    told = make_manifest().model_dump(mode="json")
    del told["suites"][0]["caution"]
    assert RunManifest.model_validate_json(json.dumps(told)).suites[0].caution is None
