"""The program `draftmark`: the list of its verbs, lazily imported, and how every ending becomes an exit code.

Exit codes: 0 done; 1 done with failed turns, or a regression; 2 wrong input, or cannot decide; 3 cannot write;
70 a fault of Draftmark itself; 130 interrupted. A reader of the output that went away (`draftmark show ... | head`)
changes none of that and is quiet.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
import typer.core
import typer.main

from draftmark.bench.plans.variables import TRACEBACK, unknown_variables
from draftmark.bench.running.interruption import EXIT_INTERRUPTED
from draftmark.results.errors import DraftmarkError
from draftmark.results.harmless import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS: dict[str, str] = {
    "doctor": "Look at this machine: what can run here, what is missing, and how to get it.",
    "models": "List the small models that plans may name, and fetch them.",
    "suites": "List workload suites, show one, fetch SPEED-Bench, or make a suite of a request log.",
    "validate": "Check a plan and say what it would run; nothing is run.",
    "run": "Run a plan, or go on with a run that was interrupted.",
    "show": "Show the numbers of a run as a table or as JSON.",
    "compare": "Compare two runs: settings that differ first, then which differences are real.",
    "gate": "Judge a run by a baseline: pass, regression, or cannot decide.",
    "report": "Write a self-contained page about a run.",
    "leaderboard": "Rank what runs measured, a page per target, machine and suite.",
    "mock": "Run a server of known truth that may lie, to check clients with.",
}
"""Verb to its line of help, in the order a user meets them. `draftmark.bench.cli.<verb>` holds each verb's `app`."""

EXIT_NOT_WRITTEN, EXIT_INTERNAL = 3, 70
"""EX_SOFTWARE of sysexits.h: a fault of Draftmark itself, never mistaken for failed turns (1) or wrong input (2)."""

CHECKS_VARIABLES_ITSELF = {"run", "validate"}
"""These refuse unknown variables together with the plan's other problems."""


class LazyGroup(typer.core.TyperGroup):
    """Lists every verb from `VERBS`, and imports a verb's module only once it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs in the order of `VERBS`."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a stand-in that knows its line of help; `resolve_command` gets the real one."""
        line = VERBS.get(cmd_name)
        return None if line is None else typer.core.TyperCommand(name=cmd_name, help=line, callback=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, its module imported."""
        self.commands = {verb: self.get_command(ctx, verb) for verb in VERBS}  # what suggestions are made from
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None:
            return name, command, rest
        module = import_module(f"draftmark.bench.cli.{name}")
        real = typer.main.get_command(module.app)
        real.name, real.help = name, VERBS[name]
        return name, real, rest


app = typer.Typer(
    cls=LazyGroup, add_completion=False, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("draftmark"))
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Benchmark speculative decoding: acceptance length, draft overhead, and the speed-up that was measured."""
    if context.invoked_subcommand not in CHECKS_VARIABLES_ITSELF:
        for problem in unknown_variables(os.environ):
            complain(f"warning: {problem}")


def complain(sentence: str) -> None:
    """Print a sentence to standard error, after the program's name, harmless for the terminal.

    That nobody reads it any more must not end a run.
    """
    with suppress(OSError, AttributeError):  # AttributeError: standard error is closed and so None
        sys.stderr.write(f"draftmark: {harmless(sentence, keep_newlines=True)}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program and leave with its exit code."""
    raise SystemExit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    if sys.stdout is None:  # closed by the caller
        complain("standard output is closed; open it, or send it to a file")
        return EXIT_NOT_WRITTEN
    try:
        code = app(args=arguments, prog_name="draftmark")
    except SystemExit as ending:
        code = ending.code
    except DraftmarkError as fault:
        complain(str(fault))
        code = fault.exit_code
    except KeyboardInterrupt:
        complain("interrupted")
        code = EXIT_INTERRUPTED
    except Exception as fault:  # noqa: BLE001 - the last line before a traceback
        code = EXIT_NOT_WRITTEN if _stdout_is_full(fault) else _internal(fault)
    return code if isinstance(code, int) else 0


def _stdout_is_full(fault: Exception) -> bool:
    """Say so, and answer whether a stream took no more; faults of files name the file."""
    if not (isinstance(fault, OSError) and fault.filename is None and fault.errno in {errno.ENOSPC, errno.EIO}):
        return False
    complain(f"cannot write to standard output: {fault.strerror}; make room, or send it elsewhere")
    return True


def _internal(fault: Exception) -> int:
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exc()
    words = str(fault) or "no message"
    complain(f"unexpected {type(fault).__name__}: {words}. This is a fault of Draftmark; {TRACEBACK}=1 shows where.")
    return EXIT_INTERNAL
