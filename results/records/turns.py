"""What was observed of each model call: raw stamps and counts, and the steps behind them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from draftmark.results.records.base import SCHEMA_VERSION, Count, Identifier, Record, Seconds, TokenId
from draftmark.results.records.keys import Sampling


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
    thinking_tokens: Count | None = None
    """How many tokens at the start of the output are thinking, with the mark that ends it where its place is told; all
    of them where it did not end. 0 where there is none, null where that is not known."""
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
    steps_in_order: bool = True
    """The steps are as they came; false where only how many there were of each kind is known."""
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
    sampling: Sampling | None = None
    """How this turn's tokens were chosen, where its request said so; null for the cell's own sampling."""
    asked_tokens: Count | None = None
    """Tokens of the prompt as it was rendered with the target's own tokenizer, whether it was sent in ids or in
    messages; null where that is not at hand."""
    prompt_hash: Identifier
    """sha256 of the prompt's ids (or text); equal hashes were asked the same thing."""
