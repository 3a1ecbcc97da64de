"""The program's frame: verbs listed without importing them, and endings that become exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.cli.app import EXIT_INTERNAL, VERBS
from draftmark.results.errors import StoreWriteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Said

    Call = Callable[..., Said]

HEAVY = {"torch", "transformers", "pandas", "numpy", "scipy", "pydantic", "ruamel.yaml", "plotly"}


def test_help_lists_the_verbs_in_the_order_a_user_meets_them(call: Call) -> None:
    said = call("--help")
    assert said.code == 0
    rows = [line for line in said.out.splitlines() if line.startswith("│ ") and line[2].islower()]
    assert [row.split()[1] for row in rows] == list(VERBS)


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom draftmark.bench.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\nprint(' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert "typer" in imported
    assert imported.isdisjoint(HEAVY)
    assert not any(name.startswith("draftmark.bench.cli.") for name in imported - {
        "draftmark.bench.cli.app",
        "draftmark.bench.reporting.display",
    })  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(call: Call, verb: str) -> None:
    said = call(verb, "--help")
    assert said.code == 0
    assert VERBS[verb].split(":")[0].split(",")[0][:20] in said.out


def test_a_misspelt_verb_gets_a_suggestion(call: Call) -> None:
    said = call("vlidate", "x")
    assert said.code == 2
    assert "'validate'" in said.err


def test_a_missing_argument_is_wrong_input(call: Call) -> None:
    assert call("run").code == 2


def test_the_version_is_printed(call: Call) -> None:
    from importlib.metadata import version

    assert call("--version").out == f"{version('draftmark')}\n"


def raising(fault: BaseException) -> Any:
    def prepare(path: Path) -> None:
        raise fault

    return prepare


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        (StoreWriteError("cannot write here"), 3, "draftmark: cannot write here\n"),
        (ValueError("what\x1b[31m"), EXIT_INTERNAL, "draftmark: unexpected ValueError: what\\x1b[31m. This is a fault"),
    ],
)
def test_faults_become_a_sentence_and_a_code(
    call: Call, monkeypatch: pytest.MonkeyPatch, fault: Exception, code: int, told: str
) -> None:
    monkeypatch.setattr("draftmark.bench.plans.prepared.prepare", raising(fault))
    said = call("validate", "plan.yaml")
    assert said.code == code
    assert said.err.startswith(told)
    assert "Traceback" not in said.err


def test_the_traceback_of_a_fault_is_there_for_who_asks(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTMARK_TRACEBACK", "1")
    monkeypatch.setattr("draftmark.bench.plans.prepared.prepare", raising(ValueError("what")))
    assert "Traceback (most recent call last)" in call("validate", "plan.yaml").err


def test_ctrl_c_outside_a_run_ends_with_130(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftmark.bench.plans.prepared.prepare", raising(KeyboardInterrupt()))
    assert call("validate", "plan.yaml").code == 130


def test_a_misspelt_variable_is_reported_by_every_verb(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTMARK_CACH", "canary")
    said = call("suites", "list")
    assert said.code == 0
    assert "unknown environment variable DRAFTMARK_CACH" in said.err
    assert "canary" not in said.out + said.err


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = "from draftmark.bench.cli import main; main(['suites', 'list'])"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # long before the table is written
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_output_is_told_as_such_with_exit_3() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "draftmark", "suites", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 3
    assert "cannot write to standard output" in ended.stderr


def test_a_closed_output_is_told_as_such_with_exit_3() -> None:
    command = f'"{sys.executable}" -m draftmark suites list >&-'
    ended = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 3
    assert "standard output is closed" in ended.stderr


def test_a_message_that_nobody_reads_any_more_ends_nothing() -> None:
    code = "from draftmark.bench.cli.app import complain; complain('a'); complain('b'); raise SystemExit(7)"
    command = f'{{ "{sys.executable}" -c "{code}"; echo $? >&3; }} 2>&1 | true'
    ended = subprocess.run(
        ["/bin/sh", "-c", f"{{ sleep 0.2; {command}; }} 3>&1"], capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "7"
