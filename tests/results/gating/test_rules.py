"""What rules may say."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from draftmark.results.gating import Rules


def test_the_defaults() -> None:
    assert {name: rule.tolerance for name, rule in Rules().metrics.items()} == {
        "speedup": 0.03,
        "acceptance_length": 0.02,
        "output_tps": 0.03,
    }
    assert not Rules().names("speedup")


@pytest.mark.parametrize("written", ["3%", " 3 %", 0.03, {"tolerance": "3%"}, {"tolerance": 0.03}])
def test_a_tolerance_is_a_share_in_any_of_these_ways(written: Any) -> None:
    rules = Rules.model_validate({"metrics": {"tpot": written}})
    assert rules.metrics["tpot"].tolerance == 0.03
    assert rules.names("tpot")


@pytest.mark.parametrize("written", ["3", "3 percent", 0, 1, -0.1, True, "150%", None])
def test_what_is_no_share_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        Rules.model_validate({"metrics": {"tpot": written}})


def test_an_undeclared_metric_is_refused_with_the_one_that_is_near() -> None:
    with pytest.raises(ValidationError, match="no metric is named 'outptu_tps'; did you mean 'output_tps'"):
        Rules.model_validate({"metrics": {"outptu_tps": "3%"}})


def test_a_metric_without_a_direction_is_refused() -> None:
    with pytest.raises(ValidationError, match="coverage declares neither direction as better"):
        Rules.model_validate({"metrics": {"coverage": "3%"}})


def test_no_metric_at_all_is_refused() -> None:
    with pytest.raises(ValidationError):
        Rules.model_validate({"metrics": {}})


def test_a_tolerated_loss_is_less_speed_or_more_time() -> None:
    rules = Rules.model_validate({"metrics": {"speedup": 0.2, "tpot": 0.2}})
    assert rules.loss_limit("speedup") == pytest.approx(-math.log(0.8))
    assert rules.loss_limit("tpot") == pytest.approx(math.log(1.2))
