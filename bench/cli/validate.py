"""`draftmark validate`: check a plan and say what it would run; nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from draftmark.bench.reporting.display import cell_text, emit, emit_rich, harmless

if TYPE_CHECKING:
    from draftmark.bench.plans.prepared import Prepared

app = typer.Typer(add_completion=False)


@app.command()
def validate(
    plan: Path = typer.Argument(..., help="The plan file."),
    like: Path | None = typer.Option(None, help="An earlier run of the same arms, to estimate the time by."),
) -> None:
    """Check a plan and say what it would run; nothing is run.

    The plan file, its suites, the target's tokenizer and what each arm needs are looked at, in that order, and all that
    is wrong is named. Exits with 2 then.
    """
    from draftmark.bench.plans.prepared import prepare

    prepared = prepare(plan)
    _show_cells(prepared)
    emit("\n".join(summary_lines(prepared)))
    if like is not None:
        emit(_estimate(prepared, like))
    emit(f"The plan {'can run, but see the warnings' if prepared.warnings else 'is fine'}; nothing was run.")


def most_tokens(prepared: Prepared) -> int:
    """Return the most tokens that all answers can have together, those of warm-up included.

    Where requests keep their own sampling, each has its own limit.
    """
    from draftmark.bench.plans.fits import longest_answers

    plan, total = prepared.plan, prepared.warmup_turns * prepared.plan.sampling.max_tokens
    for group in prepared.groups:
        limits = longest_answers(plan, group.suite)
        turns = sum(cell.expected_turns for cell in group.running)
        prompts = [one.prompt for one in group.arrivals] or group.suite.prompts
        most = sum(limits[prompt.question_id] * len(prompt.turns) for prompt in prompts)
        total += turns // sum(len(prompt.turns) for prompt in prompts) * most
    return total


def summary_lines(prepared: Prepared) -> list[str]:
    """Return in words how much work a plan is."""
    plan = prepared.plan
    running = sum(len(group.running) for group in prepared.groups)
    left_out = [item for arms in prepared.arms for item in arms if item.left_out is not None]
    requests = prepared.measured_turns
    lines = [
        f"plan {harmless(plan.name)}: {running} cell{'s' * (running != 1)}, {requests} requests and "
        f"{prepared.warmup_turns} for warm-up, at most {most_tokens(prepared):,} output tokens"
    ]
    if plan.request_sampling == "recorded":
        lines.append(
            "request_sampling: recorded (each request by its own max_tokens and temperature where it has them)"
        )
    starts = prepared.engine_starts
    lines.append(f"{starts} engine start{'s' * (starts > 1)}")
    lines += [
        f"{harmless(group.suite.name)}, {harmless(group.load.label)}: {len(group.arrivals)} conversations begin within "
        f"{group.arrivals[-1].at_s:.3g} s, for each arm"
        for group in prepared.groups
        if group.arrivals
    ]
    thinking = prepared.materials.thinking.stamp
    lines += [f"thinking: {harmless(thinking)}"] if thinking is not None else []
    if plan.template_options:
        told = json.dumps(plan.template_options, ensure_ascii=False)
        lines.append(f"options of the chat template: {harmless(told)}")
    date = prepared.materials.template_date
    lines += [f"date in prompts, from the chat template: {date}, whatever the day"] if date is not None else []
    lines += [f"warning: {harmless(sentence)}" for sentence in prepared.warnings]
    lines += [f"left out: {item.arm.label}: {harmless(item.left_out or '')}" for item in left_out]
    return lines


def _show_cells(prepared: Prepared) -> None:
    from rich.table import Table

    from draftmark.results.arm_labels import arm_labels
    from draftmark.results.records.loads import ClosedLoad

    table = Table()
    for name in ("backend", "suite", "at once", "prompts", "turns", "repeats", "arms"):
        table.add_column(name, justify="left" if name in {"backend", "suite", "arms"} else "right")
    for group in prepared.groups:
        labels = arm_labels(cell.key.arm for cell in group.running)
        table.add_row(
            cell_text(group.backend.kind),
            cell_text(group.suite.name),
            cell_text(str(group.load.concurrency) if isinstance(group.load, ClosedLoad) else group.load.label),
            str(len(group.suite.prompts)),
            str(group.suite.turns),
            str(group.rounds * prepared.plan.launches),
            cell_text(", ".join(labels)),
        )
    emit_rich(table)


def _estimate(prepared: Prepared, like: Path) -> str:
    from draftmark.bench.running.forecast import from_earlier, in_words
    from draftmark.results.run_folder.store import RunStore

    cells = [cell for group in prepared.groups for cell in group.running]
    seconds, basis = from_earlier(cells, RunStore.read(like))
    if seconds is None:
        return f"No honest estimate of the time: {harmless(basis)}."
    return f"About {in_words(seconds)} of measuring, {harmless(basis)}."
