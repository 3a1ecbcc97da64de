"""The derived view of a run: one summary per cell and category, with every metric as a number or a reason.

`summary.json` is this, `draftmark show --json` prints its cells, and pages are made from it. It is rebuilt from the raw
records at any time.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from draftmark.results.records import Divergence, RunManifest
from draftmark.results.records.base import Record

Source = Literal["engine", "timed", "inferred", "definition"]
"""How a number is known: counted by the engine, timed on a clock, inferred from other counts, or true by definition."""


class MetricValue(Record):
    """One number with its interval and provenance; a number that was not measured is null with a reason."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """95% interval; null with the reason in `note` where there are too few clusters."""
    n: int
    """Observations behind the value: steps, turns, chunks or pairs, as the metric's definition says."""
    unit: str
    """tokens, s, tokens/s, 1 (ratios and shares), count."""
    source: Source | None = None
    conversations: int | None = None
    """Conversations that the interval rests on; null without one, and in summaries of before."""
    reason: str | None = None
    """Why there is no value."""
    note: str | None = None
    """What qualifies the value: "rough (9 conversations)", "prompt sampling only", "first_chunk_assumed_1", ..."""


class CellSummary(Record):
    """The metrics of one cell, over all its turns (`category` null) or over those of one category."""

    cell_id: str
    backend: str
    engine: dict[str, Any]
    target: str
    drafter: str
    draft_length: int
    control: bool
    arm: str
    """The arm's label, unique within the run (options that tell two arms apart are in it)."""
    group: str
    """Id of the comparison group: equal for cells that differ in the arm alone."""
    suite: str
    category: str | None
    """Null for all turns; else the category, or `category/sub_category` where a suite has one category only."""
    concurrency: int | None
    """Turns in flight at once, as the plan asked; null where an open loop asks for none."""
    open_load: str | None = None
    """The load in words, where it is an open loop."""
    status: Literal["complete", "partial", "left out"]
    status_text: str
    """In words: "24 of 24 turns", "partial 3/5", or why the arm was left out."""
    turns_ok: int
    turns_failed: int
    turns_expected: int
    truncated: int
    """Turns that ended at max_tokens."""
    metrics: dict[str, MetricValue]
    """By the names of metrics.md; lists are indexed names such as `conditional_acceptance[1]`."""
    changed: dict[str, tuple[Any, Any]]
    """Resolved settings that differ from the baseline's besides the drafter: name to (baseline, this arm)."""

    @property
    def load(self) -> str:
        """The load in words, unique within a plan: `concurrency 8`, `poisson 2/s`."""
        return self.open_load or f"concurrency {self.concurrency}"


LampName = Literal[
    "prompts",
    "answers",
    "speculation",
    "baseline",
    "losslessness",
    "client",
    "launches",
    "identities",
    "failures",
    "values",
]
LAMP_NAMES: tuple[LampName, ...] = get_args(LampName)
"""What lamps speak of, in the order in which they are shown."""

LampLevel = Literal["fault", "warning", "note", "unjudged", "ok"]
LAMP_LEVELS: tuple[LampLevel, ...] = get_args(LampLevel)
"""What a lamp says of it, the gravest first."""


class Lamp(Record):
    """One lamp: something about the run that makes its numbers trustworthy, doubtful or void."""

    name: LampName
    level: LampLevel
    text: str
    """One sentence that a newcomer understands."""
    cells: list[str]
    """Ids of the cells it speaks of; empty for all."""


class RunSummary(Record):
    """Everything a page or a gate needs to know of one run."""

    schema_version: int
    manifest: RunManifest
    cells: list[CellSummary]
    lamps: list[Lamp]
    divergences: list[Divergence]
    failures: list[dict[str, str]]
    """Failed turns: cell_id, question_id, turn_index, repeat, kind, message."""
    elapsed_s: float | None
    """Sum over sessions."""
