"""`pytest --draftmark-plan` as a user calls it, in a process of its own, on the engine of `tests/plugin`.

Its truth: the first token takes 0.5 s. `none` makes 9 steps of 0.1 s: 1.4 s an answer. `mimic` drafts 3, gets 2 right
and so makes 3 steps of 0.1 s and what drafting takes: with 0.02 s 0.86 s an answer and a speed-up of 0.9 / 0.36 = 2.5,
with 0.06 s 0.98 s an answer. Three questions asked twice are six rounds.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Session = Callable[..., subprocess.CompletedProcess[str]]

DRAFTERS = [
    {"kind": "none"},
    {"kind": "mimic", "draft_length": [3], "right": 2},
    {"kind": "ngram", "draft_length": [3], "optional": True},
]
"""The parrot has no ngram, so that this arm is left out."""

NAME = "parrot / sayings / {} / concurrency 1".format

OWN_TESTS = """
import sys
import pytest

def test_each(draftmark_cell):
    assert draftmark_cell.turns_ok == 6

@pytest.mark.draftmark(arm="mimic D=3", suite="sayings")
def test_one(draftmark_cell):
    assert draftmark_cell.value("acceptance_length") == 3
    assert draftmark_cell.value("speedup") == pytest.approx(2.5)
    assert draftmark_cell.metrics["speedup"].low is None

@pytest.mark.draftmark(suite=["sayings", "coding"])
class TestClass:
    @pytest.mark.draftmark(arm="none")
    def test_markers_add_up(self, draftmark_cell):
        assert (draftmark_cell.suite, draftmark_cell.arm) == ("sayings", "none")

@pytest.mark.draftmark(arm="none")
def test_of_what_was_not_measured(draftmark_cell):
    draftmark_cell.value("acceptance_rate")

