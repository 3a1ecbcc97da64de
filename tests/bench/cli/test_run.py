"""`validate`, `run` and how a run ends, is interrupted, is killed, and goes on."""

from __future__ import annotations

import json
import shlex
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.cli.run import resume_command
from draftmark.results.run_folder.store import RunStore

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from conftest import Said

    Call = Callable[..., Said]
    PlanFile = Callable[..., Path]
    Start = Callable[..., subprocess.Popen[str]]

TURNS = 3 * 5
"""Three arms, four conversations of which one has two turns."""


def names(folder: Path) -> list[tuple[str, str, int]]:
    store = RunStore.read(folder)
    return [
        (cell.cell_id, turn.question_id, turn.turn_index)
        for cell in store.manifest.cells
        for turn in store.turns(cell.cell_id)
    ]


def wait_for_turns(folder: Path, turns: int) -> None:
    """Wait until a run at work has recorded so many measured turns."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        lines = [path.read_text() for path in folder.glob("cells/*/turns.jsonl")]
        if sum(text.count('"phase":"measured"') for text in lines) >= turns:
            return
        time.sleep(0.02)
    raise AssertionError(f"{folder} did not get {turns} turns")


def test_validate_says_what_would_run_and_runs_nothing(
    call: Call, plan_file: PlanFile, fake: Any, tmp_path: Path
) -> None:
    said = call("validate", plan_file(repeats=2))
    assert said.code == 0
    assert "plan small: 3 cells, 30 requests and 3 for warm-up, at most 297 output tokens" in said.out
    assert said.out.endswith("The plan is fine; nothing was run.\n")
    assert fake.REQUESTS == []
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


def test_validate_tells_what_is_left_out(call: Call, plan_file: PlanFile) -> None:
    drafters = [{"kind": "none"}, {"kind": "suffix", "draft_length": 8, "optional": True}]
    said = call("validate", plan_file(drafters=drafters, backends=[{"kind": "fake", "lacks": ["suffix"]}]))
    assert (said.code, "left out: suffix D=8: the fake engine has no suffix" in said.out) == (0, True)


@pytest.mark.parametrize("verb", ["validate", "run"])
def test_an_arm_that_cannot_run_here_is_refused_before_anything_runs(
    call: Call, plan_file: PlanFile, verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    drafters = [{"kind": "none"}, {"kind": "suffix", "draft_length": 8}]
    path = plan_file(drafters=drafters, backends=[{"kind": "fake", "lacks": ["suffix"]}])
    said = call(verb, path)
    assert said.code == 2
    assert "drafters[1]: suffix D=8 cannot run here: the fake engine has no suffix" in said.err
    assert not (tmp_path / "runs").exists()


def test_validate_estimates_by_an_earlier_run_and_never_without_one(
    call: Call, plan_file: PlanFile, tmp_path: Path
) -> None:
    path = plan_file(step_s=0.01)
    call("run", path, "--out", tmp_path / "earlier", "--quiet")
    said = call("validate", path, "--like", tmp_path / "earlier")
    assert said.code == 0
    assert " of measuring, by the turns of earlier, measured on " in said.out
    other = call("validate", plan_file(step_s=0.02), "--like", tmp_path / "earlier")
    assert "No honest estimate of the time: earlier has no turn of none on talk with these settings." in other.out


def test_a_plan_with_faults_is_refused_with_all_of_them(call: Call, plan_file: PlanFile) -> None:
    path = plan_file(repeat=2, sampling={"max_tokens": "256"})
    said = call("run", path)
    assert said.code == 2
    heading, *lines = said.err.splitlines()
    assert heading == f"draftmark: {path} has 2 problems:"
    assert sorted(lines) == [
        f"  {path}:1: repeat: unknown key; did you mean 'repeats'?",
        f'  {path}:1: sampling.max_tokens: must be a whole number, not the text "256"; take the quotes away',
    ]


def test_a_run_ends_with_its_table_and_its_folder(call: Call, plan_file: PlanFile, tmp_path: Path) -> None:
    said = call("run", plan_file(), "--runs-root", tmp_path / "runs")
    assert said.code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert said.out.splitlines()[-1] == f"run folder: {folder}"
    assert "ngram D=3" in said.out
    assert len(names(folder)) == TURNS
    assert json.loads((folder / "summary.json").read_text())["manifest"]["status"] == "complete"


def test_a_quiet_run_prints_its_folder_alone(call: Call, plan_file: PlanFile, tmp_path: Path) -> None:
    said = call("run", plan_file(), "--out", tmp_path / "run", "--quiet")
    assert said == (0, f"{tmp_path / 'run'}\n", "")


def test_failed_turns_end_with_1_and_are_told(
    call: Call, plan_file: PlanFile, tmp_path: Path, fake: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(fake.FakeBackend, "_answer", lambda *_: 1 / 0)
    said = call("run", plan_file(), "--out", tmp_path / "run")
    assert said.code == 1
    assert "15 turns failed; they are counted apart and in no number above:" in said.out
    assert "12 x engine-error: ZeroDivisionError: division by zero" in said.out
    assert "the run produced no token at all" in said.err


def test_answers_without_a_count_of_tokens_are_not_called_failed(
    call: Call, plan_file: PlanFile, tmp_path: Path, fake: Any, monkeypatch: Any
) -> None:
    whole = fake.FakeBackend._answer
    bare = {"output_tokens": None, "output_ids": None, "token_source": None, "steps": None}
    monkeypatch.setattr(fake.FakeBackend, "_answer", lambda *told: whole(*told).model_copy(update=bare))
    said = call("run", plan_file(), "--out", tmp_path / "run")
    assert said.code == 1
    assert "no token is counted: 15 turns were answered without a count" in said.err
    assert "failed" not in said.err.replace("failed turns", "")


def test_a_run_folder_that_is_a_file_or_device_is_told_as_such(call: Call, plan_file: PlanFile, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", "/dev/null"):
        said = call("run", plan_file(), "--out", path)
        assert said.code == 3
        assert f"cannot write {path}: something that is no folder has that name; name another folder" in said.err


def test_a_folder_that_cannot_be_written_ends_with_3(call: Call, plan_file: PlanFile, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for option in ("--out", "--runs-root"):
        said = call("run", plan_file(), option, tmp_path / "file" / "run")
        assert said.code == 3
        assert "cannot write" in said.err
        assert "Traceback" not in said.err


def test_another_plan_cannot_go_on_in_a_folder(call: Call, plan_file: PlanFile, tmp_path: Path) -> None:
    call("run", plan_file(), "--out", tmp_path / "run", "--quiet")
    said = call("run", plan_file(sampling={"max_tokens": 12}), "--out", tmp_path / "run")
    assert said.code == 2
    assert "plan.sampling.max_tokens: 9 -> 12" in said.err


@pytest.mark.parametrize("name", ["../../x", "\x1b[31m[red]boo", "a/b\nc", "日本 \u202e", "x" * 200])
def test_hostile_names_stay_text_in_paths_terminal_and_json(
    call: Call, plan_file: PlanFile, tmp_path: Path, name: str
) -> None:
    said = call("run", plan_file(name=name), "--runs-root", tmp_path / "runs")
    assert said.code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.isascii()
    assert not {"\x1b", "\u202e"} & set(said.out)
    assert json.loads((folder / "manifest.json").read_text())["name"] == name
    shown = call("show", folder)
    assert "\x1b" not in shown.out
    assert shown.code == 0


def test_the_resume_command_survives_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    called = ["/opt/my venv/bin/draftmark", "run", "my plan.yaml", "--quiet"]
    monkeypatch.setattr("sys.argv", called)
    assert shlex.split(resume_command(Path("runs/it's"))) == [*called, "--out", "runs/it's"]


@pytest.mark.parametrize("named", [["--out", "run"], ["--out=run"]])
def test_the_resume_command_names_the_folder_once(monkeypatch: pytest.MonkeyPatch, named: list[str]) -> None:
    called = ["/opt/draftmark", "run", *named, "--url", "http://127.0.0.1:1"]
    monkeypatch.setattr("sys.argv", called)
    assert shlex.split(resume_command(Path("run"))) == called


def test_on_the_path_the_program_is_named_without_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "draftmark"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [str(program), "run", "p.yaml"])
    assert resume_command(Path("run")) == "draftmark run p.yaml --out run"


@pytest.mark.parametrize("on_path", [True, False])
def test_a_run_that_was_started_as_a_module_goes_on_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_path: bool
) -> None:
    python = tmp_path / "python3"
    python.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path if on_path else tmp_path / "elsewhere"))
    monkeypatch.setattr("sys.executable", str(python))
    monkeypatch.setattr("sys.argv", ["/opt/draftmark/__main__.py", "run", "p.yaml"])
    program = "python3" if on_path else str(python)
    assert resume_command(Path("run")) == f"{program} -m draftmark run p.yaml --out run"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_all_says_how_to_go_on_and_does(
    start: Start, plan_file: PlanFile, tmp_path: Path, number: signal.Signals
) -> None:
    plan, folder = plan_file(step_s=0.03), tmp_path / "run"
    process = start("run", plan, "--out", folder)
    wait_for_turns(folder, 2)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    kept = names(folder)
    assert 2 <= len(kept) < TURNS
    assert RunStore.read(folder).manifest.status == "interrupted"
    assert "stopping after the turn in flight" in err
    command = err.strip().splitlines()[-1]
    assert shlex.split(command)[1:] == ["run", str(plan), "--out", str(folder)]
    assert f"{len(kept)} of {TURNS} turns" in out

    again = start(*shlex.split(command)[1:])
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert f"going on: {len(kept)} of {TURNS} turns are there already" in err
    assert len(names(folder)) == len(set(names(folder))) == TURNS
    assert set(kept) <= set(names(folder))


def test_killed_runs_lose_no_finished_turn(start: Start, plan_file: PlanFile, tmp_path: Path) -> None:
    plan, folder = plan_file(step_s=0.02), tmp_path / "run"
    kept: list[tuple[str, str, int]] = []
    for turns in (1, 4, 9):
        process = start("run", plan, "--out", folder, "--quiet")
        wait_for_turns(folder, turns)
        process.kill()
        process.communicate(timeout=60)
        assert set(kept) <= set(names(folder))
        kept = names(folder)
        assert turns <= len(kept) < TURNS
        assert RunStore.read(folder).manifest.status == "running"
    process = start("run", plan, "--out", folder, "--quiet")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, f"{folder}\n", "")
    assert len(names(folder)) == len(set(names(folder))) == TURNS
