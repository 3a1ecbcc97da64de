"""One cell's measured turns as numpy columns: what the metrics need of the records, and nothing else.

A million turns of sixteen steps fit into about one gibibyte this way. Records are read once, in any order, and may come
from a generator. Unknown counts are -1 and unknown seconds NaN inside the columns; both stay here, since every metric
turns what it cannot know into null with a reason.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draftmark.results.errors import ResultsError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from draftmark.results.records import TurnRecord

Shorts = NDArray[np.int16]
Ints = NDArray[np.int32]
Keys = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNCATEGORISED = "uncategorised"
"""Label of turns whose prompt has no category."""

_NAN = float("nan")


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
    """T, by the engine's count; -1 unknown."""
    output_ids: Ints
    """Number of output ids; -1 where the engine gave none."""
    prompt_tokens: Ints
    """-1 unknown."""
    scheduled_s: Floats
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

    has_steps: Mask
    inferred_steps: Mask
    """The turn's steps are inferred from statistics that leave out those without a draft."""
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
    def from_turns(cls, turns: Iterable[TurnRecord]) -> CellColumns:
        """Read one cell's records, in any order; warm-up turns are counted and left out."""
        builder = _Builder()
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
        changed: dict[str, Any] = {"step_offsets": step_offsets, "chunk_offsets": chunk_offsets}
        for field in fields(self):
            column = getattr(self, field.name)
            if field.name in changed or not isinstance(column, np.ndarray):
                continue
            kept = steps if field.name in _STEP_COLUMNS else chunks if field.name in _CHUNK_COLUMNS else mask
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


