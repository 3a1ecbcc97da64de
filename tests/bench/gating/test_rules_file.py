"""gate.yaml is read as strictly as a plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from draftmark.bench.gating.rules_file import read_rules
from draftmark.bench.plans.document import PlanError
from draftmark.results.gating import Rules


def written(folder: Path, text: str) -> Path:
    path = folder / "gate.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_and_with_an_empty_one_the_defaults_hold(tmp_path: Path) -> None:
    assert read_rules(None) == read_rules(written(tmp_path, "# nothing yet\n")) == Rules()


def test_everything_that_may_be_said(tmp_path: Path) -> None:
    text = """
metrics: {speedup: 3%, ttft: {tolerance: 10%}}
renamed: {old cell: new cell}
vanished: [gone]
allow_different: [engine.threads]
fewest_rounds: 4
rounds_agree_within: 2%
failed_turns: 1%
false_alarms: 1%
"""
    rules = read_rules(written(tmp_path, text))
    assert {name: rule.tolerance for name, rule in rules.metrics.items()} == {"speedup": 0.03, "ttft": 0.1}
    assert rules.renamed == {"old cell": "new cell"}
    assert (rules.vanished, rules.allow_different) == (["gone"], ["engine.threads"])
    assert (rules.fewest_rounds, rules.rounds_agree_within) == (4, 0.02)
    assert (rules.failed_turns, rules.false_alarms) == (0.01, 0.01)


def test_unknown_keys_are_refused_together_with_their_lines_and_what_was_meant(tmp_path: Path) -> None:
    path = written(tmp_path, "metric: {speedup: 3%}\nfewest_round: 3\nmetrics:\n  tpot: {tolerence: 3%}\n")
    with pytest.raises(PlanError) as fault:
        read_rules(path)
    text = str(fault.value)
    assert f"{path}:1: metric: unknown key; did you mean 'metrics'?" in text
    assert f"{path}:2: fewest_round: unknown key; did you mean 'fewest_rounds'?" in text
    assert f"{path}:4: metrics.tpot.tolerence: unknown key; did you mean 'tolerance'?" in text


def test_the_documentation_names_every_key_and_its_example_is_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "gate.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    rules = read_rules(written(tmp_path, example))
    assert rules.model_fields_set == set(Rules.model_fields)
    kept = ("metrics", "fewest_rounds", "rounds_agree_within", "failed_turns", "false_alarms")
    assert {name: getattr(rules, name) for name in kept} == {name: getattr(Rules(), name) for name in kept}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metrics: {outptu_tps: 3%}", "did you mean 'output_tps'?"),
        ("metrics: {coverage: 3%}", "coverage declares neither direction as better"),
        ("metrics: {tpot: soon}", "must be a share such as 3% or 0.03"),
        ("fewest_rounds: 1", "must be at least 2"),
        ("- speedup", "must be a mapping"),
        ("metrics: {tpot: 3%, tpot: 4%}", "there twice"),
    ],
)
def test_wrong_values_are_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PlanError) as fault:
        read_rules(written(tmp_path, text))
    assert said in str(fault.value)
