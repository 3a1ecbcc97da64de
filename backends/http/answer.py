"""What a server answered, as it was read from one exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from draftmark.results.records import TurnFailure


@dataclass(frozen=True, slots=True)
class Chunk:
    """Output that came with one read of the socket."""

    at_s: float
    text: str
    reasoning: str
    tokens: int | None
    """As the server counted them; null where it did not."""
    ids: tuple[int, ...] | None


@dataclass(slots=True)
class Answer:
    """What one exchange says."""

    failure: TurnFailure | None = None
    finish_reason: Literal["eos", "stop", "length", "abort"] | None = None
    """`eos` where the server tells it from a stop string or token, `stop` for either; `length` also where the context
    was full, which the asker knows by the tokens. Calls of tools end by the model's own end, so they are `eos`; a
    reason of the server's own is null, with a note."""
    chunks: list[Chunk] = field(default_factory=list)
    """Those that hold output alone; one per read."""
    text: str = ""
    reasoning: str = ""
    ids: tuple[int, ...] | None = None
    """All output tokens, where the server gave every one."""
    prompt_ids: tuple[int, ...] | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    """Tokens of thinking by the server's own account."""
    thinking_tokens: int | None = None
    """How many tokens at the start are thinking, where the server sends that apart."""
    cached_prompt_tokens: int | None = None
    token_source: Literal["ids", "usage"] | None = None
    counted_tokens: int | None = None
    """What the server counted, where the ids of the tokens say otherwise; `output_tokens` is then their number."""
    first_answer_s: float | None = None
    """When text of the answer, not of its reasoning, first came; null if none did."""
    notes: list[str] = field(default_factory=list)
    raw: list[dict[str, Any]] = field(default_factory=list)
    """Every decoded event, for what an engine adds of its own."""