def test_nothing_of_ours_is_in_this_session():
    ours = {name for name in sys.modules if name.partition(".")[0] == "draftmark"}
    plugin = "draftmark.bench.pytest_plugin"
    parts = {f"{plugin}.{name}" for name in ("measuring", "items", "values")}
    assert ours == {"draftmark", "draftmark.bench", plugin, *parts}
    assert not {"pydantic", "pandas", "numpy", "torch"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def session(plugin_folder: Path) -> Session:
    """Call pytest in a folder as a user does; what this test session has loaded or set is not there."""

    def call(folder: Path, *arguments: object, program: str = "pytest") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", program, *map(str, arguments)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": str(plugin_folder), "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)

    return call


class Measured:
    """What a session with a plan left."""

    def __init__(self, folder: Path, done: subprocess.CompletedProcess[str]) -> None:
        self.folder = folder
        self.done = done

    @property
    def json(self) -> dict[str, Any]:
        return json.loads((self.folder / "out.json").read_text(encoding="utf-8"))

    def benchmark(self, arm: str) -> dict[str, Any]:
        (found,) = [one for one in self.json["benchmarks"] if one["name"] == NAME(arm)]
        return found

    def outcomes(self, word: str) -> list[str]:
        """The tests with this outcome, in the order of the verbose report."""
        lines = [line.partition(f" {word} ") for line in self.done.stdout.splitlines()]
        return [name.strip() for name, found, _ in lines if found and "::" in name]


@pytest.fixture(scope="module")
def project(
    tmp_path_factory: pytest.TempPathFactory, session: Session, write_parrot_plan: Callable[..., Path]
) -> Measured:
    """A project with a plan and tests of its own, after its session."""
    folder = tmp_path_factory.mktemp("project")
    write_parrot_plan(drafters=DRAFTERS, repeats=2).rename(folder / "plan.yaml")
    (folder / "test_own.py").write_text(OWN_TESTS, encoding="utf-8")
    done = session(
        folder, "-v", "-rs", "--draftmark-plan", "plan.yaml", "--draftmark-out", "run", "--benchmark-json", "out.json"
    )
    return Measured(folder, done)


@pytest.fixture(scope="module")
def slower(
    tmp_path_factory: pytest.TempPathFactory, session: Session, write_parrot_plan: Callable[..., Path]
) -> Measured:
    """The same plan where drafting takes three times as long, its cells alone."""
    folder = tmp_path_factory.mktemp("slower")
    backends = [{"kind": "parrot", "step_s": 0.1, "draft_s": 0.06}]
    write_parrot_plan(drafters=DRAFTERS, backends=backends, repeats=2).rename(folder / "plan.yaml")
    done = session(folder, "-q", "plan.yaml", "--draftmark-plan", "plan.yaml", "--benchmark-json", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    return Measured(folder, done)


def test_each_cell_of_the_plan_is_a_benchmark_and_one_that_was_left_out_is_skipped(project: Measured) -> None:
    arms = ["none", "none (control)", "mimic D=3"]
    assert [name for name in project.outcomes("PASSED") if name.startswith("plan.yaml")] == [
        f"plan.yaml::{NAME(arm)}" for arm in arms
    ]
    assert f"plan.yaml::{NAME('ngram D=3')}" in project.outcomes("SKIPPED")
    assert "left out: the parrot has no drafter 'ngram'" in project.done.stdout
    assert [one["name"] for one in project.json["benchmarks"]] == [NAME(arm) for arm in arms]


@pytest.mark.parametrize(("arm", "seconds"), [("none", 1.4), ("none (control)", 1.4), ("mimic D=3", 0.86)])
def test_each_round_is_a_turn_with_the_seconds_that_it_took(project: Measured, arm: str, seconds: float) -> None:
    found = project.benchmark(arm)
    assert found["stats"]["data"] == pytest.approx([seconds] * 6)
    assert found["stats"]["rounds"] == 6
    assert found["stats"]["iterations"] == 1
    assert found["options"]["timer"] == "recorded_seconds"


def test_what_was_measured_besides_goes_along_with_interval_and_source(project: Measured) -> None:
    info = project.benchmark("mimic D=3")["extra_info"]
    assert info["acceptance_length"]["value"] == 3
    assert info["acceptance_length"]["source"] == "engine"
    assert info["draft_overhead"]["value"] == pytest.approx(0.2)
    assert info["speedup"]["value"] == pytest.approx(2.5)
    assert info["speedup"]["low"] is None
    assert "3 conversations" in info["speedup"]["note"]
    assert info["output_tps"]["value"] == pytest.approx(10 / 0.86)
    assert (info["arm"], info["draft_length"], info["suite"]) == ("mimic D=3", 3, "sayings")
    assert Path(info["folder"]) == project.folder / "run"


def test_tests_of_ones_own_run_for_each_cell_or_for_those_that_they_name(project: Measured) -> None:
    own = [name for name in project.outcomes("PASSED") if name.startswith("test_own.py")]
    assert own == [
        *(f"test_own.py::test_each[{NAME(arm)}]" for arm in ("none", "none (control)", "mimic D=3")),
        f"test_own.py::test_one[{NAME('mimic D=3')}]",
        f"test_own.py::TestClass::test_markers_add_up[{NAME('none')}]",
        "test_own.py::test_nothing_of_ours_is_in_this_session",
    ]
    assert f"test_own.py::test_each[{NAME('ngram D=3')}]" in project.outcomes("SKIPPED")


def test_asking_for_a_number_that_is_missing_fails_with_the_reason(project: Measured) -> None:
    assert project.done.returncode == 1
    assert project.outcomes("FAILED") == [f"test_own.py::test_of_what_was_not_measured[{NAME('none')}]"]
    assert f"{NAME('none')}: acceptance_rate was not measured: this arm drafts nothing" in project.done.stdout


def test_pytest_benchmark_compares_two_of_our_files(project: Measured, slower: Measured, session: Session) -> None:
    table = slower.folder / "compared.csv"
    files = [project.folder / "out.json", slower.folder / "out.json"]
    options = ["--group-by=fullname", "--columns=mean,rounds", f"--csv={table}"]
    done = session(slower.folder, "compare", *files, *options, program="pytest_benchmark")
    assert done.returncode == 0, done.stderr
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    means = sorted(float(row["mean"]) for row in rows if "mimic D=3" in row["name"])
    assert means == pytest.approx([0.86, 0.98])
    assert len(rows) == 6
    assert {row["rounds"] for row in rows} == {"6"}


def test_pytest_benchmark_gates_on_our_rounds(project: Measured, slower: Measured, session: Session) -> None:
    """0.98 s after 0.86 s is 14% more; the finished run is read, not repeated, so that a session after it is quick."""
    arguments = ["plan.yaml", "--draftmark-plan", "plan.yaml", "--draftmark-out", "again"]
    earlier = f"--benchmark-compare={project.folder / 'out.json'}"
    for limit, code in (("mean:20%", 0), ("mean:10%", 1)):
        done = session(slower.folder, "-q", *arguments, earlier, f"--benchmark-compare-fail={limit}")
        assert done.returncode == code, done.stdout + done.stderr
    assert "Performance has regressed" in done.stdout + done.stderr


def test_listing_and_skipping_run_nothing(project: Measured, session: Session) -> None:
    listed = session(project.folder, "-q", "--collect-only", "--draftmark-plan", "plan.yaml", "--draftmark-out", "no")
    assert f"plan.yaml::{NAME('mimic D=3')}" in listed.stdout.splitlines()
    skipped = session(
        project.folder, "-q", "--benchmark-skip", "--draftmark-plan", "plan.yaml", "--draftmark-out", "no", "plan.yaml"
    )
    assert "4 skipped" in skipped.stdout
    assert not (project.folder / "no").exists()


def test_a_run_that_was_lost_is_an_error_with_its_reason(
    project: Measured, session: Session, write_parrot_plan: Callable[..., Path], tmp_path: Path
) -> None:
    """The folder holds the run of another plan, so that `draftmark run` refuses."""
    plan = write_parrot_plan(name="another").rename(tmp_path / "plan.yaml")
    (tmp_path / "test_own.py").write_text("def test_own(draftmark_cell): pass\ndef test_other(): pass\n")
    done = session(tmp_path, "--draftmark-plan", plan, "--draftmark-out", project.folder / "run")
    assert done.returncode == 1
    assert "1 passed, 6 errors" in done.stdout
    assert "has no numbers: the run of plan.yaml ended with exit code 2" in done.stdout


def test_a_wrong_plan_is_a_wrong_command_line_with_the_plans_sentences(
    session: Session, write_parrot_plan: Callable[..., Path]
) -> None:
    plan = write_parrot_plan(repeets=2, warmup=-1)
    done = session(plan.parent, "--draftmark-plan", plan)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "has 2 problems" in done.stderr
    assert "did you mean 'repeats'" in done.stderr


def test_a_plan_that_is_not_there_is_a_wrong_command_line(session: Session, tmp_path: Path) -> None:
    done = session(tmp_path, "--draftmark-plan", "none.yaml")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "none.yaml" in done.stderr


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("arm='mimick'", "no cell of plan.yaml has arm='mimick'; it has"),
        ("arms='none'", "the marker draftmark has no arms; it has arm, suite"),
    ],
)
def test_a_marker_that_names_nothing_is_an_error_that_says_what_there_is(
    project: Measured, session: Session, tmp_path: Path, marker: str, sentence: str
) -> None:
    text = f"import pytest\n@pytest.mark.draftmark({marker})\ndef test_own(draftmark_cell): pass\n"
    (tmp_path / "test_own.py").write_text(text, encoding="utf-8")
    plan = project.folder / "plan.yaml"
    done = session(tmp_path, "--collect-only", "test_own.py", "--draftmark-plan", plan)
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert sentence in done.stdout


