"""Judgements on single changes: by direction, by interval, and never by a number that cannot be."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftmark.results.comparing import CellChange, Comparison, LogRatio, MetricChange, RunName
from draftmark.results.gating import Rules, Verdict, judge
from draftmark.results.gating.chances import as_share, holm, smallest_loss
from draftmark.results.metrics import METRICS
from draftmark.results.records import ModelIdentity, RunManifest
from draftmark.results.summary import CellSummary, RunSummary


def change(metric: str, ratio: float | None = 1.0, error: float = 0.001, **changes: Any) -> MetricChange:
    """A metric measured in three rounds on both sides, whose log ratio has this standard error and 200 degrees."""
    against = [] if ratio is None else [LogRatio(value=math.log(ratio), error=error, degrees=200)]
    fields = {
        "metric": metric,
        "unit": METRICS[metric].unit,
        "better": METRICS[metric].better,
        "baseline": 1.0,
        "candidate": ratio,
        "against": against,
        "ratio": ratio,
        "rounds": (3, 3),
        "method": "by hand",
    }
    return MetricChange(**(fields | changes))


def verdict_on(*changes: MetricChange, tolerance: float = 0.03, **rules: Any) -> Verdict:
    cell = CellChange(
        name="the cell", baseline_id="a", candidate_id="b", speculates=True, settings=[], metrics=list(changes)
    )
    runs = [RunName(run_id=name, name=name, folder=name, status="complete") for name in "AB"]
    comparison = Comparison(baselines=runs[:1], candidate=runs[1], settings=[], cells=[cell], vanished=[], appeared=[])
    asked = Rules.model_validate({"metrics": {one.metric: tolerance for one in changes}, **rules})
    return judge(comparison, asked, candidate=_summary())


def _summary() -> RunSummary:
    manifest = RunManifest(run_id="B", name="B", plan={}, plan_hash="p", target=ModelIdentity(name="t"))
    cell = CellSummary(
        cell_id="b", backend="x", engine={}, target="t", drafter="ngram", draft_length=4, control=False,
        arm="ngram D=4", group="g", suite="s", category=None, concurrency=1, status="complete",
        status_text="all", turns_ok=9, turns_failed=0, turns_expected=9, truncated=0, metrics={}, changed={},
    )  # fmt: skip
    return RunSummary(
        schema_version=1, manifest=manifest, cells=[cell], lamps=[], divergences=[], failures=[], elapsed_s=None
    )


def state(one: MetricChange, **rules: Any) -> str:
    (found,) = verdict_on(one, **rules).judgements
    return found.state


class TestDirection:
    @pytest.mark.parametrize(
        ("metric", "ratio", "expected"),
        [
            ("output_tps", 1.3, "pass"),
            ("output_tps", 0.7, "regression"),
            ("ttft", 1.3, "regression"),
            ("ttft", 0.7, "pass"),
            ("acceptance_length", 0.8, "regression"),
            ("t_draft_busy", 0.667, "pass"),
            ("tpot", 1.37, "regression"),
            ("draft_overhead", 1.3, "regression"),
        ],
    )
    def test_is_the_declared_one_whatever_the_name(self, metric: str, ratio: float, expected: str) -> None:
        assert state(change(metric, ratio)) == expected


class TestNumbersThatCannotBe:
    def test_a_missing_value_cannot_be_decided(self) -> None:
        verdict = verdict_on(change("acceptance_rate", None, baseline=0.6, reason="missing in the candidate: no steps"))
        assert (verdict.judgements[0].state, verdict.exit_code) == ("missing", 2)
        assert verdict.judgements[0].text == "missing in the candidate: no steps"

    def test_an_impossible_value_cannot_be_decided(self) -> None:
        verdict = verdict_on(change("tpot", None, baseline=0.02, candidate=-0.001, impossible="tpot is -0.001 s"))
        assert (verdict.judgements[0].state, verdict.exit_code) == ("impossible", 2)

    def test_a_regression_beside_it_is_still_red(self) -> None:
        lost = change("acceptance_rate", None, baseline=0.6)
        assert verdict_on(lost, change("output_tps", 0.7)).exit_code == 1


class TestTolerance:
    # With 200 degrees the 95% interval is 1.972 errors to either side: here 0.4%.
    @pytest.mark.parametrize(
        ("ratio", "expected"), [(0.99, "pass"), (0.975, "pass"), (0.972, "regression"), (0.9, "regression")]
    )
    def test_a_sure_loss_is_red_once_it_may_reach_the_tolerance(self, ratio: float, expected: str) -> None:
        assert state(change("speedup", ratio, error=0.002)) == expected

    def test_the_smallest_loss_that_would_show_is_stated(self) -> None:
        # One test at 5%: (1.6525 + 0.8431) errors of 1%, on the log scale of a loss.
        (found,) = verdict_on(change("speedup", 1.0, error=0.01)).judgements
        assert found.smallest == pytest.approx(1 - math.exp(-(1.65251 + 0.84342) * 0.01), rel=1e-4)
        assert found.state == "pass"

    def test_above_the_tolerance_it_is_not_gated(self) -> None:
        assert state(change("speedup", 1.0, error=0.02)) == "not gated"
        assert state(change("speedup", 1.2, error=0.02)) == "not gated"

    @given(
        st.floats(0.5, 1.5),
        st.floats(0, 0.05),
        st.tuples(st.floats(0.001, 0.9), st.floats(0.001, 0.9)),
        st.sampled_from(["speedup", "tpot"]),
    )
    def test_a_larger_tolerance_is_never_stricter(
        self, ratio: float, error: float, tolerances: tuple[float, float], metric: str
    ) -> None:
        gravity = {"pass": 0, "not gated": 1, "regression": 2}
        found = [gravity[state(change(metric, ratio, error), tolerance=one)] for one in sorted(tolerances)]
        assert found[0] >= found[1]


class TestChance:
    def test_holm_by_hand(self) -> None:
        # 0.05/4 = 0.0125, 0.05/3 = 0.0167, 0.05/2 = 0.025: the third fails, and with it the fourth.
        assert holm([0.03, 0.005, 0.2, 0.016], 0.05) == [False, True, False, True]
        assert holm([0.01, 0.02, 0.03, 0.04], 0.05) == [True, False, False, False]
        assert holm([], 0.05) == []

    def test_more_cells_need_more_evidence(self) -> None:
        alone = verdict_on(change("speedup", 0.975, error=0.01))
        among = verdict_on(
            change("speedup", 0.975, error=0.01), *(change(name) for name in list(METRICS) if _gateable(name))
        )
        assert alone.judgements[0].state == "regression"
        assert among.judgements[0].state == "not gated"
        assert among.tests > 20

    def test_without_spread_everything_shows(self) -> None:
        assert smallest_loss([LogRatio(value=0, error=0, degrees=2)], 0.001) == 0

    def test_shares_of_losses(self) -> None:
        assert as_share(math.log(2), "higher") == pytest.approx(0.5)
        assert as_share(math.log(2), "lower") == pytest.approx(1.0)


def _gateable(name: str) -> bool:
    metric = METRICS[name]
    return metric.better is not None and not metric.family and name != "speedup"


class TestRounds:
    def test_one_run_gates_nothing_but_speed_ups(self) -> None:
        assert state(change("output_tps", 0.5, rounds=(1, 1))) == "not gated"
        assert state(change("acceptance_length", 0.5, rounds=(2, 3))) == "not gated"
        assert state(change("speedup", 0.5, rounds=(1, 1))) == "regression"

    def test_acceptance_is_judged_by_the_baselines_spread_alone(self) -> None:
        assert state(change("acceptance_length", 0.5, rounds=(3, 1))) == "regression"
        assert state(change("output_tps", 0.5, rounds=(3, 1))) == "not gated"
