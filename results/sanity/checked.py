"""Runs every check over a comparison group and over the run, and merges what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draftmark.results.sanity.answers import check_answers, check_loops
from draftmark.results.sanity.baseline import check_baseline
from draftmark.results.sanity.cell import CheckedCell
from draftmark.results.sanity.client import check_lateness, check_schedule
from draftmark.results.sanity.counts import check_counts
from draftmark.results.sanity.output import check_output
from draftmark.results.sanity.prefix_cache import check_prefix_cache
from draftmark.results.sanity.prompt_tokens import check_prompt_tokens
from draftmark.results.sanity.prompts import check_prompts
from draftmark.results.sanity.running import (
    check_any_token,
    check_failures,
    check_launches,
    check_machines,
)
from draftmark.results.sanity.sources import check_sources
from draftmark.results.sanity.speculation import check_speculation
from draftmark.results.sanity.thinking import check_thinking
from draftmark.results.sanity.throughput import check_throughput
from draftmark.results.sanity.values import check_values
from draftmark.results.summary import LAMP_LEVELS, LAMP_NAMES, Lamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from draftmark.results.records import RunManifest
    from draftmark.results.summary import CellSummary

__all__ = ["CheckedCell", "check_group", "check_run", "merged"]

_PER_CELL = (
    check_speculation,
    check_schedule,
    check_lateness,
    check_launches,
    check_counts,
    check_sources,
    check_failures,
    check_answers,
    check_thinking,
    check_values,
    check_throughput,
    check_prompt_tokens,
    check_prefix_cache,
)


def check_group(cells: Sequence[CheckedCell]) -> list[Lamp]:
    """Return every lamp about the cells of one comparison group; pass them on to `check_run`."""
    found = [lamp for check in _PER_CELL for cell in cells for lamp in check(cell)]
    return [*found, *check_baseline(cells), *check_output(cells)]


def check_run(manifest: RunManifest, cells: Sequence[CellSummary], found: Iterable[Lamp]) -> list[Lamp]:
    """Return the run's lamps: those of its groups and those of the whole, merged, the gravest of each name first.

    Args:
        manifest: The run's manifest.
        cells: The cells' summaries over all turns.
        found: What `check_group` returned for every group.
    """
    whole = [*check_loops(cells), *check_machines(manifest), *check_any_token(cells)]
    return merged([*found, *check_prompts(manifest), *whole])


def merged(lamps: Iterable[Lamp]) -> list[Lamp]:
    """Return lamps with equal sentences joined over their cells; `ok` is said only where nothing worse is."""
    joined: dict[tuple[str, str, str], list[str]] = {}
    for lamp in lamps:
        joined.setdefault((lamp.name, lamp.level, lamp.text), []).extend(lamp.cells)
    worse = {name for name, level, _ in joined if level != "ok"}
    kept = [
        Lamp.model_validate({"name": name, "level": level, "text": text, "cells": list(dict.fromkeys(cells))})
        for (name, level, text), cells in joined.items()
        if level != "ok" or name not in worse
    ]
    return sorted(kept, key=lambda lamp: (LAMP_NAMES.index(lamp.name), LAMP_LEVELS.index(lamp.level)))
