"""`draftmark gate` and `draftmark compare` as a user calls them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    MakeRun = Callable[..., Path]


class TestGate:
    def test_pass_regression_and_cannot_decide_have_their_exit_codes(
        self, call: Callable, make_run: MakeRun, tmp_path: Path
    ) -> None:
        before = make_run("a", seed=1)
        same, slow = make_run("b", seed=2), make_run("c", seed=3, drafting_step_s=0.03)
        elsewhere = make_run("d", seed=4, environment={"cpu": "another"})
        said = [call("gate", "--baseline", before, "--candidate", run) for run in (same, slow, elsewhere)]
        assert [one.code for one in said] == [0, 1, 2]
        assert [one.out.split(":")[0] for one in said] == ["pass", "regression", "cannot decide"]
        assert "environment.cpu" in said[2].out

    def test_a_missing_baseline_is_no_pass_unless_it_is_allowed(
        self, call: Callable, make_run: MakeRun, tmp_path: Path
    ) -> None:
        run = make_run("b")
        refused = call("gate", "--baseline", tmp_path / "nowhere", "--candidate", run)
        assert refused.code == 2
        assert "0 compared" in refused.err
        assert call("gate", "--candidate", run).code == 2
        allowed = call("gate", "--baseline", tmp_path / "nowhere", "--candidate", run, "--allow-missing-baseline")
        assert (allowed.code, "no baseline: recorded only" in allowed.out) == (0, True)

    @pytest.mark.parametrize(
        ("changes", "code", "says"),
        [
            ({"faults": 3}, 1, "losslessness"),
            ({"status": "interrupted"}, 2, "the candidate run is interrupted"),
            ({}, 0, "recorded only"),
        ],
    )
    def test_what_a_run_shows_of_itself_needs_no_baseline(
        self, call: Callable, make_run: MakeRun, changes: dict[str, Any], code: int, says: str
    ) -> None:
        found = call("gate", "--candidate", make_run("a", **changes), "--allow-missing-baseline")
        assert (found.code, says in found.out) == (code, True)

    @pytest.mark.parametrize("option", ["--markdown", "--junit"])
    def test_a_report_replaces_nothing_in_a_run(self, call: Callable, make_run: MakeRun, option: str) -> None:
        before, after = make_run("a", seed=1), make_run("b", seed=2)
        manifest = (before / "manifest.json").read_bytes()
        said = call("gate", "--baseline", before, "--candidate", after, option, before / "manifest.json")
        assert (said.code, "lies within the run folder" in said.err) == (3, True)
        assert (before / "manifest.json").read_bytes() == manifest

    def test_a_report_may_lie_beside_a_manifest_that_is_no_runs(
        self, call: Callable, make_run: MakeRun, tmp_path: Path
    ) -> None:
        (tmp_path / "web").mkdir()
        (tmp_path / "web" / "manifest.json").write_text('{"name": "a web app"}', encoding="utf-8")
        report = tmp_path / "web" / "gate.md"
        said = call("gate", "--baseline", make_run("a"), "--candidate", make_run("b", seed=2), "--markdown", report)
        assert (said.code, report.exists()) == (0, True)

    def test_two_cells_cannot_become_one(self, call: Callable, make_run: MakeRun, tmp_path: Path) -> None:
        before, after = make_run("a", seed=1, lengths=(2, 4)), make_run("b", seed=2, lengths=(2, 4))
        name = "reference / coding / ngram D={} / concurrency 1"
        rules = tmp_path / "gate.yaml"
        pairs = [f'  "{name.format(length)}": "{name.format(4)}"\n' for length in (2, 4)]
        rules.write_text("renamed:\n" + "".join(pairs), encoding="utf-8")
        said = call("gate", "--baseline", before, "--candidate", after, "--rules", rules)
        assert (said.code, "both become" in said.err) == (2, True)

    def test_allowing_a_missing_baseline_allows_no_bad_one(
        self, call: Callable, make_run: MakeRun, tmp_path: Path
    ) -> None:
        before, run = make_run("a", seed=1), make_run("b", seed=2, drafting_step_s=0.03)
        found = call("gate", "--baseline", before, "--candidate", run, "--allow-missing-baseline")
        assert found.code == 1
        (before / "manifest.json").write_text("{")
        assert call("gate", "--baseline", before, "--candidate", run, "--allow-missing-baseline").code == 2

    def test_reports_say_what_the_exit_code_says(
        self, call: Callable, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        summary, junit = tmp_path / "summary.md", tmp_path / "out" / "junit.xml"
        summary.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        runs = ["--baseline", make_run("a", seed=1), "--candidate", make_run("b", seed=2, really=0)]
        said = call("gate", *runs, "--json", "--markdown", summary, "--junit", junit)
        told = json.loads(said.out)
        assert (said.code, told["exit_code"], told["outcome"]) == (1, 1, "regression")
        assert summary.read_text(encoding="utf-8").startswith("before\n## ❌ regression\n")
        assert Xml.parse(junit).find("testsuite").get("failures") == "4"  # noqa: S314 - our own

    def test_rules_are_read_before_the_runs(self, call: Callable, make_run: MakeRun, tmp_path: Path) -> None:
        (tmp_path / "gate.yaml").write_text("metric: {speedup: 3%}\n")
        said = call("gate", "--rules", tmp_path / "gate.yaml", "--candidate", tmp_path / "nowhere")
        assert said.code == 2
        assert "did you mean 'metrics'?" in said.err

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_report_that_cannot_be_written(self, call: Callable, make_run: MakeRun, tmp_path: Path) -> None:
        (tmp_path / "locked").mkdir(mode=0o500)
        runs = ["--baseline", make_run("a", seed=1), "--candidate", make_run("b", seed=2)]
        assert call("gate", *runs, "--junit", tmp_path / "locked" / "junit.xml").code == 3


class TestCompare:
    def test_settings_come_first_then_ratios_and_which_are_real(self, call: Callable, make_run: MakeRun) -> None:
        before = make_run("a", seed=1)
        after = make_run("b", seed=2, drafting_step_s=0.03, environment={"packages": {"engine": "1.1"}})
        said = call("compare", before, after)
        assert said.code == 0
        lines = said.out.splitlines()
        assert lines[1] == 'differs: environment.packages.engine: "1.0" -> "1.1"'
        row = next(line for line in lines if " step_time " in line and "worse" in line)
        assert "24.0 ms" in row
        assert "30.0 ms" in row
        assert "no clear difference" in said.out

    def test_runs_that_cannot_be_compared_are_labelled_so(self, call: Callable, make_run: MakeRun) -> None:
        said = call("compare", make_run("a"), make_run("b", sampling={"temperature": 0.8}))
        assert said.code == 2
        assert "not comparable: sampling.temperature: 0.0 -> 0.8" in said.out
        assert "worse" not in said.out
        assert "better" not in said.out

    def test_as_data_and_as_markdown(self, call: Callable, make_run: MakeRun, tmp_path: Path) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2)
        said = call("compare", *runs, "--metric", "tpot", "--json", "--markdown", tmp_path / "c.md")
        cells = json.loads(said.out)["cells"]
        assert [[one["metric"] for one in cell["metrics"]] for cell in cells] == [["tpot"], ["tpot"]]
        assert cells[0]["metrics"][0]["word"] == "no clear difference"
        assert "**no clear difference**" in (tmp_path / "c.md").read_text(encoding="utf-8")

    def test_what_has_no_ratio_is_called_not_compared_in_data_too(self, call: Callable, make_run: MakeRun) -> None:
        said = call("compare", make_run("a"), make_run("b", really=0), "--metric", "acceptance_rate", "--json")
        words = [metric["word"] for cell in json.loads(said.out)["cells"] for metric in cell["metrics"]]
        assert words == ["not compared"]  # nothing was drafted, so there is no rate

    def test_an_unknown_metric_is_refused_with_the_one_that_is_near(self, call: Callable, make_run: MakeRun) -> None:
        run = make_run("a")
        said = call("compare", run, run, "--metric", "tpto")
        assert (said.code, "did you mean 'tpot'?" in said.err) == (2, True)

    def test_renamed_cells(self, call: Callable, make_run: MakeRun) -> None:
        runs = make_run("a", seed=1), make_run("b", seed=2, drafter="suffix")
        assert "vanished: reference / coding / ngram D=4" in call("compare", *runs).out
        said = call("compare", *runs, "--renamed", "ngram D=4@coding = suffix D=4@coding")
        assert (said.code, "vanished" in said.out) == (0, False)
        assert call("compare", *runs, "--renamed", "no such cell=suffix D=4@coding").code == 2
