"""What a run is: its plan, what that resolved to, the machines and software of its sessions, and its state."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeInt

from draftmark.results.records.base import SCHEMA_VERSION, Identifier, Record, Seconds
from draftmark.results.records.keys import CellKey


class Environment(Record):
    """The machine and the software of one session."""

    draftmark: str
    commit: str | None
    """Commit of Draftmark's own checkout, with `-dirty` where files were changed; null outside a checkout."""
    python: str
    platform: str
    cpu: str | None
    cores: int
    memory_bytes: int | None
    gpus: list[str] = Field(default_factory=list)
    packages: dict[str, str] = Field(default_factory=dict)
    """Name to version of the packages that bear on the numbers: torch, transformers, numpy, ..."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment variables that bear on the numbers (thread counts and the like); never keys or tokens."""


class ModelIdentity(Record):
    """Which weights answered."""

    name: Identifier
    """As the plan names it."""
    files: dict[str, str] = Field(default_factory=dict)
    """File name to sha256 of its bytes, for local models."""
    revision: str | None = None
    parameters: int | None = None
    vocabulary: int | None = None


class SuiteCaution(Record):
    """What is known to mislead about the prompts of a suite."""

    text: str
    """One sentence with its source."""
    drafters: tuple[str, ...] = ()
    """Kinds of drafters that it concerns; empty for all arms."""


class SuiteIdentity(Record):
    """Which prompts were asked."""

    name: Identifier
    hash: Identifier
    """sha256 over the chosen prompts, in order."""
    prompts: NonNegativeInt
    turns: NonNegativeInt
    licence: str | None = None
    source: str | None = None
    selection: str
    """In words: all of them, or which stratified subset with which seed."""
    caution: SuiteCaution | None = None
    """What is known to mislead about these prompts; null where nothing is known."""


class CellRecord(Record):
    """One planned cell: its key, the settings the engine resolved, and how much work it is."""

    cell_id: Identifier
    key: CellKey
    expected_turns: NonNegativeInt
    """Measured turns of a finished cell, warm-up excluded."""
    resolved: dict[str, Any] = Field(default_factory=dict)
    """The arm's effective settings as read back from the engine (flat names to plain JSON values)."""
    left_out: str | None = None
    """Why this optional arm was not run here; null for cells that run."""
    lost: str | None = None
    """How its engine was lost before the cell was finished, in the engine's last words; null once it is finished."""


class Session(Record):
    """One process that wrote into the run; a resumed run has several. Wall time is the sum over sessions."""

    started_at: str
    """UTC, ISO 8601."""
    ended_at: str | None = None
    elapsed_s: Seconds | None = None
    """By the monotonic clock; null while running or after a kill."""
    warmup_turns: NonNegativeInt = 0
    """Warm-up turns per arm before anything was measured."""
    environment: Environment


class RunManifest(Record):
    """`manifest.json`: the plan as data, what it resolved to, and the state of the run."""

    schema_version: int = SCHEMA_VERSION
    kind: Literal["draftmark-run"] = "draftmark-run"
    run_id: Identifier
    name: str
    status: Literal["running", "complete", "interrupted", "failed"] = "running"
    plan: dict[str, Any]
    """The plan with every default filled in; the same dict resumes the run."""
    plan_hash: Identifier
    chat_template_hash: Identifier | None = None
    """sha256 of the plan's own chat template; null where prompts were rendered by the target's, or not at all."""
    template_date: Identifier | None = None
    """The date, year first, that the chat template wrote into prompts rendered here; null where it writes none."""
    thinking: Identifier | None = None
    """How the target thought before it answered, in words; null where nothing is known to make it think."""
    target: ModelIdentity
    models: list[ModelIdentity] = Field(default_factory=list)
    """Draft models."""
    suites: list[SuiteIdentity] = Field(default_factory=list)
    cells: list[CellRecord] = Field(default_factory=list)
    sessions: list[Session] = Field(default_factory=list)
