"""The gate on runs of known truth: red where something broke, green where nothing did, else it says what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from draftmark.results.gating import Judgement, Verdict

    MakeRun = Callable[..., Path]
    Gated = Callable[..., Verdict]


def states(verdict: Verdict, arm: str = "ngram") -> dict[str, str]:
    """Metric to state, of one arm."""
    return {one.metric: one.state for one in verdict.judgements if f" {arm}" in one.cell}


def judged(verdict: Verdict, metric: str, arm: str = "ngram") -> Judgement:
    (found,) = [one for one in verdict.judgements if one.metric == metric and f" {arm}" in one.cell]
    return found


class TestPlantedRegressions:
    @pytest.mark.parametrize(
        ("planted", "red"),
        [
            ({"really": 0}, {"speedup", "acceptance_length", "output_tps"}),
            ({"really": 2}, {"speedup", "acceptance_length", "output_tps"}),
            ({"drafting_step_s": 0.024 * 1.05}, {"speedup", "output_tps"}),
        ],
        ids=["drafter silently off", "D halved", "5% more time per step"],
    )
    def test_is_red(self, make_run: MakeRun, gated: Gated, planted: dict[str, Any], red: set[str]) -> None:
        verdict = gated(make_run("a", seed=1), make_run("b", seed=2, **planted))
        assert (verdict.outcome, verdict.exit_code) == ("regression", 1)
        assert {metric for metric, state in states(verdict).items() if state == "regression"} == red
        assert set(states(verdict, "none").values()) == {"pass"}

    def test_ten_reruns_of_the_same_build_are_green(self, make_run: MakeRun, gated: Gated) -> None:
        baseline = make_run("a", seed=100, shift=0.003)
        verdicts = [gated(baseline, make_run(f"b{n}", seed=n, shift=0.001 * (n % 5))) for n in range(10)]
        assert [verdict.exit_code for verdict in verdicts] == [0] * 10
        assert all(set(states(verdict).values()) == {"pass"} for verdict in verdicts)

    def test_a_loss_within_the_tolerance_is_said_and_green(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.024 * 1.015))
        assert verdict.exit_code == 0
        assert judged(verdict, "speedup").text == "worse beyond chance, but within the tolerance"

    def test_a_gain_is_green(self, make_run: MakeRun, gated: Gated) -> None:
        assert gated(make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.020)).exit_code == 0

    def test_latency_is_worse_when_it_grows(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.030)
        assert states(gated(*runs, metrics={"tpot": "3%"}))["tpot"] == "regression"
        assert states(gated(*reversed(runs), metrics={"tpot": "3%"}))["tpot"] == "pass"

    def test_drafting_that_costs_more_is_seen_where_the_machine_is_too_unsteady_for_speeds(
        self, make_run: MakeRun, gated: Gated
    ) -> None:
        restless: dict[str, Any] = {"launches": 6, "repeats": 1, "launch_noise": 0.08}
        before = make_run("a", seed=1, drafting_s=0.002, **restless)  # 0.1 of a step of the target alone
        after = make_run("b", seed=2, drafting_s=0.004, **restless)
        same = make_run("c", seed=3, drafting_s=0.002, **restless)
        rules = {"metrics": {"draft_overhead": "30%", "output_tps": "3%"}}
        found = judged(gated(before, after, **rules), "draft_overhead")
        assert (found.state, found.baseline, found.candidate) == (
            "regression",
            pytest.approx(0.1, rel=0.2),
            pytest.approx(0.2, rel=0.2),
        )
        assert states(gated(before, after, **rules))["output_tps"] == "not gated"
        assert states(gated(before, same, **rules))["draft_overhead"] != "regression"

    def test_an_arm_that_drafts_nothing_has_no_drafting_to_judge(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1, drafting_s=0.002), make_run("b", seed=2, drafting_s=0.002)
        verdict = gated(*runs, metrics={"draft_overhead": "30%"})
        assert (states(verdict, "none"), states(verdict)) == ({}, {"draft_overhead": "pass"})

    def test_output_that_speculation_changed_is_red_however_fast(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.015, faults=2))
        assert verdict.exit_code == 1
        assert next(one.text for one in verdict.findings if one.level == "regression").startswith("losslessness: ")


class TestNeverGreenByGuess:
    def test_too_noisy_to_see_the_tolerance_is_not_gated_and_says_what_would_show(
        self, make_run: MakeRun, gated: Gated
    ) -> None:
        verdict = gated(make_run("a", seed=1, noise=0.2), make_run("b", seed=2, noise=0.2), metrics={"speedup": "3%"})
        found = judged(verdict, "speedup")
        assert (found.state, verdict.exit_code) == ("not gated", 2)
        assert found.smallest is not None
        assert found.smallest > 0.03

    def test_a_large_loss_is_red_even_where_the_tolerance_cannot_be_seen(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1, noise=0.1), make_run("b", seed=2, noise=0.1, really=0))
        assert states(verdict)["speedup"] == "regression"

    def test_one_round_gates_no_absolute_speed_and_no_acceptance_length(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1, repeats=1), make_run("b", seed=2, repeats=1, really=0))
        assert states(verdict)["acceptance_length"] == "not gated"
        assert states(verdict)["output_tps"] == "not gated"
        assert states(verdict, "none")["output_tps"] == "not gated"

    def test_several_baselines_are_the_rounds_that_one_lacks(self, make_run: MakeRun, gated: Gated) -> None:
        runs = [make_run(f"a{seed}", seed=seed, repeats=1) for seed in range(3)]
        verdict = gated(*runs, make_run("b", seed=9, repeats=1))
        assert states(verdict)["acceptance_length"] == "pass"

    def test_rounds_that_disagree_gate_no_absolute_speed(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", launches=3, repeats=1, launch_noise=0.2), make_run("b", launches=3, repeats=1))
        assert states(verdict, "none")["output_tps"] == "not gated"
        assert "differ by" in judged(verdict, "output_tps", "none").text

    def test_engine_starts_that_differ_widen_what_is_known(self, make_run: MakeRun, gated: Gated) -> None:
        noisy = [make_run(f"n{seed}", seed=seed, launches=3, repeats=1, launch_noise=0.02) for seed in (1, 2)]
        quiet = [make_run(f"q{seed}", seed=seed, launches=3, repeats=1) for seed in (1, 2)]
        seen = [judged(gated(*runs), "speedup").smallest for runs in (noisy, quiet)]
        assert seen[0] > 2 * seen[1]

    def test_too_few_conversations_gate_nothing(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", conversations=5), make_run("b", conversations=5), metrics={"speedup": "3%"})
        assert (states(verdict), verdict.exit_code) == ({"speedup": "not gated"}, 2)


class TestCannotDecide:
    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"sampling": {"temperature": 0.8}}, "sampling.temperature"),
            ({"resolved": {"gpus": 2}}, "resolved.gpus"),
            ({"suite_hash": "6" * 64}, "suite_hash"),
            ({"weights": "c" * 64}, "target.files"),
            ({"environment": {"gpus": ["GPU-B, 80 GiB, 1.0"]}}, "environment.gpus"),
            ({"environment": {"cpu": "another CPU"}}, "environment.cpu"),
            ({"engine": {"dtype": "float32"}}, "engine.dtype"),
            ({"cached": 0.93}, "prefix_cache_hit_share"),
        ],
    )
    def test_what_is_not_comparable_is_never_red_and_names_the_field(
        self, make_run: MakeRun, gated: Gated, changes: dict[str, Any], field: str
    ) -> None:
        verdict = gated(make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.05, **changes))
        assert (verdict.outcome, verdict.exit_code) == ("cannot decide", 2)
        assert {one.state for one in verdict.judgements} == {"not comparable"}
        assert field in judged(verdict, "speedup").text

    def test_rules_may_allow_a_setting_to_differ(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2, engine={"dtype": "float32"})
        assert gated(*runs, allow_different=["engine.dtype"]).exit_code == 0

    def test_runs_with_nothing_in_common(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a"), make_run("b", suite="other"))
        assert verdict.exit_code == 2
        assert verdict.headline.startswith("0 compared")

    def test_other_prompts_under_the_same_names(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a"), make_run("b", prompt="asked otherwise"))
        assert (verdict.exit_code, verdict.compared) == (2, 0)

    def test_a_named_metric_that_is_missing(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2)
        verdict = gated(*runs, metrics={"speedup": "3%", "t_verify": "3%"})
        assert (states(verdict)["t_verify"], verdict.exit_code) == ("missing", 2)

    def test_an_unfinished_candidate(self, make_run: MakeRun, gated: Gated) -> None:
        assert gated(make_run("a", seed=1), make_run("b", seed=2, status="interrupted")).exit_code == 2

    def test_failures_are_held_against_the_baseline_as_shares(self, make_run: MakeRun, gated: Gated) -> None:
        # 2 of 24 questions fail in 8 rounds, 16 turns or 8.3%; then 5 of 24 in 3 rounds, 15 turns or 20.8%
        before, after = make_run("a", repeats=8, failing=(1, 2)), make_run("b", seed=2, failing=(1, 2, 3, 4, 5))
        verdict = gated(before, after)
        assert verdict.exit_code == 2
        assert any("20.8% (baseline: 8.3%)" in one.text for one in verdict.findings)
        assert gated(before, after, failed_turns="15%").exit_code == 0

    def test_one_run_is_no_two_baselines(self, make_run: MakeRun, gated: Gated) -> None:
        before, after = make_run("a", seed=1, repeats=2), make_run("b", seed=2)
        verdict = gated(before, before, after)
        assert verdict.exit_code == 2
        assert any("is there twice" in one.text for one in verdict.findings)

    def test_a_baseline_that_was_interrupted(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1, status="interrupted"), make_run("b", seed=2))
        assert verdict.exit_code == 2
        assert any(one.text.startswith("the baseline run is interrupted") for one in verdict.findings)

    def test_more_failed_turns_than_the_baseline_has(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2, failing=(3,))
        verdict = gated(*runs)
        assert verdict.exit_code == 2
        assert any("3 of 72 turns failed, 4.2% (baseline: 0.0%)" in one.text for one in verdict.findings)
        assert gated(*runs, failed_turns="5%").exit_code == 0

    def test_a_run_is_not_its_own_baseline(self, make_run: MakeRun, gated: Gated) -> None:
        run = make_run("a")
        assert gated(run, run).exit_code == 2


class TestCells:
    def test_a_vanished_cell_is_named_and_fails(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1, lengths=(4, 2)), make_run("b", seed=2))
        assert verdict.exit_code == 1
        assert any(
            one.text.startswith("reference / coding / ngram D=2 / concurrency 1 vanished") for one in verdict.findings
        )

    def test_unless_the_rules_let_it_go(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1, lengths=(4, 2)), make_run("b", seed=2)
        for name in ("reference / coding / ngram D=2 / concurrency 1", "ngram D=2@coding"):
            assert gated(*runs, vanished=[name]).exit_code == 0

    def test_a_renamed_cell_fails_until_it_is_mapped(self, make_run: MakeRun, gated: Gated) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2, drafter="suffix")
        assert gated(*runs).exit_code == 1
        verdict = gated(*runs, renamed={"ngram D=4@coding": "suffix D=4@coding"})
        assert (verdict.exit_code, states(verdict, "suffix")["speedup"]) == (0, "pass")

    def test_a_new_cell_is_told(self, make_run: MakeRun, gated: Gated) -> None:
        verdict = gated(make_run("a", seed=1), make_run("b", seed=2, lengths=(4, 2)))
        assert verdict.exit_code == 0
        assert [one.text for one in verdict.findings] == [
            "reference / coding / ngram D=2 / concurrency 1 is new: nothing to compare with"
        ]
