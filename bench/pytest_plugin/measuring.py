"""A session with a plan: its cells collected as benchmarks, the plan run in a child process, its numbers handed out.

The child is the command `draftmark run`; what it measured is read by another child (`answers`) and comes back as
JSON. The run begins after collection and before the first test, so that no limit on a test's time counts it, and its
progress is seen. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftmark.bench.pytest_plugin.items import PlanFile, PlanItem
from draftmark.bench.pytest_plugin.values import MeasuredCell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

EXIT_DONE, EXIT_FAILED_TURNS = 0, 1
LAST_LINES = 20
SECONDS_TO_STOP = 60.0
"""How long an interrupted run may take to finish the turn in flight, and then to end."""

SELECTORS = ("arm", "suite", "backend", "load", "drafter", "draft_length", "name")


class Measuring:
    """The plan of a session: a plugin of its own, registered only where the option is given."""

    def __init__(self, config: pytest.Config, plan: Path, out: Path | None) -> None:
        self.plan = plan
        self.cells: list[dict[str, Any]] = []
        """What the plan would run, in its order."""
        self._config = config
        self._out = out
        self._measured: dict[str, MeasuredCell] = {}
        self._run: dict[str, str] = {}
        self._lost: str | None = "the plan was not run"

    @classmethod
    def of(cls, config: pytest.Config) -> Measuring:
        """Look at the options and add the plan to what is collected.

        Raises `pytest.UsageError` for parallel workers, which would slow each other and what is measured, and where
        pytest-benchmark is missing.
        """
        if hasattr(config, "workerinput") or config.getoption("dist", "no") != "no":
            raise pytest.UsageError(
                "--draftmark-plan measures time, and the tests of parallel workers would run beside it; leave out -n, "
                "or give -n 0"
            )
        if not config.pluginmanager.hasplugin("benchmark"):
            raise pytest.UsageError(
                "--draftmark-plan needs pytest-benchmark: pip install pytest-benchmark, and leave out -p no:benchmark"
            )
        here = config.invocation_params.dir
        plan = (here / config.getoption("draftmark_plan")).resolve()
        out = config.getoption("draftmark_out")
        if not any((here / argument.split("::")[0]).resolve() == plan for argument in config.args):
            config.args.append(str(plan))
        return cls(config, plan, None if out is None else (here / out).resolve())

    # What pytest calls

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Read the plan first: a wrong one is a wrong command line (exit code 4)."""
        answer, sentence = self._ask("plan", self.plan)
        if answer is None:
            raise pytest.UsageError(sentence)
        self.cells = answer["cells"]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the plan's cells where the plan's file is."""
        if file_path.resolve() != self.plan:
            return None
        return PlanFile.from_parent(parent, path=file_path, measuring=self)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Let a test with the fixture `draftmark_cell` run for each cell that its markers leave."""
        if "draftmark_cell" not in metafunc.fixturenames:
            return
        wanted: dict[str, Any] = {}
        for marker in metafunc.definition.iter_markers("draftmark"):
            wanted = dict(marker.kwargs) | wanted
        chosen = self._chosen(metafunc.definition.nodeid, wanted)
        ids = [cell["name"] for cell in chosen]
        metafunc.parametrize("draftmark_cell", [cell["cell_id"] for cell in chosen], ids=ids, indirect=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Run the plan once, if a test that is about to run asks for it."""
        option = session.config.option
        if option.collectonly or (session.testsfailed and not option.continue_on_collection_errors):
            return
        if any(_needs_the_run(item) for item in session.items):
            self._measure()

    # What items and fixtures call

    def cell(self, cell_id: str) -> MeasuredCell:
        """Return a measured cell; skip the test where the plan left it out, fail it where the run was lost."""
        (planned,) = [cell for cell in self.cells if cell["cell_id"] == cell_id]
        if planned["left_out"] is not None:
            pytest.skip(f"left out: {planned['left_out']}")
        if self._lost is not None:
            pytest.fail(f"{planned['name']} has no numbers: {self._lost}", pytrace=False)
        found = self._measured[cell_id]
        if found.turns_ok == 0:
            pytest.fail(f"{found.name} has no numbers: {'; '.join(found.faults())}", pytrace=False)
        return found

    def about(self) -> dict[str, str]:
        """Return which run it was, for a report."""
        return self._run

    # The children

    def _chosen(self, test: str, wanted: dict[str, Any]) -> list[dict[str, Any]]:
        unknown = sorted(set(wanted) - set(SELECTORS))
        if unknown:
            names = ", ".join(unknown)
            pytest.fail(f"{test}: the marker draftmark has no {names}; it has {', '.join(SELECTORS)}", pytrace=False)
        accepted = {key: value if isinstance(value, list | tuple) else [value] for key, value in wanted.items()}
        chosen = [cell for cell in self.cells if all(cell[key] in values for key, values in accepted.items())]
        if not chosen:
            told = ", ".join(f"{key}={value!r}" for key, value in wanted.items())
            there = "\n".join(f"  {cell['name']}" for cell in self.cells)
            pytest.fail(f"{test}: no cell of {self.plan.name} has {told}; it has\n{there}", pytrace=False)
        return chosen

    def _measure(self) -> None:
        out = self._out
        if out is None:
            out = Path(tempfile.mkdtemp(prefix="draftmark-", dir=_temporary(self._config))) / "run"
        with self._terminal():
            sys.stderr.write(f"\ndraftmark: running {self.plan.name}; its numbers go to {out}\n")
            code, last = self._stream(["draftmark", "run", str(self.plan), "--out", str(out), "--quiet"])
        if code not in (EXIT_DONE, EXIT_FAILED_TURNS):
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            self._lost = f"the run of {self.plan.name} ended with {how}, in {out}" + (f":\n{last}" if last else "")
            return
        answer, sentence = self._ask("run", out)
        if answer is None:
            self._lost = f"the run in {out} cannot be read: {sentence}"
            return
        self._lost = None
        self._measured = {cell["cell_id"]: MeasuredCell.of(cell) for cell in answer["cells"]}
        self._run = {name: answer[name] for name in ("run_id", "plan_hash", "target")} | {"folder": str(out)}

    def _terminal(self) -> AbstractContextManager[None]:
        """Let the run's progress through to the terminal."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        return nullcontext() if capture is None else capture.global_and_fixture_disabled()

    def _stream(self, module: list[str]) -> tuple[int, str]:
        """Run a module of Draftmark, show what it says as it says it, and return exit code and last lines."""
        process = subprocess.Popen(_python(*module), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said: list[str] = []
        try:
            for line in _lines(process):
                sys.stderr.write(line)
                sys.stderr.flush()
                said.append(line)
            return process.wait(), "".join(said[-LAST_LINES:]).strip()
        finally:
            _end(process)

    def _ask(self, about: str, subject: Path) -> tuple[dict[str, Any] | None, str]:
        """Return the answer to a question, or null and the sentence why there is none."""
        with tempfile.TemporaryDirectory(prefix="draftmark-") as folder:
            out = Path(folder) / "answer.json"
            command = _python("draftmark.bench.pytest_plugin.answers", about, str(subject), str(out))
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode != 0:
                return None, done.stderr.strip() or f"it ended with exit code {done.returncode}"
            return json.loads(out.read_bytes()), ""


def _needs_the_run(item: pytest.Item) -> bool:
    if isinstance(item, PlanItem):
        return not item.config.getoption("benchmark_skip")
    return "draftmark_cell" in getattr(item, "fixturenames", ())


def _temporary(config: pytest.Config) -> Path | None:
    """Return the folder of this session's temporary files, of which pytest keeps the last three; null for the system's.

    pytest offers it to fixtures alone, and a fixture belongs to a test.
    """
    factory: pytest.TempPathFactory | None = getattr(config, "_tmp_path_factory", None)
    return None if factory is None else factory.getbasetemp()


def _python(*arguments: str) -> list[str]:
    """Return the command for a module, without the working folder on its path, as `draftmark` itself has it."""
    return [sys.executable, "-P", "-m", *arguments]


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    assert process.stderr is not None  # noqa: S101 - it was asked for
    for line in process.stderr:
        yield line.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """See that the child has ended: asked twice to stop, which keeps what it measured, and then told to.

    What it still says is read, so that it does not stumble over a closed pipe.
    """
    for request in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(request)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=SECONDS_TO_STOP)
            return
