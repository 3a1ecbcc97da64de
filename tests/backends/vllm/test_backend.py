"""What this process decides for vLLM before an engine starts, and how the engine's side judges close tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from draftmark.backends.vllm import VllmSpec
from draftmark.backends.vllm.backend import asks_the_hub
from draftmark.backends.vllm.engine import closeness
from draftmark.results.divergences import DivergencePoint, judge_divergence

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text("{}")
    return str(tmp_path)


def test_only_hub_names_let_the_engine_ask_the_hub(folder: str) -> None:
    assert not asks_the_hub(folder, None)
    assert not asks_the_hub(folder, {"method": "eagle3", "model": folder})
    assert not asks_the_hub(folder, {"method": "ngram"})
    assert not asks_the_hub(folder, {"method": "custom_class", "model": "my.Class"})
    assert asks_the_hub("owner/name", None)
    assert asks_the_hub(folder, {"method": "eagle3", "model": "owner/head"})


def test_timeouts_are_no_part_of_what_a_run_is() -> None:
    assert VllmSpec(stall_timeout_s=5.0).engine_settings() == VllmSpec().engine_settings()


def test_close_tokens_are_judged_by_two_passes() -> None:
    found = closeness({1: -0.70, 2: -0.69, 3: -5.0}, {1: -0.68, 2: -0.71, 3: -5.1}, [1, 2], 40)
    assert found.top_two == (1, 2)
    assert found.margin == pytest.approx(0.03)
    assert found.numeric_difference == pytest.approx(0.1)
    assert found.passes == "the 3 likeliest tokens after decoding one token and after a prefill of 40"


def test_a_token_that_is_not_among_the_likeliest_is_a_fault_and_not_unknown() -> None:
    found = closeness({1: -0.1, 2: -3.0}, {1: -0.1, 2: -3.0}, [1, 99], 40)
    point = DivergencePoint(position=3, baseline_id=1, arm_id=99)
    verdict, reason = judge_divergence(
        point, margin=found.margin, numeric_difference=found.numeric_difference, top_two=found.top_two
    )
    assert verdict == "fault"
    assert "not the target's two likeliest" in reason


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ({"hf_token": "hf_x"}, "engine.hf_token comes from the environment variable HF_TOKEN"),
        (
            {"model_loader_extra_config": {"s3": {"secret": "abc"}}},
            "engine.model_loader_extra_config.s3.secret looks like",
        ),
    ],
)
def test_keys_are_refused_in_a_plan(engine: dict[str, object], told: str) -> None:
    from draftmark.backends.vllm.installed import Installed, engine_problem

    arguments = frozenset({"kv_transfer_config", "max_num_batched_tokens"})
    vllm = Installed(version="0", cpu_build=False, arguments=arguments, methods=frozenset())
    assert told in str(engine_problem(vllm, engine))
    assert engine_problem(vllm, {"max_num_batched_tokens": 8}) is None
