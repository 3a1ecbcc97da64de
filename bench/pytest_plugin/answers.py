"""What the pytest plugin asks of Draftmark, answered as JSON by a child process: a plan's cells, a run's numbers.

`python -m draftmark.bench.pytest_plugin.answers plan PLAN OUT` and `... run FOLDER OUT` write their answer to the file
OUT. The plugin reads nothing else, so that no engine, table or record of ours is loaded in the session of a user's
tests.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftmark.results.comparing.matching import cell_names
from draftmark.results.errors import DraftmarkError
from draftmark.results.run_folder.durable import write_fault
from draftmark.results.run_folder.strict_json import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from draftmark.results.records import CellRecord
    from draftmark.results.run_folder.reader import RunReader

EXIT_INTERNAL = 70


def plan_answer(path: Path) -> dict[str, Any]:
    """Return what a plan would run: its cells in their order, each in words and by what it is made of.

    Raises `DraftmarkError` naming everything that is wrong with the plan, or cannot run on this machine.
    """
    from draftmark.bench.plans.prepared import prepare

    prepared = prepare(path)
    return {"cells": _cells([cell for group in prepared.groups for cell in group.cells])}


def run_answer(folder: Path) -> dict[str, Any]:
    """Return what a run measured: for each cell every metric, the seconds of each turn, failures and lamps.

    `seconds` are of the turns that count, from being sent to the last token, as in the metric `e2e`. Raises
    `DraftmarkError` for a folder that cannot be read.
    """
    from draftmark.results.run_folder.store import RunStore
    from draftmark.results.summarise import summarise

    run = RunStore.read(folder)
    summary = summarise(run)
    manifest = summary.manifest
    whole = {cell.cell_id: cell for cell in summary.cells if cell.category is None}
    cells = []
    for record, told in zip(manifest.cells, _cells(manifest.cells), strict=True):
        cell = whole[record.cell_id]
        cells.append(
            told
            | {
                "status": cell.status,
                "status_text": cell.status_text,
                "turns_ok": cell.turns_ok,
                "turns_failed": cell.turns_failed,
                "turns_expected": cell.turns_expected,
                "metrics": {name: metric.model_dump(mode="json") for name, metric in cell.metrics.items()},
                "seconds": _seconds(run, record),
                "failures": [
                    f"{one['question_id']}: {one['kind']}: {one['message']}"
                    for one in summary.failures
                    if one["cell_id"] == record.cell_id
                ],
                "lamps": [
                    {"name": lamp.name, "level": lamp.level, "text": lamp.text}
                    for lamp in summary.lamps
                    if not lamp.cells or record.cell_id in lamp.cells
                ],
            }
        )
    return {
        "run_id": manifest.run_id,
        "status": manifest.status,
        "plan_hash": manifest.plan_hash,
        "target": manifest.target.name,
        "cells": cells,
    }


def _cells(cells: Sequence[CellRecord]) -> list[dict[str, Any]]:
    from draftmark.results.arm_labels import arm_labels

    names, labels = cell_names(cells), arm_labels(cell.key.arm for cell in cells)
    return [
        {
            "cell_id": cell.cell_id,
            "name": names[cell.cell_id],
            "backend": cell.key.backend,
            "suite": cell.key.suite,
            "arm": label,
            "drafter": cell.key.arm.drafter,
            "draft_length": cell.key.arm.draft_length,
            "load": cell.key.load.label,
            "left_out": cell.left_out,
        }
        for cell, label in zip(cells, labels, strict=True)
    ]


def _seconds(run: RunReader, cell: CellRecord) -> list[float]:
    from draftmark.results.metrics.recorded import counted_columns
    from draftmark.results.metrics.stamps import span

    known, seconds = span(counted_columns(run.turns(cell.cell_id), cell.key), "sent_s", "last_s")
    return [float(value) for value in seconds[known]]


ANSWERS: dict[str, Callable[[Path], dict[str, Any]]] = {"plan": plan_answer, "run": run_answer}


def main(arguments: Sequence[str]) -> int:
    """Answer one question; the exit code is the command line's, with a sentence on standard error."""
    about, subject, out = arguments
    try:
        answer = encode(ANSWERS[about](Path(subject)))
        try:
            Path(out).write_bytes(answer)
        except OSError as fault:
            raise write_fault(Path(out), fault) from fault
    except DraftmarkError as fault:
        sys.stderr.write(f"{fault}\n")
        return fault.exit_code
    except Exception as fault:  # noqa: BLE001 - the last line before a traceback
        sys.stderr.write(f"unexpected {type(fault).__name__}: {fault}. This is a fault of Draftmark.\n")
        return EXIT_INTERNAL
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
