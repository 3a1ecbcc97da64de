"""Putting turns to one started engine: each becomes a record, whatever happens to it, unless the engine is gone.

A conversation goes on with the arm's own answers. A turn that fails is recorded with its failure, when it was sent and
when it ended; tokens that came before the failure are not kept. The later turns of its conversation have nothing to go
on from and are recorded as failed, unsent; the run goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftmark.backends.base import EngineLost, TurnFailed, TurnRequest
from draftmark.backends.redaction import redacted
from draftmark.bench.running.questions import effective_sampling
from draftmark.bench.running.schedule import turn_seed
from draftmark.results.records import Observation, TurnFailure, TurnRecord
from draftmark.suites.conversation import text_hash
from draftmark.suites.prompt import SuiteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftmark.backends.base import Backend
    from draftmark.bench.running.questions import Question, Questions
    from draftmark.bench.running.schedule import Due, Visit
    from draftmark.results.records import CellRecord, Sampling
    from draftmark.suites.prompt import Prompt

_NO_ANSWER = "an earlier turn of this conversation gave no answer to go on from"
STAMPS = ("scheduled_s", "sent_s", "first_byte_s", "first_token_s", "last_token_s", "done_s")


class Asker:
    """Asks one engine, in one session; stamps are shifted to the session's zero."""

    def __init__(
        self,
        backend: Backend,
        questions: Questions,
        *,
        session: int,
        launch: int,
        zero_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._backend = backend
        self._questions = questions
        self._facts: dict[str, Any] = {"session": session, "launch": launch}
        self._zero_s = zero_s
        self._clock = clock

    async def measure(self, cell: CellRecord, visit: Visit, order: int, due: Due | None = None) -> TurnRecord:
        """Put one measured turn to one arm and return its record, ok or failed; the caller notes its answer.

        `due` says when it had to be sent, where there is a schedule.

        Raises `EngineLost` where there is no engine any more; nothing is recorded then.
        """
        prompt, turn_index, repeat = visit.prompt, visit.turn_index, visit.repeat
        seed = turn_seed(cell.key.sampling.seed, cell.key.suite, prompt.question_id, turn_index, repeat)
        asked, tokens = text_hash(prompt.turns[turn_index]), None
        sampling = effective_sampling(cell.key, prompt)
        try:
            question = self._questions.question(cell.cell_id, cell.key.suite, prompt, repeat, turn_index)
        except SuiteError as fault:
            seen = _failure("prompt", str(fault))
        else:
            if question is None:
                seen = _failure("earlier-turn-failed", _NO_ANSWER)
            else:
                asked, tokens = question.hash, None if question.ids is None else len(question.ids)
                seen = await self._ask(cell, question, sampling, seed)
        facts: dict[str, Any] = {
            "turn_index": turn_index,
            "repeat": repeat,
            "order": order,
            "seed": seed,
            "prompt_hash": asked,
            "asked_tokens": tokens,
        }
        if sampling != cell.key.sampling:
            facts["sampling"] = sampling
        if due is not None:
            facts |= {"scheduled_s": due.at_s, "held_s": due.held_s}
        return _record(cell, prompt, seen, self._facts | facts)

    async def warm_up(self, cell: CellRecord, prompt: Prompt, repeat: int) -> TurnRecord:
        """Put one warm-up turn to one arm and return its record; it counts for nothing. `repeat` is the launch's."""
        seed = turn_seed(cell.key.sampling.seed, "warm-up", prompt.question_id, 0, 0)
        question = self._questions.opening(prompt)
        facts = {"phase": "warmup", "repeat": repeat, "seed": seed, "prompt_hash": question.hash}
        return _record(cell, prompt, await self._ask(cell, question, cell.key.sampling, seed), self._facts | facts)

    async def _ask(self, cell: CellRecord, question: Question, sampling: Sampling, seed: int) -> Observation:
        request = TurnRequest(
            question.ids,
            sampling,
            seed,
            at_once=cell.key.load.at_once,
            messages=question.messages,
            tools=question.tools,
            response_format=question.response_format,
            template_options=question.template_options or {},
        )
        sent_s = self._clock()
        try:
            seen = await self._backend.generate(cell.key.arm, request)
            return _shifted(self._questions.told_apart(seen, question), self._zero_s)
        except EngineLost:
            raise
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
    return Observation(status="failed", failure=TurnFailure(kind=kind, message=redacted(message) or "no message"))


def unstorable(turn: TurnRecord, why: str) -> TurnRecord:
    """Return a turn as failed because its record cannot be stored; the engine's own details are what is in doubt."""
    failure = TurnFailure(kind="protocol", message=f"what the engine told of this turn cannot be stored: {why}")
    return turn.model_copy(update={"status": "failed", "failure": failure, "details": {}, "output_text": None})


def _record(cell: CellRecord, prompt: Prompt, seen: Observation, facts: dict[str, Any]) -> TurnRecord:
    question = {"question_id": prompt.question_id, "category": prompt.category, "sub_category": prompt.sub_category}
    return TurnRecord.model_validate({**dict(seen), **facts, **question, "cell_id": cell.cell_id})
