"""A baseline that will not do is found before anything is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.gating.baseline import check_baseline, is_missing
from draftmark.results.errors import ResultsError
from draftmark.results.gating import Rules
from draftmark.results.records import ModelIdentity
from draftmark.results.run_folder.store import RunStore
from draftmark.results.run_folder.strict_json import encode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.records import CellRecord, Environment, RunManifest

    MakeRun = Callable[..., Path]


def manifest_of(folder: Path) -> RunManifest:
    return RunStore.read(folder).manifest


def planned(folder: Path, **changes: Any) -> list[CellRecord]:
    """The cells of a run as they were before its engine started."""
    cells = [cell.model_copy(update={"resolved": {}}) for cell in manifest_of(folder).cells]
    return [cell.model_copy(update={"key": cell.key.model_copy(update=changes)}) for cell in cells]


def machine_of(folder: Path) -> Environment:
    return manifest_of(folder).sessions[0].environment


def test_the_same_plan_on_the_same_machine_is_fine(make_run: MakeRun) -> None:
    run = make_run("a")
    found = check_baseline(planned(run), run, environment=machine_of(run), target=manifest_of(run).target)
    assert found == []


@pytest.mark.parametrize("there", [False, True])
def test_no_folder_and_an_empty_one_are_missing(make_run: MakeRun, tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "nowhere"
    if there:
        folder.mkdir()
    assert is_missing(folder)
    with pytest.raises(ResultsError, match="no baseline: there is no run in"):
        check_baseline(planned(make_run("a")), folder)


def test_a_folder_of_something_else_is_wrong_and_not_missing(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "notes.txt").write_text("hello")
    assert not is_missing(tmp_path / "else")
    with pytest.raises(ResultsError, match="no run folder of Draftmark"):
        check_baseline(planned(make_run("a")), tmp_path / "else")


def test_another_machine(make_run: MakeRun) -> None:
    run = make_run("a")
    other = machine_of(run).model_copy(update={"gpus": ["GPU-B, 80 GiB, 1.0"]})
    with pytest.raises(ResultsError, match=r"environment\.gpus was \['GPU-A, 80 GiB'\], is \['GPU-B, 80 GiB'\]"):
        check_baseline(planned(run), run, environment=other)


def test_other_weights(make_run: MakeRun) -> None:
    run = make_run("a")
    with pytest.raises(ResultsError, match=r"target\.files was"):
        check_baseline(planned(run), run, target=ModelIdentity(name="tiny", files={"model.safetensors": "c" * 64}))


def test_other_prompts_unless_the_rules_allow_it(make_run: MakeRun) -> None:
    run = make_run("a")
    cells = planned(run, suite_hash="6" * 64)
    with pytest.raises(ResultsError, match="suite_hash was"):
        check_baseline(cells, run)
    assert check_baseline(cells, run, rules=Rules(allow_different=["suite_hash"])) == []


def test_nothing_in_common(make_run: MakeRun) -> None:
    run = make_run("a")
    with pytest.raises(ResultsError, match="no cell in common with this plan"):
        check_baseline(planned(run, suite="other"), run)


def test_an_interrupted_baseline(make_run: MakeRun) -> None:
    run = make_run("a", status="interrupted")
    with pytest.raises(ResultsError, match="is interrupted: resume it"):
        check_baseline(planned(run), run)


def test_a_baseline_without_any_turn(make_run: MakeRun) -> None:
    run = make_run("a", repeats=0)
    with pytest.raises(ResultsError, match="has no turn in any cell of this plan"):
        check_baseline(planned(run), run)


def test_cells_on_one_side_only_are_told(make_run: MakeRun) -> None:
    few, many = make_run("a"), make_run("b", lengths=(4, 2))
    name = "reference / coding / ngram D=2 / concurrency 1"
    assert check_baseline(planned(few), many) == [
        f"{name} of the baseline is not in this plan: the gate will be red for it"
    ]
    assert check_baseline(planned(few), many, rules=Rules(vanished=[name])) == []
    assert check_baseline(planned(many), few) == [f"{name} is new: nothing to compare with"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"plan": {"template_options": {"budget": 1}}}, "plan.template_options.budget was None, is 1"),
        ({"plan": {"earlier_reasoning": "kept"}}, "plan.earlier_reasoning was 'stripped', is 'kept'"),
        ({"chat_template_hash": "c" * 64}, "plan.chat_template was"),
    ],
)
def test_a_template_that_is_told_otherwise_is_refused_before_anything_runs(
    make_run: MakeRun, change: dict[str, Any], field: str
) -> None:
    run = make_run("a")
    begun = manifest_of(run).model_copy(update={"chat_template_hash": "b" * 64})
    (run / "manifest.json").write_bytes(encode(begun))
    assert check_baseline(planned(run), run, planned=begun) == []
    with pytest.raises(ResultsError, match="cannot be compared with a run here") as refused:
        check_baseline(planned(run), run, planned=begun.model_copy(update=change))
    assert field in str(refused.value)