@pytest.mark.parametrize("workers", [("-n", "2"), ("-n", "1"), ("--dist", "load", "--tx", "popen")])
def test_parallel_workers_are_refused(workers: tuple[str, ...], session: Session, tmp_path: Path) -> None:
    done = session(tmp_path, *workers, "--draftmark-plan", "plan.yaml")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--draftmark-plan measures time" in done.stderr


def test_without_pytest_benchmark_it_says_what_to_install(session: Session, tmp_path: Path) -> None:
    done = session(tmp_path, "-p", "no:benchmark", "--draftmark-plan", "plan.yaml")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "pip install pytest-benchmark" in done.stderr


def test_without_the_option_only_the_hooks_are_loaded_and_tests_that_need_a_plan_are_skipped(
    session: Session, tmp_path: Path
) -> None:
    text = (
        "import sys\n"
        "def test_own(draftmark_cell): pass\n"
        "def test_modules():\n"
        "    ours = {name for name in sys.modules if name.partition('.')[0] == 'draftmark'}\n"
        "    assert ours == {'draftmark', 'draftmark.bench', 'draftmark.bench.pytest_plugin'}\n"
    )
    (tmp_path / "test_own.py").write_text(text, encoding="utf-8")
    done = session(tmp_path, "-rs", "--strict-markers")
    assert "1 passed, 1 skipped" in done.stdout
    assert "needs a plan: pytest --draftmark-plan plan.yaml" in done.stdout


