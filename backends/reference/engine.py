"""One turn: read the prompt, then step after step draft, verify, accept and roll back until the answer ends.

Everything is written for one sequence (batch 1). The names follow the metric contract: step i has d drafted tokens, of
which the target accepts a; a + 1 tokens follow the context, of which e are delivered (fewer in a cut last step).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from draftmark.backends.base import TurnFailed
from draftmark.backends.reference.choosing import chooser
from draftmark.backends.reference.stopping import StopRules
from draftmark.results.records import Observation, StepColumns

if TYPE_CHECKING:
    from draftmark.backends.base import TurnRequest
    from draftmark.backends.reference.choosing import Chooser
    from draftmark.backends.reference.clock import Clock
    from draftmark.backends.reference.drafters import Drafter
    from draftmark.backends.reference.model import Reader


@dataclass(frozen=True, slots=True)
class Step:
    """What one step did: the a + 1 tokens that follow the context, d, a, and the time of its two parts."""

    tokens: list[int]
    drafted: int
    accepted: int
    draft_s: float
    verify_s: float


@dataclass(slots=True)
class StepLog:
    """Grows by one entry per step."""

    steps: list[Step] = field(default_factory=list)
    delivered: list[int] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)

    def columns(self) -> StepColumns:
        """Return the record of all steps."""
        return StepColumns(
            drafted=[step.drafted for step in self.steps],
            accepted=[step.accepted for step in self.steps],
            delivered=self.delivered,
            draft_s=[step.draft_s for step in self.steps],
            verify_s=[step.verify_s for step in self.steps],
            step_s=self.step_s,
        )


class Engine:
    """Answers turns with one target; the drafter comes with each turn."""

    def __init__(self, target: Reader, clock: Clock) -> None:
        self._target = target
        self._clock = clock
        self._device = target.model.device

    def answer(self, request: TurnRequest, drafter: Drafter, draft_length: int) -> Observation:
        """Answer one turn.

        `prefill_s` is reading the prompt and choosing the first token, `draft_prefill_s` the drafter's reading of the
        prompt right after; the first token is delivered after both, as engines do. From then on `step_s` is the time
        from one delivery to the next, so that the steps sum to last - first token.

        Raises:
            TurnFailed: the prompt is empty, holds ids the model does not know, or leaves no room for an answer.
        """
        try:
            with torch.inference_mode():
                return self._answer(request, drafter, draft_length)
        finally:
            drafter.end()

    def _answer(self, request: TurnRequest, drafter: Drafter, draft_length: int) -> Observation:
        clock, target, limit = self._clock, self._target, self._target.model.context_limit
        prompt = list(request.ids)
        self._check(prompt)
        rules = self._rules(request, len(prompt))
        choose = chooser(request.sampling, request.seed, self._device)

        sent = clock.now()
        target.restart(min(limit, len(prompt) + request.sampling.max_tokens + draft_length))
        begun = clock.mark()
        first, _ = choose.pick(target.extend(torch.tensor(prompt, device=self._device), keep=1))
        read = clock.mark()
        drafter.begin(prompt)
        ready = clock.mark()
        answer = [int(first)]
        _, finish = rules.cut([], answer)
        chunk_s, log = [clock.now()], StepLog()

        context = prompt + answer
        while finish is None:
            room = min(draft_length, limit - len(context) - 1)
            step = self._step(context, room, drafter, choose)
            delivered, finish = rules.cut(answer, step.tokens)
            answer += step.tokens[:delivered]
            context += step.tokens[:delivered]
            chunk_s.append(clock.now())
            log.steps.append(step)
            log.delivered.append(delivered)
            log.step_s.append(chunk_s[-1] - chunk_s[-2])

        text = target.model.decode(answer)
        return Observation(
            finish_reason=finish,
            prompt_tokens=len(prompt),
            output_tokens=len(answer),
            output_ids=answer,
            output_text=text,
            token_source="ids",  # noqa: S106  a count's source, no secret
            sent_s=sent,
            first_token_s=chunk_s[0],
            last_token_s=chunk_s[-1],
            done_s=clock.now(),
            chunk_s=chunk_s,
            chunk_tokens=[1, *log.delivered],
            prefill_s=clock.between(begun, read),
            draft_prefill_s=clock.between(read, ready) if draft_length else None,
            steps=log.columns(),
        )

    def _step(self, context: list[int], room: int, drafter: Drafter, choose: Chooser) -> Step:
        """Draft up to `room` tokens, verify them with one forward pass, accept, and roll the caches back.

        The target holds all of the context but its last token, which heads the block.
        """
        clock = self._clock
        last = torch.tensor(context[-1:], device=self._device)  # before drafting: a copy to a GPU waits for its queue
        start = clock.mark()
        draft = drafter.propose(context, room, choose)
        proposed = clock.mark()
        count = draft.tokens.shape[0]
        logits = self._target.extend(torch.cat((last, draft.tokens)), keep=count + 1)
        verdict = choose.verify(logits, draft)
        verified = clock.mark()
        tokens, accepted = verdict.read()
        self._target.rollback(len(context) + accepted)
        drafter.rollback(len(context) + accepted)
        return Step(tokens, count, accepted, clock.between(start, proposed), clock.between(proposed, verified))

    def _rules(self, request: TurnRequest, prompt_tokens: int) -> StopRules:
        sampling, model = request.sampling, self._target.model
        return StopRules(
            eos=frozenset() if sampling.ignore_eos else model.eos_ids,
            stop=sampling.stop,
            max_tokens=sampling.max_tokens,
            context_room=model.context_limit - prompt_tokens,
            decode=model.decode,
        )

    def _check(self, prompt: list[int]) -> None:
        model = self._target.model
        if not prompt:
            raise TurnFailed("the prompt holds no token; give at least one", kind="bad-prompt")
        foreign = next((token for token in prompt if not 0 <= token < model.vocabulary), None)
        if foreign is not None:
            raise TurnFailed(
                f"the prompt holds token id {foreign}, but the target's ids end at {model.vocabulary - 1}; "
                "render it with the target's own tokenizer",
                kind="bad-prompt",
            )
        if len(prompt) >= model.context_limit:
            raise TurnFailed(
                f"the prompt's {len(prompt)} tokens leave no room for an answer: the target's context limit is "
                f"{model.context_limit} tokens; shorten the prompt",
                kind="context-limit",
            )
