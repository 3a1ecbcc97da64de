"""`draftmark.load`: a run as pandas frames, one row per what the frame's name says."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import draftmark
from draftmark.results.errors import ResultsError
from draftmark.results.records import Arm, TurnFailure
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.records import CellRecord, RunManifest, StepColumns, TurnRecord

NGRAM = Arm(drafter="ngram", draft_length=3)


@pytest.fixture
def run(
    tmp_path: Path,
    make_manifest: Callable[..., RunManifest],
    make_cell: Callable[..., CellRecord],
    make_turn: Callable[..., TurnRecord],
    make_steps: Callable[..., StepColumns],
) -> Path:
    steps = make_steps((3, 2), (0, 0), draft_s=[0.25, 0.0], batch=[1, 1])
    fault = TurnFailure(kind="engine-error", message="out of memory")
    with RunStore.create(tmp_path / "run", make_manifest([make_cell("a"), make_cell("b", NGRAM)])) as store:
        store.append_turn(make_turn("w", "a", phase="warmup"))
        store.append_turn(make_turn("p1", "a", category="edit", output_tokens=5, first_token_s=0.5))
        store.append_turn(make_turn("p1", "b", category="edit", output_tokens=5, steps=steps))
        store.append_turn(make_turn("p2", "b", category="write", status="failed", failure=fault))
    return tmp_path / "run"


def test_turns_are_the_measured_ones_with_what_is_unknown_left_missing(run: Path) -> None:
    turns = draftmark.load(run).turns()
    assert list(zip(turns["cell_id"], turns["question_id"], turns["status"], strict=True)) == [
        ("a", "p1", "ok"), ("b", "p1", "ok"), ("b", "p2", "failed"),
    ]  # fmt: skip
    assert turns["output_tokens"].tolist()[:2] == [5, 5]
    assert turns["output_tokens"].isna().tolist() == [False, False, True]
    assert turns["first_token_s"].isna().tolist() == [False, True, True]
    assert turns["steps"].isna().tolist() == [True, False, True]
    assert turns["failure"][2] == "out of memory"


def test_steps_are_rows_of_their_own(run: Path) -> None:
    steps = draftmark.load(run).steps()
    shown = ["cell_id", "question_id", "step", "drafted", "accepted", "delivered", "draft_s"]
    assert steps[shown].to_numpy().tolist() == [["b", "p1", 0, 3, 2, 3, 0.25], ["b", "p1", 1, 0, 0, 1, 0.0]]
    assert steps["verify_s"].isna().all()
    assert steps["draft_nodes"].isna().all()


def test_cells_have_a_row_per_category_and_a_column_per_metric(run: Path) -> None:
    cells = draftmark.load(str(run)).cells()
    assert list(zip(cells["cell_id"], cells["category"].fillna("all"), strict=True)) == [
        ("a", "all"), ("a", "edit"), ("a", "write"), ("b", "all"), ("b", "edit"), ("b", "write"),
    ]  # fmt: skip
    assert cells["acceptance_length"].dtype == "float64"
    assert cells["acceptance_length"][3] == 2.0
    assert pd.isna(cells["acceptance_length"][5])
    pd.testing.assert_frame_equal(draftmark.load(run).frame(), cells)


def test_metrics_say_why_a_number_is_missing(run: Path) -> None:
    metrics = draftmark.load(run).metrics()
    row = metrics[(metrics.cell_id == "b") & (metrics.category == "write") & (metrics.metric == "acceptance_length")]
    assert row["value"].isna().all()
    assert isinstance(row["reason"].item(), str)
    assert len(metrics) == sum(len(cell.metrics) for cell in draftmark.load(run).summary().cells)


def test_an_empty_run_gives_empty_frames_of_the_same_shape(
    tmp_path: Path, run: Path, make_manifest: Callable[..., RunManifest]
) -> None:
    RunStore.create(tmp_path / "empty", make_manifest([])).close()
    full, empty = draftmark.load(run), draftmark.load(tmp_path / "empty")
    for name in ("turns", "steps"):
        filled, bare = getattr(full, name)(), getattr(empty, name)()
        assert len(bare) == 0
        assert dict(bare.dtypes) == dict(filled.dtypes)
    assert len(empty.cells()) == len(empty.metrics()) == 0


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no run folder"):
        draftmark.load(tmp_path / "nothing")


def test_a_loaded_run_introduces_itself(run: Path) -> None:
    assert repr(draftmark.load(run)) == "<draftmark run 'run-1', 2 cells, running>"


def test_importing_draftmark_loads_nothing_heavy() -> None:
    code = "import sys, draftmark; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in loaded if name.startswith("draftmark")] == ["draftmark"]
    assert not {"pandas", "numpy", "pydantic", "scipy", "torch"} & set(loaded)


def test_the_version_is_the_packages_own() -> None:
    assert draftmark.__version__.count(".") >= 2
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        draftmark.nonsense  # noqa: B018
