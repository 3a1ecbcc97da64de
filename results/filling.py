"""From the records of one cell to its columns, turn by turn, so that a million of them never exist as objects."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from draftmark.results.columns import CellColumns, category_label
from draftmark.results.errors import ResultsError

if TYPE_CHECKING:
    from draftmark.results.records import TurnRecord

_NAN = float("nan")


def _key(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)


class Builder:
    """Columns that grow by one turn at a time."""

    def __init__(self, max_tokens: int | None = None) -> None:
        self.warmup_turns = 0
        self._max_tokens = max_tokens
        self.codes: dict[str, dict[str, int]] = {"question": {}, "category": {}, "detail": {}}
        kinds = {field.name: str(field.type) for field in fields(CellColumns)}
        self.counts: dict[str, array[int]] = {
            name: array(_TYPECODES[kind]) for name, kind in kinds.items() if kind in _TYPECODES
        }
        self.seconds: dict[str, array[float]] = {name: array("d") for name, kind in kinds.items() if kind == "Floats"}
        self.counts["step_offsets"].append(0)
        self.counts["chunk_offsets"].append(0)

    def add(self, turn: TurnRecord) -> None:
        """Take a turn; raises `ResultsError` where its lists cannot be aligned or hold what no engine does."""
        if turn.phase == "warmup":
            self.warmup_turns += 1
            return
        impossible = self._impossible(turn)
        self.counts["impossible"].append(impossible)
        if impossible:
            turn = _of_unknown_tokens(turn)
        for name, count in self._counts_of(turn).items():
            self.counts[name].append(count)
        for name, stamp in _stamps_of(turn).items():
            self.seconds[name].append(_NAN if stamp is None else stamp)
        if turn.status == "ok":
            self._add_steps(turn)
            self._add_chunks(turn)
        self.counts["step_offsets"].append(len(self.counts["drafted"]))
        self.counts["chunk_offsets"].append(len(self.seconds["chunk_s"]))

    def _impossible(self, turn: TurnRecord) -> int:
        """Return the turn's count of tokens where it could not have had as many, else 0."""
        told = turn.output_tokens or 0
        limit = self._max_tokens if turn.sampling is None else turn.sampling.max_tokens
        return told if turn.status == "ok" and limit is not None and told > limit else 0

    def _counts_of(self, turn: TurnRecord) -> dict[str, int]:
        ok, steps = turn.status == "ok", turn.steps
        category = category_label(turn.category)
        detail = category if turn.sub_category is None else f"{category}/{turn.sub_category}"
        kind, key = _output(turn)
        grams, repeated = _grams(turn)
        return {
            "ok": ok,
            "truncated": ok and turn.finish_reason == "length",
            "stopped": ok and turn.finish_reason == "stop",
            "cut_early": ok and turn.finish_reason == "context",
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
            "thinking": _thinking(turn),
            "grams": grams,
            "repeated_grams": repeated,
            "prompt_tokens": _count(turn.prompt_tokens),
            "asked_tokens": _count(turn.asked_tokens),
            "cached_tokens": _cached(turn),
            "own_max_tokens": -1 if turn.sampling is None else turn.sampling.max_tokens,
            **_reported(turn),
            "has_steps": ok and steps is not None,
            "inferred_steps": ok and steps is not None and turn.steps_inferred,
            "steps_in_order": turn.steps_in_order,
            "shared_steps": steps is not None and any(size > 1 for size in steps.batch or ()),
        }

    def _add_steps(self, turn: TurnRecord) -> None:
        steps = turn.steps
        if steps is None:
            return
        size = len(steps.drafted)
        for name in ("drafted", "accepted", "delivered"):
            self._add_counts(name, getattr(steps, name), size, turn)
        self._add_counts("batch", [1] * size if steps.batch is None else steps.batch, size, turn)
        read = [0] * size if steps.prefill_tokens is None else steps.prefill_tokens
        beside = [tokens > 0 for tokens in _of_length(read, size, "prefill_tokens", turn)]
        self.counts["beside_prefill"].extend(beside)
        for name in ("draft_s", "verify_s", "step_s"):
            times = getattr(steps, name)
            self.seconds[name].extend([_NAN] * size if times is None else _of_length(times, size, name, turn))

    def _add_counts(self, name: str, counts: list[int], size: int, turn: TurnRecord) -> None:
        if max(_of_length(counts, size, name, turn), default=0) > _MOST_PER_STEP:
            raise ResultsError(f"{_place(turn)}: {name} has a step of {max(counts)}, which no engine does; {_REMOVE}")
        self.counts[name].extend(counts)

    def _add_chunks(self, turn: TurnRecord) -> None:
        size = len(turn.chunk_s)
        tokens = [_count(count) for count in turn.chunk_tokens] or [-1] * size
        self.seconds["chunk_s"].extend(turn.chunk_s)
        self.counts["chunk_tokens"].extend(_of_length(tokens, size, "chunk_tokens", turn))

    def _code(self, table: str, name: str) -> int:
        return self.codes[table].setdefault(name, len(self.codes[table]))

    def build(self) -> CellColumns:
        """Return the columns of all turns taken."""
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
_MOST_TOKENS = np.iinfo(np.int32).max


def _of_unknown_tokens(turn: TurnRecord) -> TurnRecord:
    """Return a turn without its tokens' count, that of its pieces, and steps that were inferred from it."""
    unknown = {"output_tokens": None, "chunk_tokens": [None] * len(turn.chunk_s)}
    return turn.model_copy(update={**unknown, **({"steps": None} if turn.steps_inferred else {})})


def _stamps_of(turn: TurnRecord) -> dict[str, float | None]:
    return {
        "own_temperature": None if turn.sampling is None else turn.sampling.temperature,
        "scheduled_s": turn.scheduled_s,
        "held_s": turn.held_s,
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
        "padding_steps": 0 if told is None else told.padding_steps,
        "padding_tokens": 0 if told is None else told.padding_tokens,
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


def _thinking(turn: TurnRecord) -> int:
    """Return how many tokens are thinking; -1 where that is unknown, or is more than there are tokens."""
    told = _count(turn.thinking_tokens)
    return told if told <= _count(turn.output_tokens) else -1


def _output(turn: TurnRecord) -> tuple[int, int]:
    """Return what the output hash is made of (0 nothing, 1 ids, 2 text), and the hash."""
    if turn.output_ids is not None:
        return 1, _key(array("q", turn.output_ids).tobytes())
    if turn.output_text is not None:
        return 2, _key(turn.output_text.encode())
    return 0, 0


def _grams(turn: TurnRecord) -> tuple[int, int]:
    """Return how many sequences of four tokens (words, where only a text is known) an output has, and repeated ones."""
    found = _four((turn.output_text or "").split() if turn.output_ids is None else turn.output_ids)
    return len(found), len(found) - len(set(found))


def _four(tokens: list[Any]) -> list[tuple[Any, ...]]:
    return list(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))


def _cached(turn: TurnRecord) -> int:
    told = turn.details.get("cached_prompt_tokens")
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= _MOST_TOKENS else -1
