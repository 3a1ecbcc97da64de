"""One cell's measured turns as numpy columns: what the metrics need of the records, and nothing else.

A million turns of sixteen steps fit into about one gibibyte this way. Records are read once, in any order, and may come
from a generator. Unknown counts are -1 and unknown seconds NaN inside the columns; both stay here, since every metric
turns what it cannot know into null with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from draftmark.results.records import TurnRecord

Shorts = NDArray[np.int16]
Ints = NDArray[np.int32]
Keys = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNCATEGORISED = "uncategorised"
"""Label of turns whose prompt has no category."""


def category_label(category: str | None) -> str:
    """Return what a prompt's category is called: itself, in quotes where it is the word for having none."""
    if category is None:
        return UNCATEGORISED
    return f'"{category}"' if category.strip('"') == UNCATEGORISED else category


_BLOCK = 1 << 20
"""Steps and chunks that a block holds, about."""


@dataclass(frozen=True, eq=False)
class CellColumns:
    """The measured turns of one cell, one entry per turn, with their steps and chunks as flat arrays.

    Steps of turn t are `[step_offsets[t], step_offsets[t + 1])` of the step arrays, chunks likewise. Warm-up turns are
    only counted. Failed turns keep their entry, with `ok` false, but neither steps nor chunks: no metric counts them.
    """

    warmup_turns: int
    """Warm-up turns that were left out."""
    questions: tuple[str, ...]
    """Conversation names, sorted; by `question` code."""
    categories: tuple[str, ...]
    """Category names, sorted; by `category` code."""
    details: tuple[str, ...]
    """`category/sub_category` names, sorted; by `detail` code; the category alone where there is no sub-category."""

    ok: Mask
    truncated: Mask
    """The turn ended at max_tokens."""
    stopped: Mask
    """The turn ended at a stop string."""
    cut_early: Mask
    """The turn was cut for its length before max_tokens: by the context, or by a limit of the server."""
    question: Ints
    category: Ints
    detail: Ints
    turn_index: Ints
    repeat: Ints
    session: Ints
    launch: Ints
    prompt_key: Keys
    """64-bit hash of `prompt_hash`."""
    output_key: Keys
    """64-bit hash of the output ids, else of the output text; 0 where neither is known."""
    output_kind: Ints
    """What `output_key` is made of: 0 nothing, 1 ids, 2 text."""
    tokens: Ints
    """T, by the engine's count; -1 unknown, also where it is more than the turn can have had."""
    impossible: Ints
    """T as the engine counted it, where that is more than max_tokens allows; 0 elsewhere."""
    output_ids: Ints
    """Number of output ids; -1 where the engine gave none."""
    thinking: Ints
    """Tokens at the start of the output that are thinking; -1 unknown."""
    grams: Ints
    """Sequences of four tokens in the output, or of four words where only its text is known; 0 where there are none."""
    repeated_grams: Ints
    """How many of them came before in the same output."""
    prompt_tokens: Ints
    """-1 unknown."""
    asked_tokens: Ints
    """Of the prompt by the target's own tokenizer, before it was sent; -1 unknown."""
    cached_tokens: Ints
    """How many of the prompt's tokens the engine took from its prefix cache; -1 where it does not say with the turn."""
    own_temperature: Floats
    """Of a turn that was sampled as its request was; NaN where the cell's sampling held."""
    own_max_tokens: Ints
    """Of such a turn likewise; -1 where the cell's held."""
    scheduled_s: Floats
    held_s: Floats
    """Seconds for which a cap on the turns in flight held it back; NaN without one."""
    sent_s: Floats
    first_s: Floats
    """First token."""
    last_s: Floats
    """Last token."""
    done_s: Floats
    prefill_s: Floats
    draft_prefill_s: Floats

    reported_drafting: Ints
    """Steps with a draft by the engine's own statistics of the turn; -1 where it gave none. Likewise the next two."""
    reported_drafted: Ints
    reported_accepted: Ints
    padding_steps: Ints
    """How many of these steps, and in the next column of these tokens, were padding; 0 where nothing tells."""
    padding_tokens: Ints

    has_steps: Mask
    inferred_steps: Mask
    """The turn's steps are inferred from statistics that leave out those without a draft."""
    steps_in_order: Mask
    """The turn's steps are as they came."""
    shared_steps: Mask
    """Some step of the turn was shared with other requests."""
    step_offsets: Keys
    """Length turns + 1."""
    drafted: Shorts
    accepted: Shorts
    delivered: Shorts
    batch: Shorts
    """Requests that shared the step."""
    beside_prefill: Mask
    """Prompt tokens were read in the same step."""
    draft_s: Floats
    verify_s: Floats
    step_s: Floats

    chunk_offsets: Keys
    """Length turns + 1."""
    chunk_s: Floats
    """When each chunk arrived."""
    chunk_tokens: Ints
    """-1 unknown."""

    @classmethod
    def from_turns(cls, turns: Iterable[TurnRecord], *, max_tokens: int | None = None) -> CellColumns:
        """Read one cell's records, in any order; warm-up turns are counted and left out.

        Where a turn has more tokens by the engine's count than its own limit, or `max_tokens` (null: no limit is
        known), the count is impossible: its tokens, and what was inferred from them, count as unknown.
        """
        from draftmark.results.filling import Builder

        builder = Builder(max_tokens)
        for turn in turns:
            builder.add(turn)
        return builder.build()

    def __len__(self) -> int:
        return len(self.ok)

    def select(self, mask: Mask) -> CellColumns:
        """Return the turns for which `mask` (bool, one per turn) is true; codes and names stay as they are."""
        if bool(mask.all()):
            return self
        steps, step_offsets = _ragged(self.step_offsets, mask)
        chunks, chunk_offsets = _ragged(self.chunk_offsets, mask)
        return self._taking(mask, steps, chunks, step_offsets, chunk_offsets)

    def blocks(self) -> Iterator[CellColumns]:
        """Yield the turns in order in parts of about a million steps and chunks, as views of this cell.

        What is computed part by part needs memory for one of them only.
        """
        number = (self.step_offsets + self.chunk_offsets)[:-1] // _BLOCK
        begins = np.flatnonzero(np.diff(number, prepend=-1))
        if len(begins) < 2:
            yield self
            return
        for first, last in pairwise([*begins.tolist(), len(self)]):
            steps, chunks = self.step_offsets[first : last + 1], self.chunk_offsets[first : last + 1]
            yield self._taking(
                slice(first, last),
                slice(steps[0], steps[-1]),
                slice(chunks[0], chunks[-1]),
                steps - steps[0],
                chunks - chunks[0],
            )

    def _taking(
        self, turns: Mask | slice, steps: Mask | slice, chunks: Mask | slice, step_offsets: Keys, chunk_offsets: Keys
    ) -> CellColumns:
        changed: dict[str, Any] = {"step_offsets": step_offsets, "chunk_offsets": chunk_offsets}
        for field in fields(self):
            column = getattr(self, field.name)
            if field.name in changed or not isinstance(column, np.ndarray):
                continue
            kept = steps if field.name in _STEP_COLUMNS else chunks if field.name in _CHUNK_COLUMNS else turns
            changed[field.name] = column[kept]
        return replace(self, **changed)

    @cached_property
    def stratum(self) -> Ints:
        """Code of the stratum of each turn: its category, or its sub-category where there is one category only."""
        return self.category if len(np.unique(self.category)) > 1 else self.detail

    @cached_property
    def step_count(self) -> Keys:
        """Decode steps of each turn, int64; 0 where steps are not known."""
        return np.diff(self.step_offsets)

    @cached_property
    def chunk_count(self) -> Keys:
        """Chunks of each turn, int64; 0 where their stamps are not known."""
        return np.diff(self.chunk_offsets)

    @cached_property
    def first_chunk_tokens(self) -> Ints:
        """Tokens in the first chunk of each turn; -1 unknown, also where it is said to hold none."""
        first = np.full(len(self), -1, dtype=np.int32)
        some = self.chunk_count > 0
        first[some] = self.chunk_tokens[self.chunk_offsets[:-1][some]]
        first[first == 0] = -1
        return first

    def per_turn(self, step_values: NDArray[Any]) -> Floats:
        """Sum values given per step (length of `drafted`) over each turn; 0 for turns without steps."""
        return segment_sums(step_values, self.step_offsets)


_STEP_COLUMNS = frozenset(
    {"drafted", "accepted", "delivered", "batch", "beside_prefill", "draft_s", "verify_s", "step_s"}
)
_CHUNK_COLUMNS = frozenset({"chunk_s", "chunk_tokens"})


def segment_sums(values: NDArray[Any], offsets: Keys) -> Floats:
    """Sum `values` over the segments `[offsets[i], offsets[i + 1])`; empty segments give 0."""
    sums = np.zeros(len(offsets) - 1)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        kind = np.float64 if values.dtype.kind == "f" else np.int64
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled], dtype=kind)
    return sums


def _ragged(offsets: Keys, mask: Mask) -> tuple[Mask, Keys]:
    """Return which flat entries belong to the kept segments, and the kept segments' new offsets."""
    lengths = np.diff(offsets)
    return np.repeat(mask, lengths), np.concatenate([[0], np.cumsum(lengths[mask])])