def _key(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


class _Builder:
    """Growing columns; `array` holds plain numbers, so that a million turns never exist as Python objects."""

    def __init__(self) -> None:
        self.warmup_turns = 0
        self.codes: dict[str, dict[str, int]] = {"question": {}, "category": {}, "detail": {}}
        kinds = {field.name: str(field.type) for field in fields(CellColumns)}
        self.counts: dict[str, array[int]] = {
            name: array(_TYPECODES[kind]) for name, kind in kinds.items() if kind in _TYPECODES
        }
        self.seconds: dict[str, array[float]] = {name: array("d") for name, kind in kinds.items() if kind == "Floats"}
        self.counts["step_offsets"].append(0)
        self.counts["chunk_offsets"].append(0)

    def add(self, turn: TurnRecord) -> None:
        if turn.phase == "warmup":
            self.warmup_turns += 1
            return
        for name, count in self._counts_of(turn).items():
            self.counts[name].append(count)
        for name, stamp in _stamps_of(turn).items():
            self.seconds[name].append(_NAN if stamp is None else stamp)
        if turn.status == "ok":
            self._add_steps(turn)
            self._add_chunks(turn)
        self.counts["step_offsets"].append(len(self.counts["drafted"]))
        self.counts["chunk_offsets"].append(len(self.seconds["chunk_s"]))

    def _counts_of(self, turn: TurnRecord) -> dict[str, int]:
        ok, steps = turn.status == "ok", turn.steps
        category = turn.category if turn.category is not None else UNCATEGORISED
        detail = category if turn.sub_category is None else f"{category}/{turn.sub_category}"
        kind, key = _output(turn)
        return {
            "ok": ok,
            "truncated": ok and turn.finish_reason == "length",
            "question": self._code("question", turn.question_id),
            "category": self._code("category", category),
            "detail": self._code("detail", detail),
            "turn_index": turn.turn_index,
            "repeat": turn.repeat,
            "session": turn.session,
            "launch": turn.launch,
            "prompt_key": _key(turn.prompt_hash.encode()),
            "output_key": key,
            "output_kind": kind,
            "tokens": _count(turn.output_tokens),
            "output_ids": -1 if turn.output_ids is None else len(turn.output_ids),
            "prompt_tokens": _count(turn.prompt_tokens),
            **_reported(turn),
            "has_steps": ok and steps is not None,
            "inferred_steps": ok and steps is not None and turn.steps_inferred,
            "shared_steps": steps is not None and any(size > 1 for size in steps.batch or ()),
        }

    def _add_steps(self, turn: TurnRecord) -> None:
        steps = turn.steps
        if steps is None:
            return
        size = len(steps.drafted)
        for name in ("drafted", "accepted", "delivered"):
            counts = _of_length(getattr(steps, name), size, name, turn)
            if max(counts, default=0) > _MOST_PER_STEP:
                raise ResultsError(
                    f"{_place(turn)}: {name} has a step of {max(counts)}, which no engine does; {_REMOVE}"
                )
            self.counts[name].extend(counts)
        self.counts["batch"].extend([1] * size if steps.batch is None else _of_length(steps.batch, size, "batch", turn))
        beside = steps.prefill_tokens
        read = [0] * size if beside is None else _of_length(beside, size, "prefill_tokens", turn)
        self.counts["beside_prefill"].extend([tokens > 0 for tokens in read])
        for name in ("draft_s", "verify_s", "step_s"):
            times = getattr(steps, name)
            self.seconds[name].extend([_NAN] * size if times is None else _of_length(times, size, name, turn))

    def _add_chunks(self, turn: TurnRecord) -> None:
        size = len(turn.chunk_s)
        tokens = [_count(count) for count in turn.chunk_tokens] or [-1] * size
        self.seconds["chunk_s"].extend(turn.chunk_s)
        self.counts["chunk_tokens"].extend(_of_length(tokens, size, "chunk_tokens", turn))

    def _code(self, table: str, name: str) -> int:
        return self.codes[table].setdefault(name, len(self.codes[table]))

    def build(self) -> CellColumns:
        columns: dict[str, array[Any]] = {**self.counts, **self.seconds}
        arrays = {name: np.frombuffer(column, dtype=_DTYPES[column.typecode]) for name, column in columns.items()}
        names = {table: sorted(codes) for table, codes in self.codes.items()}
        for table, codes in self.codes.items():
            renumbered = np.zeros(len(codes), dtype=np.int32)
            renumbered[np.array([codes[name] for name in names[table]], dtype=np.int64)] = np.arange(len(codes))
            arrays[table] = renumbered[arrays[table]]
        return CellColumns(
            warmup_turns=self.warmup_turns,
            questions=tuple(names["question"]),
            categories=tuple(names["category"]),
            details=tuple(names["detail"]),
            **arrays,
        )


_TYPECODES = {"Mask": "b", "Shorts": "h", "Ints": "i", "Keys": "q"}
_DTYPES: dict[str, Any] = {"b": np.bool_, "h": np.int16, "i": np.int32, "q": np.int64, "d": np.float64}
_MOST_PER_STEP = np.iinfo(np.int16).max


def _stamps_of(turn: TurnRecord) -> dict[str, float | None]:
    return {
        "scheduled_s": turn.scheduled_s,
        "sent_s": turn.sent_s,
        "first_s": turn.first_token_s,
        "last_s": turn.last_token_s,
        "done_s": turn.done_s,
        "prefill_s": turn.prefill_s,
        "draft_prefill_s": turn.draft_prefill_s,
    }


def _reported(turn: TurnRecord) -> dict[str, int]:
    told = turn.reported
    return {
        "reported_drafting": -1 if told is None else told.drafting_steps,
        "reported_drafted": -1 if told is None else told.drafted,
        "reported_accepted": -1 if told is None else told.accepted,
    }


def _of_length(values: list[Any], size: int, name: str, turn: TurnRecord) -> list[Any]:
    """Return the list if it has one entry per step or chunk; raise `ResultsError` if it cannot be aligned."""
    if len(values) != size:
        raise ResultsError(f"{_place(turn)}: {name} has {len(values)} entries where {size} belong; {_REMOVE}")
    return values


_REMOVE = "the record is damaged: remove its line and resume the run"


def _place(turn: TurnRecord) -> str:
    return f"turn {turn.turn_index} of {turn.question_id!r} (repeat {turn.repeat}) in cell {turn.cell_id!r}"


def _count(value: int | None) -> int:
    return -1 if value is None else value


def _output(turn: TurnRecord) -> tuple[int, int]:
    """Return what the output hash is made of (0 nothing, 1 ids, 2 text), and the hash."""
    if turn.output_ids is not None:
        return 1, _key(array("q", turn.output_ids).tobytes())
    if turn.output_text is not None:
        return 2, _key(turn.output_text.encode())
    return 0, 0
