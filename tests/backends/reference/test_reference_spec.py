"""The plan's entry of the reference engine: light to import, and a sentence for everything that is missing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from draftmark.backends.base import BackendError
from draftmark.backends.reference import ReferenceSpec, drafter_spec
from draftmark.backends.registry import BACKENDS
from draftmark.results.engine_names import REFERENCE
from draftmark.results.records import Arm

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = Arm(drafter="suffix", draft_length=8)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that packages are not installed."""
    known = importlib.util.find_spec

    def hide(*names: str) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else known(name))

    return hide


def test_a_plan_finds_it_by_its_kind() -> None:
    assert BACKENDS.resolve(REFERENCE) is ReferenceSpec


def test_declaring_it_imports_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from draftmark.backends.reference import ReferenceSpec; "
        "from draftmark.results.records import Arm; "
        "ReferenceSpec().arm_problem(Arm(drafter='ngram', draft_length=3)); "
        "print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_defaults_belong_into_the_cell_key() -> None:
    assert ReferenceSpec().engine_settings() == {"device": "cpu", "dtype": "float32", "threads": None}


@pytest.mark.parametrize("settings", [{"device": "tpu"}, {"dtype": "int4"}, {"threads": 0}, {"thread": 2}])
def test_settings_it_does_not_have_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ReferenceSpec(**settings)


def test_missing_packages_are_named_with_the_command(without: Any) -> None:
    without("torch", "transformers")
    told = ReferenceSpec().arm_problem(SUFFIX)
    assert told == "the reference engine needs torch and transformers; run: pip install 'draftmark[reference]'"


def test_a_missing_suffix_library_is_named_with_the_command(without: Any) -> None:
    without("arctic_inference")
    told = ReferenceSpec().arm_problem(SUFFIX)
    assert told is not None
    assert "needs arctic-inference" in told
    assert "pip install 'draftmark[suffix]'" in told
    assert ReferenceSpec().arm_problem(Arm(drafter="ngram", draft_length=3)) is None


@pytest.mark.parametrize(
    ("arm", "told"),
    [
        (Arm(drafter="eagle3", draft_length=3), "no drafter 'eagle3'; it has none, ngram, suffix, draft-model"),
        (Arm(drafter="ngram", draft_length=3, options={"max_macth": 3}), "max_macth"),
        (Arm(drafter="ngram", draft_length=3, options={"min_match": 5}), "min_match 5 is above max_match 3"),
        (Arm(drafter="ngram", draft_length=0), "draft_length"),
        (Arm(drafter="draft-model", draft_length=3), "model"),
        (Arm(drafter="draft-model", draft_length=3, options={"model": "./nowhere"}), "no such file or folder"),
    ],
)
def test_arms_it_cannot_run_are_told_why(arm: Arm, told: str) -> None:
    problem = ReferenceSpec().arm_problem(arm)
    assert problem is not None
    assert told in problem


def test_no_cuda_device_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    told = ReferenceSpec(device="cuda").arm_problem(Arm(drafter="none", draft_length=0))
    assert told is not None
    assert "sees no CUDA device" in told


def test_an_arm_reads_back_into_its_drafter_with_defaults() -> None:
    spec = drafter_spec(Arm(drafter="suffix", draft_length=8, options={"max_depth": 32}))
    assert spec.model_dump() == {
        "kind": "suffix",
        "optional": False,
        "draft_length": [8],
        "draft_length_by_batch": None,
        "max_depth": 32,
        "max_spec_factor": 1.0,
        "min_token_probability": 0.1,
        "cached_requests": 0,
    }


def test_a_drafter_round_trips_through_its_arm() -> None:
    arm = Arm(drafter="draft-model", draft_length=3, options={"model": "x/y", "drop_layers": [1, 2], "parallel": False})
    assert drafter_spec(arm).arms() == [arm]
    with pytest.raises(BackendError, match="'medusa'"):
        drafter_spec(Arm(drafter="medusa", draft_length=3))


@pytest.mark.parametrize(
    ("dropped", "said"),
    [([0], None), ([2], "there is no layer 2; the model has layers 0 to 1"), ([0, 1], "no layer would be left")],
)
def test_layers_that_cannot_be_dropped_are_found_before_anything_is_loaded(
    tmp_path: Path, dropped: list[int], said: str | None
) -> None:
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 2}', encoding="utf-8")
    options = {"model": str(tmp_path), "drop_layers": dropped}
    problem = ReferenceSpec().arm_problem(Arm(drafter="draft-model", draft_length=3, options=options))
    assert problem is None if said is None else said in str(problem)
