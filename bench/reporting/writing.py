"""Reports as files and as JSON."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from draftmark.bench.reporting.wording import word_of
from draftmark.results.errors import StoreWriteError
from draftmark.results.run_folder.durable import write_fault
from draftmark.results.run_folder.reader import MANIFEST
from draftmark.results.run_folder.strict_json import encode

if TYPE_CHECKING:
    from pathlib import Path

    from draftmark.results.comparing import Comparison
    from draftmark.results.gating import Verdict

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Names the file to which a GitHub step adds its summary."""


def write_report(path: Path, data: str | bytes) -> None:
    """Write a report, replacing an earlier one; a GitHub job summary is added to.

    Raises `StoreWriteError` (exit 3) where the file cannot be written, or lies within a run folder.
    """
    run = next((folder for folder in path.absolute().parents if _is_run(folder)), None)
    if run is not None:
        raise StoreWriteError(
            f"{path} lies within the run folder {run}, where it could replace data; name another file"
        )
    summary = os.environ.get(JOB_SUMMARY)
    mode = "ab" if summary and os.path.realpath(summary) == os.path.realpath(path) else "wb"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(data.encode() if isinstance(data, str) else data)
    except OSError as fault:
        raise write_fault(path, fault) from fault


def _is_run(folder: Path) -> bool:
    """Whether a folder holds a run: others have a manifest.json too, with other things in it."""
    return (folder / MANIFEST).exists() and (folder / "cells").is_dir()


def verdict_json(verdict: Verdict) -> str:
    """Return a verdict as strict JSON, its exit code in it."""
    told: dict[str, Any] = {"exit_code": verdict.exit_code, **verdict.model_dump(mode="json")}
    return encode(told, indent=1).decode()


def comparison_json(comparison: Comparison) -> str:
    """Return a comparison as strict JSON, with the word for each change."""
    told = comparison.model_dump(mode="json")
    refused = bool(comparison.forbidding)
    for cell, data in zip(comparison.cells, told["cells"], strict=True):
        for metric, found in zip(cell.metrics, data["metrics"], strict=True):
            found["word"] = word_of(cell, metric, refused=refused)
    return encode(told, indent=1).decode()
