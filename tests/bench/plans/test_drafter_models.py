"""A drafter's model that is none, or was made for another target, is told of before an engine is started for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.plans.drafter_models import drafter_model_warnings
from draftmark.bench.plans.plan import load_plan

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = Path(__file__).parents[2] / "data" / "smollm2-135m-eagle3"
"""An EAGLE-3 head for a target of 576 numbers a token and 49,152 tokens."""


@pytest.fixture
def told(write_plan: Callable[..., Path], tmp_path: Path) -> Callable[..., list[str]]:
    """What is told of a plan of drafters for a target of these sizes; null for one that is not here."""

    def tell(*drafters: dict[str, Any], width: int | None = 576, tokens: int = 49152) -> list[str]:
        target = "no/such-model"
        if width is not None:
            sizes = {"hidden_size": width, "vocab_size": tokens, "num_hidden_layers": 30}
            config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **sizes}
            (tmp_path / "target").mkdir(exist_ok=True)
            (tmp_path / "target" / "config.json").write_text(json.dumps(config), encoding="utf-8")
            target = str(tmp_path / "target")
        asked = [{"kind": "none"}, *({"draft_length": 3, **one} for one in drafters)]
        path = write_plan(target=target, backends=[{"kind": "vllm"}], drafters=asked)
        return list(drafter_model_warnings(load_plan(path, {})))

    return tell


def test_a_head_that_fits_is_no_matter(told: Callable[..., list[str]]) -> None:
    assert told({"kind": "eagle3", "model": str(HEAD)}) == []


def test_a_head_of_another_kind_is_named_with_the_entry(told: Callable[..., list[str]]) -> None:
    assert told({"kind": "ngram"}, {"kind": "medusa", "model": str(HEAD)}) == [
        f"drafters[2]: medusa with model {str(HEAD)!r}: by its files it is of kind eagle3"
    ]
    (sentence,) = told({"kind": "draft-model", "model": str(HEAD)})
    assert "it is of kind eagle3" in sentence


def test_a_head_for_another_target_is_told_with_both_numbers(told: Callable[..., list[str]]) -> None:
    (wide,) = told({"kind": "eagle3", "model": str(HEAD)}, width=960)
    assert wide.endswith("it reads hidden states 576 wide, and the target's are 960 wide")
    found = told({"kind": "eagle3", "model": str(HEAD)}, tokens=32000)
    assert any("49152 tokens, and the target's has 32000" in sentence for sentence in found)


def test_what_is_not_on_this_machine_is_left_to_the_engine(told: Callable[..., list[str]]) -> None:
    assert told({"kind": "eagle3", "model": str(HEAD)}, width=None) == []
    assert told({"kind": "eagle3", "model": "no/such-head"}) == []
    assert told({"kind": "ngram"}, {"kind": "suffix"}) == []
