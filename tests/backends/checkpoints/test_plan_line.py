"""The line of a plan is one that a plan takes, for every kind and every name that a folder can have."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from draftmark.backends.checkpoints import DraftCheckpoint, plan_entry, plan_line, read_checkpoint, target_line
from draftmark.backends.registry import DRAFTERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SIZES = {"hidden_size": 64, "vocab_size": 500}


def parsed(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(StringIO(text))


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"architectures": ["LlamaForCausalLMEagle3"]}, "- {kind: eagle3, model: heads/a, draft_length: 3}"),
        (
            {"architectures": ["PEagleDraftModel"], "mask_token_id": 3},
            "- {kind: eagle3, model: heads/a, draft_length: 3, parallel: true}",
        ),
        ({"architectures": ["EagleLlamaForCausalLM"]}, "- {kind: eagle, model: heads/a, draft_length: 3}"),
        ({"architectures": ["MedusaModel"], "num_heads": 5}, "- {kind: medusa, model: heads/a, draft_length: 5}"),
        ({"architectures": ["DFlashDraftModel"], "block_size": 8}, "- {kind: dflash, model: heads/a, draft_length: 7}"),
        ({"architectures": ["Qwen3DSparkModel"], "block_size": 7}, "- {kind: dspark, model: heads/a, draft_length: 7}"),
        ({"architectures": ["MiMoMTPModel"]}, "- {kind: mtp, model: heads/a, draft_length: 1}"),
        (
            {"architectures": ["MiMoForCausalLM"], "num_nextn_predict_layers": 1},
            "- {kind: mtp, draft_length: 1}",
        ),
        ({"architectures": ["DeepseekV41ForCausalLM"], "dspark_block_size": 5}, "- {kind: dspark, draft_length: 5}"),
        ({"architectures": ["LlamaForCausalLM"]}, "- {kind: draft-model, model: heads/a, draft_length: 3}"),
        (
            {"architectures": ["LlamaForCausalLM"], "pard_token": 3},
            "- {kind: draft-model, model: heads/a, draft_length: 3, parallel: true}",
        ),
    ],
)
def test_the_line_is_an_entry_that_a_plan_takes(
    read: Callable[..., DraftCheckpoint], config: dict[str, Any], line: str
) -> None:
    found = read(config | SIZES)
    assert plan_line(found, "heads/a") == line
    (entry,) = parsed(line)
    spec = DRAFTERS.resolve(entry["kind"])
    assert spec.model_validate(entry | {"draft_length": [entry["draft_length"]]}).draft_lengths() == [found.takes_d]


@pytest.mark.parametrize(
    "name", ["no", "null", "true", "12", "1e3", "~", "a: b", "# x", "-", "{x}", "'", '"', "é", "a\nb"]
)
def test_a_name_stays_a_text(trained_head: Path, name: str) -> None:
    found = read_checkpoint(trained_head)
    assert parsed(plan_line(found, name))[0]["model"] == name
    assert parsed(target_line(name)) == {"target": name}


@given(name=st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_name_comes_back_from_yaml_as_it_was(trained: DraftCheckpoint, name: str) -> None:
    assert parsed(plan_line(trained, name)) == [plan_entry(trained, name)]


@pytest.fixture(scope="session")
def trained() -> DraftCheckpoint:
    from pathlib import Path

    return read_checkpoint(Path(__file__).parents[2] / "data" / "smollm2-135m-eagle3")
