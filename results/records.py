"""The typed records of a run: what was planned, what was asked, and everything observed of each model call.

Records hold raw stamps and counts only; every number shown to a user is a pure function of them. Stamps are seconds on
one monotonic clock per session, zero at the start of the session (the process) that wrote them; stamps of different
sessions are never subtracted from each other. Written files are strict JSON: no NaN and no Infinity.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FiniteFloat, NonNegativeInt, PositiveInt

from draftmark.results.loads import ClosedLoad, Load
from draftmark.results.record import Count, Identifier, Record, Seconds, TokenId

SCHEMA_VERSION = 1
"""Version of every record below. Raise it with each change that old readers would misread, and add an upgrade."""


# What one number describes ------------------------------------------------------------------------------------------


def _sane_temperature(value: float) -> float:
    if 0 < value < 0.001:
        raise ValueError(f"temperature {value:g} is too close to 0 to sample with; 0 is greedy")
    return value


class Sampling(Record):
    """How tokens are chosen and when a turn ends."""

    temperature: Annotated[FiniteFloat, Field(ge=0, le=100), AfterValidator(_sane_temperature)] = 0.0
    """0 is greedy; else from 0.001 to 100, since smaller ones vanish or overflow in single precision."""
    top_p: Annotated[FiniteFloat, Field(gt=0, le=1)] = 1.0
    top_k: NonNegativeInt = 0
    """0 keeps every token."""
    max_tokens: PositiveInt = 64
    """Most tokens of one turn, the one from prefill included."""
    seed: NonNegativeInt = 0
    """Root seed; each turn derives its own from it."""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """A turn ends with the token that completes one of these."""
    ignore_eos: bool = False


class Arm(Record):
    """One drafter with one draft length and its options: what differs between the cells of a comparison group."""

    drafter: Identifier
    """Kind of drafter: none, ngram, suffix, draft-model, ..."""
    draft_length: NonNegativeInt
    """D, the configured most tokens one step may draft; 0 for `none`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The drafter's other settings as plain JSON values, defaults filled in."""
    control: bool = False
    """True for the second run of the baseline, which shows what differs without any speculation."""

    @property
    def label(self) -> str:
        """Short human name, unique within most plans: `none`, `none (control)`, `ngram D=3`."""
        if self.control:
            return f"{self.drafter} (control)"
        return self.drafter if self.draft_length == 0 else f"{self.drafter} D={self.draft_length}"


class CellKey(Record):
    """What one number describes. Cells that are equal in all but `arm` form a comparison group."""

    backend: Identifier
    """Kind of engine: reference, vllm, ..."""
    engine: dict[str, Any] = Field(default_factory=dict)
    """The engine's settings as the plan gave them, defaults filled in: device, dtype, threads, ..."""
    target: Identifier
    arm: Arm
    suite: Identifier
    suite_hash: Identifier
    load: Load = ClosedLoad()
    """How requests arrive."""
    sampling: Sampling = Sampling()


# What a run is ------------------------------------------------------------------------------------------------------


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
    target: ModelIdentity
    models: list[ModelIdentity] = Field(default_factory=list)
    """Draft models."""
    suites: list[SuiteIdentity] = Field(default_factory=list)
    cells: list[CellRecord] = Field(default_factory=list)
    sessions: list[Session] = Field(default_factory=list)


class PromptRecord(Record):
    """One line of `prompts.jsonl`: one planned turn of one conversation, as it was asked where that is fixed."""

    schema_version: int = SCHEMA_VERSION
    suite: Identifier
    question_id: Identifier
    turn_index: NonNegativeInt
    category: str | None = None
    sub_category: str | None = None
    difficulty: str | None = None
    text_hash: Identifier
    """sha256 of this turn's user text."""
    prompt_tokens: int | None = None
    """Tokens after the chat template; null for later turns, which depend on earlier answers."""
    prompt_ids: list[int] | None = None


# What was observed --------------------------------------------------------------------------------------------------


class StepColumns(Record):
    """The decode steps of one turn, in order, as parallel lists of length n (metrics.md names them d, a and e).

    The prefill, which yields the turn's first token, is no step. Lists that the engine cannot fill are null.
    """

    drafted: list[Count]
    """d_i: real drafts after the engine's own trimming; padding and placeholders are not drafts. Depth, for trees."""
    accepted: list[Count]
    """a_i: drafts the target accepted, raw, also beyond a cut."""
    delivered: list[Count]
    """e_i: tokens that reached the answer; a_i + 1 except in a cut last step."""
    draft_nodes: list[Count] | None = None
    """Nodes of the draft tree, where drafts are trees."""
    draft_s: list[Seconds] | None = None
    """Time the drafter worked."""
    verify_s: list[Seconds] | None = None
    """Time running and sampling the target."""
    step_s: list[Seconds] | None = None
    """Time of the whole step."""
    batch: list[PositiveInt] | None = None
    """Requests that shared the step; null means one."""
    prefill_tokens: list[Count] | None = None
    """Prompt tokens, of any request, that were read in the same step; null means none."""


