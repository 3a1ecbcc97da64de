"""Sampling settings that could only measure garbage are refused where they are declared."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from draftmark.results.records import Sampling


@pytest.mark.parametrize("temperature", [0.0, 0.001, 0.7, 100.0])
def test_temperatures_that_single_precision_can_hold_are_taken(temperature: float) -> None:
    assert Sampling(temperature=temperature).temperature == temperature


@pytest.mark.parametrize("temperature", [1e-300, 0.0009, 101.0, 1e300, -0.1])
def test_other_temperatures_are_refused(temperature: float) -> None:
    with pytest.raises(ValidationError, match="temperature"):
        Sampling(temperature=temperature)


def test_an_empty_stop_string_would_end_every_answer_at_once() -> None:
    with pytest.raises(ValidationError, match="stop"):
        Sampling(stop=("",))


@pytest.mark.parametrize("setting", ["max_tokens", "top_k"])
def test_counts_of_tokens_are_those_that_engines_hold(setting: str) -> None:
    assert getattr(Sampling.model_validate({setting: 2_147_483_647}), setting) == 2_147_483_647
    with pytest.raises(ValidationError, match=setting):
        Sampling.model_validate({setting: 2_147_483_648})
