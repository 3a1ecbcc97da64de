"""Putting turns to one started engine: each becomes a record, whatever happens to it.

A conversation goes on with the arm's own answers. A turn that fails is recorded with its failure, when it was sent and
when it ended; tokens that came before the failure are not kept. The later turns of its conversation have nothing to go
on from and are recorded as failed, unsent; the run goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.backends.base import TurnFailed, TurnRequest
from draftmark.bench.conversation import ids_hash, messages, text_hash
from draftmark.bench.schedule import turn_seed
from draftmark.results.records import Observation, TurnFailure, TurnRecord
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from draftmark.backends.base import Backend
    from draftmark.bench.conversation import ConversationRenderer
    from draftmark.bench.materials import FirstPrompts
    from draftmark.bench.schedule import Visit
    from draftmark.results.records import CellRecord
    from draftmark.suites.prompt import Prompt

STAMPS = ("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "last_token_s", "done_s")


class Histories:
    """Each arm's answers, per conversation and repeat, from records of this session or an earlier one."""

    def __init__(self, renderer: ConversationRenderer) -> None:
        self._renderer = renderer
        self._answers: dict[tuple[str, str, int], dict[int, str]] = {}

    def note(self, turn: TurnRecord) -> None:
        """Take a finished turn's answer; a failed turn, or one without text and ids, gives none."""
        text = turn.output_text
        if text is None and turn.output_ids is not None:
            text = self._renderer.decode(turn.output_ids)
        if turn.status == "ok" and text is not None:
            self._answers.setdefault((turn.cell_id, turn.question_id, turn.repeat), {})[turn.turn_index] = text

    def before(self, cell_id: str, question_id: str, repeat: int, turn_index: int) -> list[str] | None:
        """Return the answers to all turns before this one; null where one is missing."""
        answers = self._answers.get((cell_id, question_id, repeat), {})
        if any(index not in answers for index in range(turn_index)):
            return None
        return [answers[index] for index in range(turn_index)]


class Asker:
    """Asks one engine, in one session; stamps are shifted to the session's zero."""

    def __init__(
        self,
        backend: Backend,
        loop: asyncio.Runner,
        renderer: ConversationRenderer,
        first: FirstPrompts,
        *,
        session: int,
        launch: int,
        zero_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._backend = backend
        self._loop = loop
        self._renderer = renderer
        self._first = first
        self._facts: dict[str, Any] = {"session": session, "launch": launch}
        self._zero_s = zero_s
        self._clock = clock
        self.histories = Histories(renderer)

    def measure(self, cell: CellRecord, visit: Visit, order: int) -> TurnRecord:
        """Put one measured turn to one arm and return its record, ok or failed; the caller notes it in `histories`."""
        prompt, turn_index, repeat = visit.prompt, visit.turn_index, visit.repeat
        seed = turn_seed(cell.key.sampling.seed, cell.key.suite, prompt.question_id, turn_index, repeat)
        asked = text_hash(prompt.turns[turn_index])
        answers = self.histories.before(cell.cell_id, prompt.question_id, repeat, turn_index)
        if answers is None:
            seen = _failure("earlier-turn-failed", "an earlier turn of this conversation gave no answer to go on from")
        else:
            try:
                ids = self._prompt_ids(cell.key.suite, prompt, answers)
            except SuiteError as fault:
                seen = _failure("prompt", str(fault))
            else:
                asked = ids_hash(ids)
                seen = self._ask(cell, ids, seed)
        facts = {"turn_index": turn_index, "repeat": repeat, "order": order, "seed": seed, "prompt_hash": asked}
        return _record(cell, prompt, seen, self._facts | facts)

    def warm_up(self, cell: CellRecord, prompt: Prompt) -> TurnRecord:
        """Put one warm-up turn to one arm and return its record; it counts for nothing."""
        seed = turn_seed(cell.key.sampling.seed, "warm-up", prompt.question_id, 0, 0)
        ids = self._renderer.prompt_ids(messages(prompt, []))
        facts = {"phase": "warmup", "seed": seed, "prompt_hash": ids_hash(ids)}
        return _record(cell, prompt, self._ask(cell, ids, seed), self._facts | facts)

    def prompt_of(self, turn: TurnRecord, suite: str, prompt: Prompt) -> list[int]:
        """Return the token ids that a recorded turn was asked with, rebuilt from the arm's own answers.

        Raises `SuiteError` where an earlier answer of the conversation is not there to rebuild it from.
        """
        answers = self.histories.before(turn.cell_id, turn.question_id, turn.repeat, turn.turn_index)
        if answers is None:
            raise SuiteError(
                f"what turn {turn.turn_index} of question {turn.question_id!r} was asked cannot be rebuilt: an earlier "
                "answer of its conversation is missing"
            )
        return list(self._prompt_ids(suite, prompt, answers))

    def _prompt_ids(self, suite: str, prompt: Prompt, answers: list[str]) -> Sequence[int]:
        if not answers:
            return self._first[suite, prompt.question_id]
        return self._renderer.prompt_ids(messages(prompt, answers))

    def _ask(self, cell: CellRecord, ids: Sequence[int], seed: int) -> Observation:
        request = TurnRequest(prompt_ids=tuple(ids), sampling=cell.key.sampling, seed=seed)
        sent_s = self._clock()
        try:
            seen = self._loop.run(self._backend.generate(cell.key.arm, request))
            return _shifted(seen, self._zero_s)
        except TurnFailed as fault:
            failed = _failure(fault.kind, str(fault))
        except Exception as fault:  # noqa: BLE001 - whatever an engine does to one turn must not end the run
            failed = _failure("engine-error", f"{type(fault).__name__}: {fault}")
        stamps = {"sent_s": sent_s - self._zero_s, "done_s": self._clock() - self._zero_s}
        return failed.model_copy(update=stamps)


def _shifted(seen: Observation, zero_s: float) -> Observation:
    """Move an observation's stamps to the session's zero; durations stay."""
    stamps = {name: value - zero_s for name in STAMPS if (value := getattr(seen, name)) is not None}
    return seen.model_copy(update={**stamps, "chunk_s": [stamp - zero_s for stamp in seen.chunk_s]})


def _failure(kind: str, message: str) -> Observation:
    return Observation(status="failed", failure=TurnFailure(kind=kind, message=message or "no message"))


def unstorable(turn: TurnRecord, why: str) -> TurnRecord:
    """Return a turn as failed because its record cannot be stored; the engine's own details are what is in doubt."""
    failure = TurnFailure(kind="protocol", message=f"what the engine told of this turn cannot be stored: {why}")
    return turn.model_copy(update={"status": "failed", "failure": failure, "details": {}, "output_text": None})


def _record(cell: CellRecord, prompt: Prompt, seen: Observation, facts: dict[str, Any]) -> TurnRecord:
    question = {"question_id": prompt.question_id, "category": prompt.category, "sub_category": prompt.sub_category}
    return TurnRecord.model_validate({**dict(seen), **facts, **question, "cell_id": cell.cell_id})