def test_a_folder_without_a_plan_is_a_wrong_command_line(session: Session, tmp_path: Path) -> None:
    done = session(tmp_path, "--draftmark-out", "run")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR


def cell(**changes: Any) -> Any:
    """A measured cell of four turns."""
    from draftmark.bench.pytest_plugin.values import MeasuredCell

    words = ("name", "cell_id", "backend", "suite", "arm", "drafter", "load", "status_text")
    told = dict.fromkeys(words, "a") | {"draft_length": 3, "turns_ok": 4, "turns_failed": 0, "turns_expected": 4}
    told |= {"status": "complete", "metrics": {}, "seconds": [1.0] * 4, "failures": [], "lamps": []}
    return MeasuredCell.of(told | changes)


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, []),
        ({"lamps": [{"name": "baseline", "level": "warning", "text": "it drifts"}]}, []),
        ({"lamps": [{"name": "losslessness", "level": "fault", "text": "it differs"}]}, ["losslessness: it differs"]),
        ({"status": "partial", "status_text": "partial 3/4"}, ["not all of it was measured: partial 3/4"]),
        (
            {"turns_failed": 4, "failures": ["q0: timeout: late", "q1: x: y", "q2: x: y", "q3: x: y"]},
            ["4 of 4 turns failed: q0: timeout: late; q1: x: y; q2: x: y; and 1 more"],
        ),
    ],
)
def test_what_voids_a_cell_is_told(changes: dict[str, Any], faults: list[str]) -> None:
    assert cell(**changes).faults() == faults


def test_what_was_not_measured_is_null_with_its_reason() -> None:
    from draftmark.bench.pytest_plugin.values import Metric

    told = Metric(value=None, low=None, high=None, n=0, unit="1", source=None, reason="no baseline", note=None)
    assert told.info() == {"value": None, "reason": "no baseline", "unit": "1"}


def test_an_unknown_metric_is_named_with_those_there_are() -> None:
    metric = {"value": 1.0, "low": None, "high": None, "n": 1, "unit": "1", "source": "timed"}
    found = cell(metrics={"speedup": metric | {"reason": None, "note": None}})
    with pytest.raises(KeyError, match="no metric 'speed_up'; there are: speedup"):
        found.value("speed_up")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that, once it is interrupted, says more than a pipe holds and ends with exit code 130."""
    code = (
        "import signal, sys, time\n"
        "def stop(*_):\n    sys.stderr.write('stopping ' * 20_000)\n    sys.exit(130)\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "print('ready', file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_a_session_that_is_broken_off_asks_the_run_to_stop_and_waits_for_it(sleeper: subprocess.Popen[bytes]) -> None:
    from draftmark.bench.pytest_plugin.measuring import _end

    assert sleeper.stderr is not None
    assert sleeper.stderr.readline() == b"ready\n"
    _end(sleeper)
    assert sleeper.returncode == 130