class ReportedCounts(Record):
    """What the engine's own statistics say of one call's drafting, kept to be held against its steps."""

    drafting_steps: Count
    """Steps with a draft; engines count no others."""
    drafted: Count
    accepted: Count
    padding_steps: Count = 0
    """How many of `drafting_steps` held padding alone, which is no draft; 0 where nothing tells."""
    padding_tokens: Count = 0
    """How many of `drafted` were padding; 0 where nothing tells."""


class TurnFailure(Record):
    """Why a turn failed."""

    kind: Identifier
    """Stable word: engine-error, context-limit, timeout, protocol, ..."""
    message: str


class Observation(Record):
    """What a backend saw of one model call. Null is "this engine cannot tell"; nothing is guessed.

    A failed call keeps what its backend gave of it, if only when it was sent and when it ended.
    """

    status: Literal["ok", "failed"] = "ok"
    failure: TurnFailure | None = None
    finish_reason: Literal["eos", "stop", "length", "context", "abort"] | None = None
    prompt_tokens: Count | None = None
    """As the engine counted them."""
    output_tokens: Count | None = None
    """T, by the engine's count, EOS included where it was delivered."""
    output_ids: list[TokenId] | None = None
    output_text: str | None = None
    token_source: Literal["ids", "usage"] | None = None
    """Where `output_tokens` comes from."""
    scheduled_s: Seconds | None = None
    """When it was due, where the load is an open loop."""
    held_s: Seconds | None = None
    """For how long after that a cap on the turns in flight held it back; null where there is no cap."""
    sent_s: Seconds | None = None
    first_byte_s: Seconds | None = None
    first_token_s: Seconds | None = None
    last_token_s: Seconds | None = None
    done_s: Seconds | None = None
    chunk_s: list[Seconds] = Field(default_factory=list)
    """When each piece of output arrived; the first is the first token's."""
    chunk_tokens: list[Count | None] = Field(default_factory=list)
    """Tokens in each piece, where known."""
    prefill_s: Seconds | None = None
    """Time of the target's prefill."""
    draft_prefill_s: Seconds | None = None
    """Time of the drafter's own prefill."""
    steps: StepColumns | None = None
    steps_inferred: bool = False
    """The engine told of steps with a draft alone: how many others there were is inferred from the tokens, where they
    lie is unknown, and they are too few by what the end of the answer cut off, so that AL is an upper bound."""
    reported: ReportedCounts | None = None
    details: dict[str, Any] = Field(default_factory=dict)
    """Engine-specific facts worth keeping (plain JSON values), under the engine's own names."""


class TurnRecord(Observation):
    """One line of `turns.jsonl`: which call it was, and what was observed of it.

    `(phase, session if warm-up, question_id, turn_index, repeat)` is unique within a cell.
    """

    schema_version: int = SCHEMA_VERSION
    cell_id: Identifier
    question_id: Identifier
    turn_index: NonNegativeInt = 0
    repeat: NonNegativeInt = 0
    """Which of the planned times this turn is asked, counted over all launches."""
    launch: NonNegativeInt = 0
    """Which start of the engine answered, counted over the whole run."""
    session: NonNegativeInt = 0
    """Index into the manifest's sessions."""
    order: NonNegativeInt = 0
    """Place of this arm in the rotated order of its prompt."""
    phase: Literal["warmup", "measured"] = "measured"
    category: str | None = None
    sub_category: str | None = None
    seed: NonNegativeInt | None = None
    """The seed this turn was given."""
    prompt_hash: Identifier
    """sha256 of the prompt's ids (or text); equal hashes were asked the same thing."""


class Divergence(Record):
    """One line of `divergences.jsonl`: the first place where an arm's tokens leave the baseline's, temperature 0."""

    schema_version: int = SCHEMA_VERSION
    cell_id: Identifier
    question_id: Identifier
    turn_index: NonNegativeInt
    repeat: NonNegativeInt
    position: NonNegativeInt
    """Index into the output tokens."""
    baseline_id: int | None
    """The baseline's token; null where its answer had ended."""
    arm_id: int | None
    margin: FiniteFloat | None = None
    """Difference of the two tokens' logits in a one-token forward pass of the target on that prefix."""
    numeric_difference: FiniteFloat | None = None
    """Largest logit difference between one-token and (D+1)-token forward passes on that prefix."""
    top_two: tuple[int, int] | None = None
    verdict: Literal["numeric-tie", "fault", "unknown"]
    reason: str
    """Why the verdict: the comparison made, or what could not be measured."""
