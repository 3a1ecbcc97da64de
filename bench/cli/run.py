"""`draftmark run`: run a plan, or go on with a run that was interrupted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from draftmark.bench.cli.app import complain
from draftmark.bench.reporting.display import emit, emit_rich, harmless

if TYPE_CHECKING:
    from draftmark.bench.plans.prepared import Prepared
    from draftmark.bench.running.progress import Reporter
    from draftmark.bench.running.runner import Outcome
    from draftmark.results.gating import Rules

app = typer.Typer(add_completion=False)

UNDECIDED = 2
"""Exit code of a run with failed turns that the gate found nothing against."""


@app.command()
def run(
    plan: Path | None = typer.Argument(None, help="The plan file; or name a server with --url."),
    *,
    url: str | None = typer.Option(None, help="A running server that speaks the OpenAI API, instead of a plan."),
    suite: list[str] = typer.Option(
        ["coding"], help="With --url: a suite of `suites list`, or a file; may be repeated."
    ),
    concurrency: str = typer.Option("1", help="With --url: turns in flight at once, such as 1,8,64."),
    limit: int | None = typer.Option(None, min=1, help="With --url: prompts of each suite."),
    max_tokens: int | None = typer.Option(None, min=1, help="With --url: most tokens of an answer."),
    model: str | None = typer.Option(None, help="With --url: the model's name on the server, where it has several."),
    draft_length: int | None = typer.Option(None, min=0, help="With --url: D, where the server does not tell it."),
    stall_timeout: float | None = typer.Option(
        None, metavar="SECONDS", help="With --url: longest wait for the next byte of an answer; default 300."
    ),
    api_key_env: str | None = typer.Option(None, help="With --url: the environment variable that holds the key."),
    target: str | None = typer.Option(None, help="With --url: the model's tokenizer, to send token ids."),
    thinking: str | None = typer.Option(
        None, help="With --url: whether the model thinks: on, off, low, medium or high."
    ),
    out: Path | None = typer.Option(None, help="Run folder; one that holds this plan's run goes on where it stopped."),
    runs_root: Path = typer.Option(Path("runs"), help="Where a new run folder is made, unless --out names one."),
    against: list[Path] = typer.Option([], help="Baseline run: checked before anything runs, and the gate at the end."),
    rules: Path | None = typer.Option(None, help="gate.yaml for --against; read before anything runs."),
    quiet: bool = typer.Option(False, help="Print the run folder and nothing else."),
) -> None:
    """Run a plan, or ask a running server; goes on with a run that was interrupted.

    Exits with 0 when done, 1 when done with failed turns, a lost engine or no token at all, 2 for wrong input, 3 where
    the folder cannot be written, and 130 when interrupted; Ctrl-C lets the turn in flight finish and keeps everything.
    With --against it ends like `draftmark gate`: 0 pass, 1 regression, 2 cannot decide.
    """
    from draftmark.bench.environment import environment
    from draftmark.bench.running.interruption import Interruption
    from draftmark.bench.running.runner import run_plan
    from draftmark.results.run_folder.store import new_run_folder

    if (plan is None) == (url is None):
        raise typer.BadParameter("name a plan file, or a server with --url; not both", param_hint="PLAN")
    if plan is not None:
        from draftmark.bench.plans.prepared import prepare

        prepared = prepare(plan)
    else:
        prepared = _server(
            url=url,
            suite=suite,
            concurrency=concurrency,
            limit=limit,
            max_tokens=max_tokens,
            model=model,
            draft_length=draft_length,
            stall_timeout=stall_timeout,
            api_key_env=api_key_env,
            target=target,
            thinking=thinking,
        )
    gate_rules = _fit(against, rules, prepared)
    for sentence in prepared.warnings:
        complain(harmless(sentence))
    folder = out if out is not None else new_run_folder(runs_root, prepared.plan.name)
    with ExitStack() as stack:
        stop = stack.enter_context(Interruption(_say_stopping))
        outcome = run_plan(
            prepared,
            folder,
            environment=environment(),
            reporter=_reporter(stack, quiet=quiet),
            stop=stop,
        )
    if not quiet:
        _show(outcome)
    emit(str(folder) if quiet else f"run folder: {folder}")
    if outcome.status == "interrupted":
        complain(f"interrupted; all finished turns are kept. To go on:\n{resume_command(folder)}")
    elif not outcome.output_tokens:
        complain(_no_token(outcome))
    if against and outcome.status != "interrupted":
        from draftmark.bench.cli.gate import tell
        from draftmark.bench.gating.gate import gate_runs

        code = tell(gate_runs(against, folder, gate_rules))
        raise typer.Exit(UNDECIDED if code == 0 and outcome.exit_code else code)
    raise typer.Exit(outcome.exit_code)


def _fit(against: list[Path], path: Path | None, prepared: Prepared) -> Rules | None:
    """Read the gate's rules, and refuse a baseline that it could not decide by before anything runs."""
    from draftmark.bench.environment import environment
    from draftmark.bench.gating.baseline import check_baseline
    from draftmark.bench.gating.rules_file import read_rules
    from draftmark.bench.running.session import new_manifest

    rules = read_rules(path)
    if not against:
        return None
    cells = [cell for group in prepared.groups for cell in group.running]
    target = prepared.materials.identify(prepared.plan.target_name)
    planned = new_manifest(prepared.plan, prepared.materials, prepared.groups, "planned")
    for folder in against:
        for sentence in check_baseline(
            cells, folder, planned=planned, environment=environment(), target=target, rules=rules
        ):
            complain(sentence)
    return rules


def resume_command(folder: Path) -> str:
    """Return the command that goes on with a run: as this one was called, quoted for the shell, with its folder."""
    found, (called, *words) = shutil.which("draftmark"), sys.argv
    program = ["draftmark" if found is not None and Path(found).resolve() == Path(called).resolve() else called]
    if Path(called).name == "__main__.py":
        python = Path(sys.executable).name
        at_hand = shutil.which(python)
        program = [python if at_hand is not None and Path(at_hand) == Path(sys.executable) else sys.executable]
        program += ["-m", "draftmark"]
    named = any(word == "--out" or word.startswith("--out=") for word in words)
    return shlex.join([*program, *words, *([] if named else ["--out", str(folder)])])


def _server(**told: Any) -> Prepared:
    """Make the plan of a running server ready."""
    from draftmark.bench.plans.prepared import prepare_data
    from draftmark.bench.plans.served import NAME, Asked, server_plan
    from draftmark.suites.naming import find_suite

    suites = [find_suite(name, told["limit"]) for name in told.pop("suite")]
    del told["limit"]
    text = told.pop("concurrency")
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise typer.BadParameter(
            f"{text!r} is no list of whole numbers from 1, such as 1,8,64", param_hint="--concurrency"
        )
    asked = Asked(suites=suites, concurrency=[int(part) for part in parts], **told)
    return prepare_data(server_plan(asked), NAME)


def _no_token(outcome: Outcome) -> str:
    """Say why there is not a single token: turns failed, or were answered without telling how many there were."""
    cells = [cell for cell in outcome.summary.cells if cell.category is None]
    failed, answered = (sum(getattr(cell, name) for cell in cells) for name in ("turns_failed", "turns_ok"))
    if not answered:
        return "the run produced no token at all; see the failures above"
    others = f" and {failed:,} failed, as told above" if failed else ""
    return (
        f"no token is counted: {answered:,} turns were answered without a count of their tokens that can be used"
        f"{others}; turns.jsonl in the folder of each cell says what the engine told instead"
    )


def _show(outcome: Outcome) -> None:
    from draftmark.bench.reporting.run_table import run_lines

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
