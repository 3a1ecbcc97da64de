"""`draftmark run`: run a plan, or go on with a run that was interrupted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from draftmark.bench.cli.app import complain
from draftmark.bench.cli.display import emit, emit_rich

if TYPE_CHECKING:
    from draftmark.bench.running.progress import Reporter
    from draftmark.bench.running.runner import Outcome

app = typer.Typer(add_completion=False)


@app.command()
def run(
    plan: Path = typer.Argument(..., help="The plan file."),
    out: Path | None = typer.Option(None, help="Run folder; one that holds this plan's run goes on where it stopped."),
    runs_root: Path = typer.Option(Path("runs"), help="Where a new run folder is made, unless --out names one."),
    quiet: bool = typer.Option(False, help="Print the run folder and nothing else."),
) -> None:
    """Run a plan, or go on with a run that was interrupted.

    Exits with 0 when done, 1 when done with failed turns, a lost engine or no token at all, 2 for wrong input, 3 where
    the folder cannot be written, and 130 when interrupted; Ctrl-C lets the turn in flight finish and keeps everything.
    """
    from draftmark.bench.environment import environment
    from draftmark.bench.plans.prepared import prepare
    from draftmark.bench.running.interruption import Interruption
    from draftmark.bench.running.runner import run_plan
    from draftmark.results.store import new_run_folder

    prepared = prepare(plan)
    folder = out if out is not None else new_run_folder(runs_root, prepared.plan.name)
    with ExitStack() as stack:
        stop = stack.enter_context(Interruption(_say_stopping))
        outcome = run_plan(
            prepared.plan,
            prepared.arms,
            prepared.materials,
            folder,
            environment=environment(),
            reporter=_reporter(stack, quiet=quiet),
            stop=stop,
        )
    if not quiet:
        _show(outcome)
    emit(str(folder) if quiet else f"run folder: {folder}")
    if outcome.status == "interrupted":
        complain(f"interrupted; all finished turns are kept. To go on:\n{resume_command(plan, folder, quiet=quiet)}")
    elif not outcome.output_tokens:
        complain("the run produced no token at all; see the failures above")
    raise typer.Exit(outcome.exit_code)


def resume_command(plan: Path, folder: Path, *, quiet: bool) -> str:
    """Return the command that goes on with a run, quoted for the shell; it names this program as it was called."""
    found, called = shutil.which("draftmark"), sys.argv[0]
    program = "draftmark" if found is not None and Path(found).resolve() == Path(called).resolve() else called
    return shlex.join([program, "run", str(plan), "--out", str(folder), *(["--quiet"] if quiet else [])])


def _show(outcome: Outcome) -> None:
    from draftmark.bench.cli.table import run_lines

    emit_rich(*run_lines(outcome.summary))


def _reporter(stack: ExitStack, *, quiet: bool) -> Reporter:
    from draftmark.bench.running.progress import Bar, Lines, Silent

    if quiet:
        return Silent()
    return stack.enter_context(Bar()) if sys.stderr.isatty() else Lines(complain)


def _say_stopping() -> None:
    """Write from the signal handler, past Python's buffers, which may be in use at this moment.

    Whoever read it may be gone already, as in `draftmark run ... 2>&1 | tee log` after Ctrl-C.
    """
    with suppress(OSError):
        os.write(2, b"\ndraftmark: stopping after the turn in flight; once more drops that turn\n")
