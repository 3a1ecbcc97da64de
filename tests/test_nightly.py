"""Nightly CI: the script night after night on an engine of known truth, and the workflow against what it calls.

The engine is a copy of the plug-in in `tests/plugin`, so that another build of it can be slower: a step with a draft
takes 0.12 s, or 0.15 s in the slow build, which is a speed-up of 2.5 or 2.0.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "scripts" / "nightly.sh"
WORKFLOW = ROOT / ".github" / "workflows" / "nightly.yml"

QUESTIONS = 20


class Nights:
    """A project with a history of nights."""

    def __init__(self, folder: Path, plugin: Path, plan: Path) -> None:
        self.folder = folder
        self._plan = plan
        self._plugin = folder / "engine"
        shutil.copytree(plugin, self._plugin)
        self._sound = (self._plugin / "parrot" / "backend.py").read_text(encoding="utf-8")

    def night(self, *, slow_s: float = 0.0, plan: Path | None = None, **told: str) -> int:
        """Run the script with a build whose drafting steps take longer by so much, and return its exit code."""
        shutil.rmtree(self._plugin / "parrot" / "__pycache__", ignore_errors=True)
        slow = f"self._spec.step_s + draft_s + ({slow_s} if drafted else 0)"
        built = self._sound.replace("self._spec.step_s + draft_s", slow)
        assert built.count(slow) == 2
        (self._plugin / "parrot" / "backend.py").write_text(built, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
        environment |= {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self._plugin),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HF_HUB_OFFLINE": "1",
        }
        command = ["sh", str(SCRIPT), str(plan or self._plan)]
        self.done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, env=environment | told
        )
        return self.done.returncode

    @property
    def home(self) -> Path:
        """Where the runs of this plan on this machine are."""
        (found,) = (self.folder / "runs" / "nightly" / self._plan.stem).iterdir()
        return found

    def runs(self) -> list[str]:
        return sorted(path.name for path in self.home.iterdir() if path.is_dir())

    def accepted(self) -> list[str]:
        return (self.home / "accepted").read_text(encoding="utf-8").split()

    def site(self, name: str) -> str:
        return (self.folder / "site" / name).read_text(encoding="utf-8")


@pytest.fixture
def nights(tmp_path: Path, plugin_folder: Path, write_parrot_plan: Callable[..., Path]) -> Nights:
    rows = [{"question_id": f"q{number}", "prompt": f"saying number {number}"} for number in range(QUESTIONS)]
    prompts = tmp_path / "sayings.jsonl"
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suites = [{"kind": "jsonl", "path": str(prompts), "name": "talk"}]
    plan = write_parrot_plan(suites=suites, repeats=3)
    return Nights(tmp_path, plugin_folder, plan)


@pytest.mark.timeout(900)
def test_a_night_is_gated_by_the_last_accepted_one_and_a_regression_is_not_accepted(nights: Nights) -> None:
    summary = nights.folder / "summary.md"

    assert nights.night() == 0, nights.done.stderr  # there is no baseline yet
    first = nights.runs()
    assert nights.accepted() == first
    assert "mimic D=3" in nights.site("last/index.html")
    assert "leaderboard" in nights.site("index.html").lower()

    assert nights.night(slow_s=0.03, GITHUB_STEP_SUMMARY=str(summary)) == 1, nights.done.stderr
    assert nights.accepted() == first
    assert summary.read_text(encoding="utf-8") == nights.site("gate.md")
    assert "-20" in nights.site("gate.md")  # 2.0 after 2.5
    assert ElementTree.fromstring(nights.site("gate.xml")).findall(".//failure")  # noqa: S314 - our own file

    assert nights.night(KEEP="2") == 0, nights.done.stderr  # as the first, by which it is gated
    assert nights.accepted() == [*first, nights.runs()[-1]]
    assert len(nights.runs()) == 2
    assert first[0] not in nights.runs()

    assert nights.night(KEEP="1", BASELINE=str(nights.home / nights.runs()[0])) == 0, nights.done.stderr
    assert len(nights.runs()) == 2, "what it was gated by stays, however old"

    assert nights.night(slow_s=0.03, ACCEPT="1") == 0, nights.done.stderr
    assert nights.accepted()[-1] == nights.runs()[-1]


def test_a_wrong_plan_ends_the_night_as_it_ends_a_run(nights: Nights) -> None:
    wrong = nights.folder / "wrong.yaml"
    wrong.write_text("name: wrong\n", encoding="utf-8")
    summary = nights.folder / "summary.md"
    assert nights.night(plan=wrong, GITHUB_STEP_SUMMARY=str(summary)) == 2
    assert "suites: is missing" in nights.done.stderr
    told = summary.read_text(encoding="utf-8")
    assert "**Not gated:** nothing was run (exit code 2):" in told
    assert re.search(r"^    .*suites: is missing", told, re.MULTILINE), "the reason, in a block without markup"


def test_wrong_rules_are_told_before_the_first_night_too(nights: Nights) -> None:
    rules = nights.folder / "gate.yaml"
    rules.write_text("fewest_rounds: 1\n", encoding="utf-8")
    assert nights.night(RULES=str(rules)) == 2
    assert "fewest_rounds: must be at least 2" in nights.done.stderr
    assert nights.runs() == []
    assert nights.night(RULES="nowhere.yaml") == 2
    assert nights.runs() == []


def test_where_draftmark_is_not_installed_the_script_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, "there is no draftmark" in done.stderr) == (2, True)


def test_a_baseline_that_is_not_there_is_told_before_anything_is_run(nights: Nights) -> None:
    assert nights.night(BASELINE="nowhere") == 2
    assert "no baseline: there is no run in nowhere" in nights.done.stderr
    assert nights.runs() == []


def test_the_plan_for_any_cpu_has_what_the_gate_asks_for() -> None:
    from draftmark.bench.plans.plan import load_plan
    from draftmark.results.gating.rules import Rules

    plan = load_plan(ROOT / "examples" / "nightly.yaml")
    assert plan.repeats >= Rules().fewest_rounds
    assert all(suite.limit >= 20 for suite in plan.suites)


# The workflow


def workflow() -> dict[str, Any]:
    return YAML(typ="safe", pure=True).load(WORKFLOW.read_text(encoding="utf-8"))


def steps() -> list[dict[str, Any]]:
    return [step for job in workflow()["jobs"].values() for step in job["steps"]]


CALL = re.compile(r"(?:^|[\s/;|&])(?:draftmark|\"\$draftmark\")\s+([a-z\"][^|;>&]*)")
"""The command with its verb and options, where a shell line calls it."""


def calls(text: str) -> list[list[str]]:
    """The words of each call of the command; in the script the words may come from `set --` before it."""
    joined = re.sub(r"\\\n", " ", text)
    lines = [line.strip() for line in joined.splitlines() if not line.strip().startswith("#")]
    found = [match[1].split() for line in lines for match in CALL.finditer(line)]
    kept = [line.removeprefix("set -- ").split() for line in lines if re.match(r"set -- [a-z]", line)]
    return kept + [words for words in found if words[0] != '"$@"']


def options_of(verb: str) -> set[str]:
    """Every option of a verb, as typer made it."""
    from importlib import import_module

    import typer.main

    command = typer.main.get_command(import_module(f"draftmark.bench.cli.{verb}").app)
    return {option for parameter in command.params for option in parameter.opts} | {"--help"}


@pytest.mark.parametrize("path", [WORKFLOW, SCRIPT], ids=lambda path: path.name)
def test_every_verb_and_option_that_is_called_exists(path: Path) -> None:
    from draftmark.bench.cli.app import VERBS

    texts = [step["run"] for step in steps() if "run" in step] if path == WORKFLOW else [path.read_text("utf-8")]
    found = [words for text in texts for words in calls(text)]
    assert {words[0] for words in found} == (
        {"validate", "leaderboard"} if path == WORKFLOW else {"run", "gate", "report", "leaderboard"}
    )
    for verb, *words in found:
        assert verb in VERBS
        named = set(re.findall(r"--[a-z][a-z-]*", " ".join(words)))
        assert named <= options_of(verb), f"draftmark {verb}"


def test_a_call_is_recognised_however_it_is_written() -> None:
    assert calls('.venv/bin/draftmark validate "$PLAN"\n"$draftmark" report x --oot y || true') == [
        ["validate", '"$PLAN"'],
        ["report", "x", "--oot", "y"],
    ]


def test_every_script_and_target_that_a_step_calls_exists() -> None:
    texts = [step["run"] for step in steps() if "run" in step]
    scripts = {name for text in texts for name in re.findall(r"scripts/[\w.-]+", text)}
    targets = {name for text in texts for name in re.findall(r"^make (\S+)", text, re.MULTILINE)}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert scripts == {"scripts/nightly.sh"}
    assert targets == {"nightly"}
    assert re.search(r"^nightly:.*\n\t@sh scripts/nightly.sh", makefile, re.MULTILINE)


def test_every_action_is_pinned_by_a_tag() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"actions/[\w./-]+@v\d+(\.\d+)*", name)] == []


def test_the_history_is_kept_after_a_red_night_and_under_the_folder_that_the_script_uses() -> None:
    found = workflow()
    for name in ("cpu", "gpu"):
        kept = [step for step in found["jobs"][name]["steps"] if "cache/save" in step.get("uses", "")]
        (restored,) = [step for step in found["jobs"][name]["steps"] if "cache/restore" in step.get("uses", "")]
        (saved,) = kept
        assert saved["if"] == "${{ !cancelled() }}"
        assert saved["with"]["path"] == restored["with"]["path"] == found["env"]["HISTORY"]
        assert saved["with"]["key"].startswith(restored["with"]["restore-keys"])


def test_no_step_may_write_to_the_repository() -> None:
    found = workflow()
    granted = [found["permissions"], *(job["permissions"] for job in found["jobs"].values() if "permissions" in job)]
    assert all(rights["contents"] == "read" for rights in granted)


def test_what_a_step_is_told_from_outside_reaches_the_shell_as_variables_only() -> None:
    """An expression inside `run` would be pasted into the shell's text."""
    assert [step["run"] for step in steps() if "run" in step and "${{" in step["run"]] == []
