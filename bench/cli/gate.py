"""`draftmark gate`: pass, regression or cannot decide, as an exit code and with every reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from draftmark.bench.reporting.display import emit, emit_rich

if TYPE_CHECKING:
    from draftmark.results.gating import Verdict

app = typer.Typer(add_completion=False)


@app.command()
def gate(
    *,
    baseline: list[Path] = typer.Option(
        [], help="Baseline run; repeat it for several equal ones, to know their spread."
    ),
    candidate: Path = typer.Option(..., help="The run to judge."),
    rules: Path | None = typer.Option(None, help="gate.yaml; without it the defaults of docs/gate.md hold."),
    allow_missing_baseline: bool = typer.Option(
        False, "--allow-missing-baseline", help="Exit 0 where there is no baseline yet: the run is recorded only."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the verdict as JSON."),
    markdown: Path | None = typer.Option(None, help="Also write it as Markdown, for a job summary."),
    junit: Path | None = typer.Option(None, help="Also write it as JUnit XML."),
) -> None:
    """Judge a run by a baseline: exit 0 pass, 1 regression or changed output, 2 cannot decide.

    What was not measured well enough is "not gated", never green; where nothing could be gated the exit code is 2.
    """
    from draftmark.bench.gating.gate import gate_runs
    from draftmark.bench.gating.rules_file import read_rules

    verdict = gate_runs(baseline, candidate, read_rules(rules), allow_missing=allow_missing_baseline)
    raise typer.Exit(tell(verdict, as_json=as_json, markdown=markdown, junit=junit))


def tell(verdict: Verdict, *, as_json: bool = False, markdown: Path | None = None, junit: Path | None = None) -> int:
    """Print a verdict, write what was asked for, and return the exit code."""
    from draftmark.bench.reporting.comparison_table import verdict_lines
    from draftmark.bench.reporting.junit import verdict_xml
    from draftmark.bench.reporting.markdown import verdict_markdown
    from draftmark.bench.reporting.writing import verdict_json, write_report

    if markdown is not None:
        write_report(markdown, verdict_markdown(verdict))
    if junit is not None:
        write_report(junit, verdict_xml(verdict))
    if as_json:
        emit(verdict_json(verdict))
    else:
        emit_rich(*verdict_lines(verdict))
    return verdict.exit_code
